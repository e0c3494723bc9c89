#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How good is a list of `millrace place`, and does the board agree with the prediction?

placement_quality.py BUILD [--check] [--small] [--spread]   BUILD: build/release, with build/arm beside it

The heavy echo program on the virtual board (simulated, the same in every run): stock, then linked
again with lists for 8, 16 and 32 KB from an exact trace, from 16,384 samples and from 1,500, beside
the published method (densest samples first) and whole files, whole libraries, everything. Predicted
and measured cycles an echo. --small adds a list made from an -Os build and applied to the -O2 one.
--spread: instead, several sets of samples of five programs at three budgets: our list beside the
densest functions, both put through the trace by `millrace predict`, what `place` claimed, and
whether its interval held.
--check: the lists from a trace, and the spread from 16,384 samples. Exit 1 if a list from a trace is
worse than the densest functions of the same trace at any budget or predicted more than 10 % wrong,
if the one for 32 KB gains less than 90 % of everything, if lists from samples are not better than
the densest functions on average or one is more than 10 % worse, or if fewer than 90 % of the
intervals hold.
"""
import json
import pathlib
import random
import re
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "usb_echo_heavy_ecm"
# Name, program, and how make_load.py makes its load; without: as built. The model of `place` was made
# by looking at the first two only.
PROGRAMS = (
    ("ecm", PROGRAM, None),
    ("ncm", "usb_echo_heavy_ncm", None),
    ("other order", PROGRAM, {"--seed": 11}),
    ("fewer, larger", PROGRAM, {"--seed": 12, "--functions": 120}),
    ("1,300 lines", PROGRAM, {"--seed": 13, "--functions": 500, "--lines": 1300, "--cold": 250}),
)
MANY, FEW = 16384, 1500
EVENT = "millrace::firmware::EchoStack::echo"
SEEDS = 2
FOLDER = ROOT / "out" / "placement_quality"
TRACE, TRACE_DENSEST = "place, from a trace", "densest of the trace first"


class Build:
    """The objects of one cross build, linked with any list or load."""

    def __init__(self, folder, program=PROGRAM):
        self.folder, self.program = folder, program
        self.port = folder / "firmware/ports/rt1062"
        target = f"firmware/ports/rt1062/{program}_flash.elf"
        lines = subprocess.run(["ninja", "-C", folder, "-t", "commands", target], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        link = [line for line in lines if f"-o {target}" in line][-1]
        # Only the link itself, not what makes the HEX file behind it.
        self.link = re.sub(r"^:\s*&&\s*", "", link).split(" && ")[0]
        self.make_load = [line for line in lines if "make_load.py" in line][-1]
        self.compile_load = [line for line in lines if line.endswith("/echo_load.cc")][-1]
        self.target = target
        self.script = (self.port / "flash.ld").read_text()

    def stock(self):
        return self.port / f"{self.program}_flash.elf", self.port / f"{self.program}_flash.map"

    def run(self, command):
        subprocess.run(command, shell=True, check=True, cwd=self.folder)

    def with_load(self, name, changes):
        """(image, map) of the program with another synthetic load, all in flash."""
        source, made, elf = (FOLDER / f"{name}.{end}" for end in ("cc", "o", "elf"))
        command = re.sub(r"\S+/echo_load\.cc", str(source), self.make_load)
        for option, value in changes.items():
            command = re.sub(rf"{option} \S+", "", command) + f" {option} {value}"
        self.run(command)
        command = re.sub(r"\S+/echo_load\.cc$", str(source), self.compile_load)
        self.run(re.sub(r" -MD -MT \S+ -MF \S+ -o \S+", f" -o {made}", command))
        self.run(re.sub(r"\S+libmillrace_firmware_echo_load\.a", str(made), self.link)
                 .replace(f"-o {self.target}", f"-o {elf}")
                 .replace(f"-Map={self.port}/{self.program}_flash.map",
                          f"-Map={elf.with_suffix('.map')}"))
        return elf, elf.with_suffix(".map")

    def placed(self, name, fragment):
        """An image with these input sections in ITCM; all else as in the stock one."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        script, elf = FOLDER / f"{name}.ld", FOLDER / f"{name}.elf"
        head, line, tail = re.split(r"(^\s*\*\(\.itcm_code[^\n]*\n)", self.script, maxsplit=1,
                                    flags=re.M)
        script.write_text(head + line + fragment + tail)
        command = self.link.replace(f"-o {self.target}", f"-o {elf}")
        command = re.sub(r"-T\S*flash\.ld", f"-T{script}", command)
        command = re.sub(r"-Map=\S+", f"-Map={FOLDER / name}.map", command)
        self.run(command)
        return elf


