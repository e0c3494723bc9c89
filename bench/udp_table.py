#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does the virtual board predict for the published table of UDP echo rates?

usage: udp_table.py MILLRACE [--quick | --as-published] [--size BYTES] [--rows WORD] [--check]
                    [--json FILE]

The ladder of `millrace udp bench board:` on the echo firmware and on the same behind a synthetic load
with the published image's footprint, over CDC-ECM and CDC-NCM, from flash and placed in ITCM, and
with a cache off; turnaround as published, the median of 300 requests, from the host's capture of
them. Beside a row stands the published one that it resembles, if there is one. Everything here is
simulated, so it is the same on every machine and one pass is enough.

The published ladder (--as-published: steps of 2 s, 500/s apart up to 30,000/s) takes an hour. Without
it a row's steps suit it: 1 s, 250/s apart up to 5,000/s for what is slow, 2,500/s apart up to 30,000/s
for the rest; --quick: 0.1 s, a fifth as many.
--check: exit 1 if the rows with a published figure are in another order than theirs, the ratio placed
to stock is not within 15 % of the published one, or a cache that is off makes anything faster."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import NamedTuple, Optional

SOURCE = pathlib.Path(__file__).resolve().parent.parent
IMAGES = SOURCE / "build/arm/firmware/ports/rt1062"
PINGS = 300
RATIO_TOLERANCE = 0.15
SAME = 0.05  # published figures that are no further apart are in no order
SLOW = 5000, 250  # top, width
FAST = 30000, 2500


