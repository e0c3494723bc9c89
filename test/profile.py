# SPDX-License-Identifier: Apache-2.0
"""`profile` and `memory` on a program that is built here: figures, viewers' files, bad input."""
import gzip
import json
import pathlib
import struct
import subprocess

import e2e

SOURCE = """
volatile int sink;
static inline int twice(int x) { return sink + x; }
__attribute__((noinline)) int hot(int x) { return twice(x) * 3; }
__attribute__((noinline)) int cold(int x) { sink = x; return hot(x) + sink; }
__attribute__((noinline)) void nap(void) { __asm volatile("dsb\\n wfi"); }
int unused(int x) { return x * 77; }
int main(void) { nap(); return cold(1); }
"""
SCRIPT = """
MEMORY { ITCM : ORIGIN = 0, LENGTH = 128K  DTCM : ORIGIN = 0x20000000, LENGTH = 128K
 FLASH : ORIGIN = 0x60000000, LENGTH = 1M }
ENTRY(main)
SECTIONS { .itcm : { *(.text.hot) } > ITCM AT > FLASH  .text : { *(.text .text.*) } > FLASH
 .bss (NOLOAD) : { *(.bss*) } > DTCM  /DISCARD/ : { *(.ARM.exidx*) } }
"""


def fields(data):
    """(number, value) of a protobuf message: integers, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, key
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
    assert at == len(data)


def pprof_weights(data):
    """Innermost function name -> weight, through samples, locations, lines and functions."""
    top = list(fields(data))
    texts = [value.decode() for number, value in top if number == 6]
    assert texts[0] == ""
    names = {f[1]: texts[f[2]] for f in (dict(fields(v)) for number, v in top if number == 5)}
    places = {}
    for number, value in top:
        if number == 4:
            parts = list(fields(value))
            lines = [dict(fields(v)) for n, v in parts if n == 4]
            places[dict(parts)[1]] = names[lines[0][1]]
    out = {}
    for number, value in top:
        if number == 2:
            sample = dict(fields(value))
            first, weight = sample[1][0], sample[2][0]  # one byte each, below 128
            out[places[first]] = out.get(places[first], 0) + weight
    return out


def build(folder):
    (folder / "main.c").write_text(SOURCE)
    (folder / "link.ld").write_text(SCRIPT)
    subprocess.run("arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -O2 -g -ffunction-sections "
                   "-nostdlib -Wl,--gc-sections,-Map=map,--no-warn-rwx-segments -T link.ld main.c "
                   "-o fw.elf", shell=True, check=True, cwd=folder)
    listing = subprocess.run(["arm-none-eabi-nm", "fw.elf"], check=True, capture_output=True,
                             text=True, cwd=folder).stdout
    return {line.split()[2]: int(line.split()[0], 16) for line in listing.splitlines()}


with e2e.temporary_folder() as name:
    folder = pathlib.Path(name)
    symbols = build(folder)
    elf, raw, saved = folder / "fw.elf", folder / "pcs.bin", folder / "run.samples"
    pcs = [symbols["hot"]] * 57 + [symbols["cold"]] * 19 + [symbols["nap"] + 6] * 24
    raw.write_bytes(b"".join(struct.pack("<I", pc) for pc in pcs))
    teensy = ("--target", "teensy41")

    # 76 of 100 busy at 600 MHz and 1,500 events/s: 304,000 cycles; hot has 57/76 = 75 %.
    outcome, result = e2e.measure("profile", elf, raw, *teensy, "--clock", 600, "--rate", 1500,
                                  "--map", folder / "map", "--save", saved)
    profile = result["profile"]
    assert round(profile["cycles_per_event"]) == 304000, profile["cycles_per_event"]
    first = profile["functions"][0]
    assert (first["name"], first["memory"], first["weight"]) == ("hot", "ITCM", 57), first
    assert first["file"].endswith("main.c") and first["line"] == 4, first
    assert round(first["cycles_per_event"]) == 228000, first
    assert profile["idle"] == 24
    outcome.says("304,000 cycles per event", "75.0")
    assert max(map(len, outcome.out.splitlines())) <= 100, outcome

    # The saved file names its program: another build of the same source is refused.
    assert e2e.measure("profile", elf, saved, *teensy)[1]["profile"]["total"] == 100
    other = folder / "other.elf"
    data = bytearray(elf.read_bytes())
    at = data.index(struct.pack("<H", 0xBF30))  # wfi becomes a nop
    data[at:at + 2] = struct.pack("<H", 0xBF00)
    other.write_bytes(data)
    e2e.fails("profile", other, saved, *teensy, expect=1, says="sampled from another program")
    e2e.millrace("profile", other, saved, *teensy, "--force")

    # A comparison: hot moved to 30 of 80.
    new = folder / "new.hex"
    new.write_text(f"{symbols['hot']:x}\n" * 30 + f"{symbols['cold']:x}\n" * 50)
    _, result = e2e.measure("profile", elf, new, *teensy, "--diff", raw)
    rows = {row["name"]: row for row in result["diff"]["functions"]}
    assert rows["hot"]["is_significant"] and rows["hot"]["share_after"] == 0.375, rows

    # Every viewer's file.
    paths = {kind: folder / kind for kind in
             ("folded", "speedscope", "pprof", "callgrind", "perf-script")}
    e2e.millrace("profile", elf, raw, *teensy, *[word for kind, path in paths.items()
                                                 for word in (f"--{kind}", path)])
    folded = paths["folded"].read_text().splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == 76, folded
    scope = json.loads(paths["speedscope"].read_text())
    assert sum(scope["profiles"][0]["weights"]) == scope["profiles"][0]["endValue"] == 76
    frames = len(scope["shared"]["frames"])
    assert all(0 <= i < frames for stack in scope["profiles"][0]["samples"] for i in stack)
    weights = pprof_weights(gzip.decompress(paths["pprof"].read_bytes()))
    assert sum(weights.values()) == 76 and weights["cold"] == 19, weights
    assert "totals: 76\n" in paths["callgrind"].read_text()
    assert "57 samples:" in paths["perf-script"].read_text()

    # Memory: nothing overlaps, and the treemap adds up.
    outcome, result = e2e.measure("memory", elf, *teensy)
    assert result["memory"]["overlaps"] == []
    tree = json.loads(e2e.millrace("memory", elf, *teensy, "--treemap", "-").out)
    assert tree["bytes"] == sum(child["bytes"] for child in tree["children"]) > 0

    # Bad input.
    e2e.fails("profile", folder / "none.elf", raw, expect=2, says="No such file")
    e2e.fails("profile", folder, raw, expect=2, says="not a regular file")
    e2e.fails("profile", elf, folder / "none", expect=2, says="No such file")
    e2e.fails("profile", raw, raw, expect=1, says="no ELF file")
    e2e.fails("profile", "/bin/true", raw, expect=1, says="64-bit ELF file for x86-64")
    e2e.fails("memory", elf, "--target", "teensy99", expect=2, says="no target teensy99")
    e2e.fails("profile", elf, raw, "--map", folder / "main.c", expect=1, says="no map file")
    e2e.fails("profile", elf, raw, "--events", 1, "--rate", 2, expect=2, says="give one")
    e2e.fails("profile", elf, raw, "--rate", "-3", expect=2, says="must be a rate")
    e2e.fails("profile", elf, raw, "--folded", "-", "--pprof", "-", expect=2, says="only one")
    e2e.fails("profile", elf, raw, "--folded", folder / "x", "--json", folder / "x", expect=2,
              says="a file each")
    big = bytearray(elf.read_bytes())
    big[5] = 2
    (folder / "big.elf").write_bytes(big)
    e2e.fails("memory", folder / "big.elf", expect=1, says="big-endian")
    (folder / "cut.elf").write_bytes(elf.read_bytes()[:3000])
    e2e.fails("memory", folder / "cut.elf", expect=1, says="cut off")
    (folder / "cut.bin").write_bytes(raw.read_bytes()[:-1])
    e2e.fails("profile", elf, folder / "cut.bin", expect=1, says="--partial")
    e2e.millrace("profile", elf, folder / "cut.bin", "--partial")
    outside = folder / "outside"
    outside.write_bytes(struct.pack("<I", 0x08001234) * 10)
    e2e.fails("profile", elf, outside, expect=1, says="100 % of the samples")
    subprocess.run(["arm-none-eabi-strip", "fw.elf", "-o", "stripped.elf"], check=True, cwd=folder)
    e2e.millrace("profile", folder / "stripped.elf", raw, *teensy).says("stripped")
    subprocess.run(["arm-none-eabi-strip", "-g", "fw.elf", "-o", "nodebug.elf"], check=True,
                   cwd=folder)
    e2e.millrace("profile", folder / "nodebug.elf", raw, *teensy).says("no debug information", "hot")