def measure(build, elf, *options):
    """(cycles an echo, echoes a second, text) with 64 requests under way."""
    out = subprocess.run([build / "bench/echo_cycles", "--in-flight", "64", *options, elf],
                         check=True, capture_output=True, text=True).stdout
    row = out.splitlines()
    row = [line.split() for line in row if line.startswith(pathlib.Path(elf).stem)][-1]
    return float(row[3]), float(row[2]), out


def draw_samples(build, elf, trace, out, count, seed=1):
    """Program counters as an ideal sampler takes them: by chance, each address by its cycles."""
    saved = FOLDER / "weighted.samples"
    subprocess.run([build / "millrace", "profile", elf, trace, "--save", saved], check=True,
                   stdout=subprocess.DEVNULL)
    data = saved.read_bytes()
    start, mode = struct.unpack_from("<I", data, 8)[0], struct.unpack_from("<I", data, 16)[0]
    fields = ["pc"] + [name for bit, name in enumerate(("lr", "exception", "weight", "stall"))
                       if mode >> bit & 1]
    records = [dict(zip(fields, one))
               for one in struct.iter_unpack(f"<{len(fields)}I", data[start:])]
    drawn = random.Random(seed).choices([one["pc"] for one in records],
                                         [one["weight"] for one in records], k=count)
    out.write_bytes(struct.pack(f"<{count}I", *drawn))


def place(build, elf, samples, *options):
    """The result of `millrace place`, with its list as a fragment for ld."""
    fragment = FOLDER / "list.ld"
    out = subprocess.run([build / "millrace", "place", elf, samples, "--gnu-ld", fragment,
                          "--json", "-", *options], capture_output=True, text=True, check=False)
    if out.returncode != 0:
        raise SystemExit(out.stderr)
    return json.loads(out.stdout)["placement"], fragment.read_text()


def fragment_of(entries):
    lines = []
    for entry in entries:
        name, *words = entry.split()
        words = dict(word.split("=", 1) for word in words)
        if "section" in words:
            lines.append(f"*{words['file']}({words['section']})")
        else:
            stem = words["file"].rsplit(".", 1)[0] + ".*o*" if "file" in words else ""
            lines.append(f"*{stem}(.text.{name} .text.{name}.constprop.* .text.{name}.part.* "
                         f".text.{name}.isra.*)")
    return "\n".join(lines) + "\n"


def fast_bytes(elf):
    out = subprocess.run(["arm-none-eabi-size", "-A", elf], check=True, capture_output=True,
                         text=True).stdout
    return sum(int(line.split()[1]) for line in out.splitlines() if line.startswith(".fast"))


def through_trace(build, elf, trace, link_map, entries):
    """Cycles an echo with this list, by the trace."""
    path = FOLDER / "spread.list"
    path.write_text("\n".join(entries) + "\n")
    out = subprocess.run([build / "millrace", "predict", elf, trace, path, "--map", link_map,
                          "--event", EVENT], check=True, capture_output=True, text=True).stdout
    return float(re.search(r"with the list\s+([\d,]+)", out).group(1).replace(",", ""))