class Row(NamedTuple):
    image: str
    query: str = ""
    published: str = ""
    peak: Optional[int] = None  # published, of 32 bytes
    turnaround_us: Optional[float] = None

    def name(self):
        return f"{self.image} {self.query}".strip()

    def ladder(self, options):
        """Top, width and length of its steps."""
        if options.as_published:
            return 30000, 500, 2000
        top, width = SLOW if self.query == "icache=off" or "heavy" in self.image and (
            "flash" in self.image) else FAST
        return (top, top // 4, 100) if options.quick else (top, width, 1000)


# docs/udp.md says which published image each resembles, and in what it does not.
ROWS = (
    Row("heavy_ecm_flash", "icache=off", "I-cache off", 273, 2945),
    Row("heavy_ecm_flash", "dcache=off", "D-cache off", 693, 816),
    Row("heavy_ecm_flash", "", "stock", 2257, 190),
    Row("heavy_ncm_flash", "", "minimal NCM sample, stock", 2238),
    Row("heavy_ecm_itcm", "", "64 KB of files in ITCM", 15919, 42),
    Row("heavy_ncm_itcm", "", "minimal NCM sample, 66 KB", 16943),
    Row("heavy_ncm_flash", "icache=off"),
    Row("heavy_ncm_flash", "dcache=off"),
    Row("ecm_flash"), Row("ecm_flash", "icache=off"), Row("ecm_flash", "dcache=off"),
    Row("ecm_itcm"),
    Row("ncm_flash"), Row("ncm_flash", "icache=off"), Row("ncm_flash", "dcache=off"),
    Row("ncm_itcm"),
)


def run(program, *words):
    """The result file of a command; what it measured may be a failure of the device."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        done = subprocess.run([program, *map(str, words), "--json", path], capture_output=True,
                              text=True)
        if done.returncode not in (0, 1) or not path.exists():
            sys.exit(f"udp_table: {done.stderr.strip()}")
        return json.loads(path.read_text())


def target_of(row, **keys):
    image = IMAGES / f"usb_echo_{row.image}.elf"
    if not image.exists():
        sys.exit(f"udp_table: {image} is not there (run: make firmware)")
    query = [row.query] * bool(row.query) + [f"{key}={value}" for key, value in keys.items()]
    return f"board:{image}" + ("?" + "&".join(query) if query else "")


def turnaround_us(program, row, size):
    """100 requests a second, so that each finds the device idle, as a ping does."""
    with tempfile.TemporaryDirectory() as folder:
        capture = pathlib.Path(folder) / "usb.pcapng"
        run(program, "udp", "bench", target_of(row, pcap=capture), "--first", 100, "--top", 100,
            "--step-ms", 10 * PINGS, "--size", size, "--no-aftermath")
        found = run(program, "turnaround", capture)["turnaround"]
        return found["median_ns"] / 1000 if found else None


def measure(options, row):
    top, width, step_ms = row.ladder(options)
    ladder = run(options.program, "udp", "bench", target_of(row), "--step-ms", step_ms,
                 "--first", width, "--width", width, "--top", top,
                 "--size", options.size, "--no-aftermath")["sizes"][0]
    counted = ladder["device"]
    if not counted:
        sys.exit(f"udp_table: {row.name()}: the device does not tell its counters")
    if counted["lost_inside"] or counted["lost_behind"]:
        sys.exit(f"udp_table: {row.name()} lost requests that it had received: {counted}")
    return {"row": row.name(), "first_per_s": width, "top_per_s": top, "published": row.published,
            "peak_per_s": ladder["peak_per_s"]["mean"],
            "lossless_per_s": ladder["lossless"]["rate_per_s"],
            "behaviours": [each["name"] for each in ladder["behaviours"]],
            "turnaround_us": turnaround_us(options.program, row, options.size),
            "published_peak_per_s": row.peak, "published_turnaround_us": row.turnaround_us}


def show(figure, form=",.0f"):
    return "-" if figure is None else format(figure, form)


def line(found):
    # Where even the last step was answered the ladder is too short to know the peak.
    peak = found["peak_per_s"]
    lossless = (show(found["lossless_per_s"]) if found["lossless_per_s"]
                else f"< {found['first_per_s']:,}")
    text = (">= " if found["lossless_per_s"] == found["top_per_s"] else "") + show(peak)
    return (f"{found['row']:28} {text:>10} {lossless:>9} "
            f"{show(found['turnaround_us'], ',.1f'):>9}   {show(found['published_peak_per_s']):>7} "
            f"{show(found['published_turnaround_us']):>7}  {found['published']}"
            f"{' '.join(found['behaviours'])}")


def judge(table):
    """Sentences on what does not come out."""
    peak = {each["row"]: each["peak_per_s"] for each in table}
    said = []
    theirs = sorted((e for e in table if e["published_peak_per_s"]),
                    key=lambda e: e["published_peak_per_s"])
    for number, low in enumerate(theirs):
        for high in theirs[number + 1:]:
            apart = high["published_peak_per_s"] / low["published_peak_per_s"] - 1
            if apart > SAME and low["peak_per_s"] >= high["peak_per_s"]:
                said.append(f"{high['row']} ({show(high['peak_per_s'])}/s) is not above {low['row']} "
                            f"({show(low['peak_per_s'])}/s); published {100 * apart:.0f} % above")
    stock, placed = peak.get("heavy_ecm_flash"), peak.get("heavy_ecm_itcm")
    if stock and placed:
        published = 15919 / 2257
        ratio = placed / stock
        print(f"placed : stock  {ratio:.1f}, published {published:.1f}")
        if abs(ratio / published - 1) > RATIO_TOLERANCE:
            said.append(f"placed : stock is {ratio:.1f}, published {published:.1f}")
    for name, each in peak.items():
        if name.endswith("=off") and each > peak.get(name.split()[0], each):
            said.append(f"{name} is above the same with the cache on")
    return said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true")
    length.add_argument("--as-published", action="store_true")
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--rows", help="only rows whose name begins so", default="")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rows = [row for row in ROWS if row.name().startswith(options.rows)]
    if not rows:
        parser.error(f"--rows {options.rows}: no row begins so")
    if options.size != 32:  # what is published of others echoes a part of them
        rows = [row._replace(published="", peak=None, turnaround_us=None) for row in rows]
    print(f"udp_table: predicted (virtual board, host xhci-desktop), {options.size} B; turnaround: "
          f"median of {PINGS}\n")
    print(f"{'usb_echo_ ...':28} {'peak/s':>10} {'lossless':>9} {'turn. us':>9}   published: "
          "peak/s, turn. us")
    table = []
    for row in rows:
        table.append(measure(options, row))
        print(line(table[-1]), flush=True)
    print()
    said = judge(table)
    for each in said:
        print(f"does not come out: {each}")
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n")
    if options.check and said:
        sys.exit(1)


if __name__ == "__main__":
    main()