def spread(build, arm, counts=(MANY, FEW)):
    """For each count of samples: ratios of our cycles to the densest functions', how far what was
    claimed is off, and how many intervals held."""
    print(f"{'program':14} {'samples':>7} {'set':>3} {'budget':>6} {'ours':>8} {'densest':>8} "
          f"{'ratio':>6} {'claimed':>8} {'off %':>6}  {'interval':17}")
    figures = {count: ([], [], []) for count in counts}
    for name, program, load in PROGRAMS:
        one = Build(arm.folder, program)
        slug = re.sub(r"\W+", "_", name)
        elf, link_map = one.with_load(slug, load) if load else one.stock()
        trace, samples = FOLDER / "spread.trace", FOLDER / "spread.pcs"
        stock, _, _ = measure(build, elf, "--trace", trace)
        for count in counts:
            ratios, offs, held = figures[count]
            for seed in range(1, SEEDS + 1):
                draw_samples(build, elf, trace, samples, count, seed)
                for kilobytes in (8, 16, 24):
                    result, _ = place(build, elf, samples, "--budget", f"{kilobytes}K", "--map",
                                      link_map)
                    ours, densest = (through_trace(build, elf, trace, link_map, entries)
                                     for entries in (result["list"], result["density"]["list"]))
                    claimed, most, least = (stock * (1 - gain) for gain in (
                        result["chosen"]["gain"], result["gain_low"], result["gain_high"]))
                    ratios.append(ours / densest)
                    offs.append(100 * (claimed - ours) / ours)
                    held.append(least <= ours <= most)
                    print(f"{name:14} {count:>7} {seed:>3} {f'{kilobytes}K':>6} {ours:>8.0f} "
                          f"{densest:>8.0f} {ratios[-1]:>6.3f} {claimed:>8.0f} {offs[-1]:>+6.1f}  "
                          f"{least:.0f} to {most:.0f}{'' if held[-1] else ', missed'}", flush=True)
    for count, (ratios, offs, held) in figures.items():
        sizes = [abs(off) for off in offs]
        print(f"{count} samples, {len(ratios)} lists: {sum(ratios) / len(ratios):.3f} of the densest "
              f"functions' cycles, {min(ratios):.3f} to {max(ratios):.3f}; claims "
              f"{sum(sizes) / len(sizes):.0f} % off, {max(sizes):.0f} % at most; {sum(held)} "
              f"intervals held")
    return figures


def small_build():
    folder = FOLDER / "Os"
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/arm-none-eabi.cmake", "-DMILLRACE_TESTS=OFF",
                    "-DCMAKE_CXX_FLAGS_RELEASE=-Os", "-DMILLRACE_VARIANTS=flash"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "-j2", "--target", f"{PROGRAM}_flash"], check=True,
                   stdout=subprocess.DEVNULL)
    return Build(folder)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    is_check = "--check" in sys.argv
    build = pathlib.Path(arguments[0]).resolve()
    FOLDER.mkdir(parents=True, exist_ok=True)
    arm = Build(ROOT / "build/arm")
    if "--spread" in sys.argv:
        spread(build, arm)
        return 0
    elf, link_map = arm.stock()
    trace, samples = FOLDER / "stock.trace", FOLDER / "stock.pcs"
    stock, rate, text = measure(build, elf, "--trace", trace)
    draw_samples(build, elf, trace, samples, MANY)
    events = re.search(r"trace: (\d+) echoes", text).group(1)
    few = FOLDER / "few.pcs"
    few.write_bytes(samples.read_bytes()[:4 * FEW])

    print(f"placement_quality: {PROGRAM}, simulated, 64 requests of 32 B under way, data in OCRAM")
    print(f"{'list':34} {'asked':>6} {'ITCM':>6} {'predicted':>9} {'measured':>8} {'off %':>6} "
          f"{'echoes/s':>8} {'gain %':>6}")
    print(f"{'stock':34} {'-':>6} {fast_bytes(elf):>6} {'-':>9} {stock:>8.0f} {'-':>6} {rate:>8.0f} "
          f"{'0':>6}")
    rows = {}

    def row(name, budget, fragment, predicted=None):
        image = arm.placed(re.sub(r"\W+", "_", f"{name}_{budget}"), fragment)
        cycles, per_s, _ = measure(build, image)
        rows[name, budget] = (predicted, cycles)
        everything = rows.get(("everything", 0), (None, cycles))[1]
        gain = 100 * (stock - cycles) / (stock - everything) if stock > everything else 100
        off = f"{100 * (predicted - cycles) / cycles:+.1f}" if predicted else "-"
        print(f"{name:34} {f'{budget // 1024}K' if budget else '-':>6} {fast_bytes(image):>6} "
              f"{f'{predicted:.0f}' if predicted else '-':>9} {cycles:>8.0f} {off:>6} {per_s:>8.0f} "
              f"{gain:>6.1f}", flush=True)

    def predicted_of(result, which="chosen"):
        # Of the stock image's own cycles: the profile counts the same waiting.
        return stock * (1 - result[which]["gain"])

    budgets = [8, 16, 32]
    common = ["--map", link_map]
    result, _ = place(build, elf, trace, "--budget", "128K", "--events", events, *common)
    row("everything", 0, fragment_of(result["everything"]["list"]), predicted_of(result, "everything"))
    for kilobytes in budgets:
        size = ["--budget", f"{kilobytes}K"]
        result, fragment = place(build, elf, trace, *size, "--events", events, *common)
        row(TRACE, kilobytes * 1024, fragment, predicted_of(result))
        row(TRACE_DENSEST, kilobytes * 1024, fragment_of(result["density"]["list"]),
            predicted_of(result, "density"))
        if is_check:
            continue
        for text, path in (("16,384", samples), ("1,500", few)):
            result, fragment = place(build, elf, path, *size, *common)
            row(f"place, from {text} samples", kilobytes * 1024, fragment, predicted_of(result))
            row(f"densest of {text} samples first", kilobytes * 1024,
                fragment_of(result["density"]["list"]))
    if not is_check:
        for what in ("file", "library"):
            for kilobytes in (32, 64, 96):
                result, fragment = place(build, elf, trace, "--budget", f"{kilobytes}K",
                                         "--granularity", what, *common)
                row(f"whole {'files' if what == 'file' else 'libraries'}, from a trace",
                    kilobytes * 1024, fragment, predicted_of(result))
    if "--small" in sys.argv:
        small = small_build()
        small_elf, small_map = small.stock()
        small_trace = FOLDER / "small.trace"
        measure(build, small_elf, "--trace", small_trace)
        _, fragment = place(build, small_elf, small_trace, "--budget", "32K", "--map", small_map)
        row("list of the -Os build", 32 * 1024, fragment)
    if not is_check:
        return 0
    everything = rows["everything", 0][1]
    ratios, _, held = spread(build, arm, (MANY,))[MANY]
    by_trace = [(*rows[TRACE, k * 1024], rows[TRACE_DENSEST, k * 1024][1]) for k in budgets]
    checks = {
        "from a trace never worse than the densest functions":
            all(ours <= densest for _, ours, densest in by_trace),
        "from a trace predicted within 10 %":
            all(abs(predicted - ours) <= 0.1 * ours for predicted, ours, _ in by_trace),
        "32 KB bring at least 90 % of the gain of everything":
            stock - by_trace[-1][1] >= 0.9 * (stock - everything),
        "from samples better than the densest functions on average": sum(ratios) / len(ratios) < 1,
        "from samples never 10 % worse": max(ratios) <= 1.1,
        "90 % of the intervals hold": sum(held) >= 0.9 * len(held),
    }
    for what, good in checks.items():
        print(f"{'ok' if good else 'FAILED'}: {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
