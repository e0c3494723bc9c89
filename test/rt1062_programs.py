# SPDX-License-Identifier: Apache-2.0
"""Every program of firmware/ports/rt1062 in every variant on the virtual board: it comes to its
end, finds nothing wrong and touches no register that the model lacks."""
import json
import re
import tempfile

from e2e import SOURCE, millrace
from elf32 import Elf32

FOLDER = SOURCE / "build/arm/firmware/ports/rt1062"
VARIANTS = ("flash", "itcm", "mixed")


def run(name, *options, expect=0):
    image = FOLDER / name
    assert image.is_file(), f"no {image} (run: make firmware)"
    with tempfile.TemporaryDirectory() as folder:
        outcome = millrace("board", "run", image, "--json", f"{folder}/run.json", *options,
                           expect=expect)
        with open(f"{folder}/run.json", encoding="utf-8") as file:
            unknown = json.load(file)["board"]["unknown_registers"]
    assert unknown == [], f"{name}: registers not modelled: {unknown}"
    return outcome


def run_to_end(name):
    outcome = run(name, "--until", "done\n")
    assert "FAIL" not in outcome.out and "fault:" not in outcome.out, f"{name}:\n{outcome}"
    return outcome


def rows(text):
    """Name and figures of the table rows: two spaces or more, then numbers or "-"."""
    found = re.findall(r"^(\S.*?)  +((?:(?:[\d.]+|-) *)+)$", text, re.MULTILINE)
    return {name: [None if word == "-" else float(word) for word in figures.split()]
            for name, figures in found}


def check_hello(variant):
    # The banner, then ten milliseconds, one after the other; the HEX file is the same program.
    outcome = run_to_end(f"hello_{variant}.elf").says("Millrace on i.MX RT1062")
    ticks = [int(tick) for tick in re.findall(r"tick (\d+)", outcome.out)]
    assert ticks == list(range(ticks[0], ticks[0] + 10)), f"hello_{variant}: {ticks}"
    assert run_to_end(f"hello_{variant}.hex").out == outcome.out, f"hello_{variant}.hex differs"


def check_totals(program, variant, at_least):
    text = run_to_end(f"{program}_{variant}.elf").out
    totals = re.search(rf"{program}: (\d+) passed, 0 failed", text)
    assert totals and int(totals.group(1)) >= at_least, f"{program}_{variant}:\n{text}"


def check_memory(variant):
    """Relations that hold on any Cortex-M7 with these memories; no figure of the model's own."""
    table = rows(run_to_end(f"latency_memory_{variant}.elf").out)
    chase = {name: table[name][0] for name in ("ITCM", "DTCM", "OCRAM", "flash")}
    assert max(chase.values()) < 1.1 * min(chase.values()), f"a cache hit is no TCM access: {chase}"
    assert chase["DTCM"] < table["OCRAM"][1] < table["flash"][1], f"64K: {table}"
    assert chase["DTCM"] < table["OCRAM, D off"][0] < table["flash, D off"][0], f"D off: {table}"
    # Read in order, a line of 8 words is fetched once; chased, once for each word.
    assert table["flash"][3] * 4 < table["flash"][1], f"sequential: {table['flash']}"
    ppb, ipg = table["PPB DWT_CYCCNT"][0], table["IPG PIT_LDVAL0"][0]
    # The IPG bus has a quarter of the core's clock: four cycles at the very least.
    assert ppb < 4 <= ipg, f"registers: {ppb}, {ipg}"
    cold, warm, off = table["code in flash"]
    assert cold > 5 * warm and off > 5 * warm, f"code in flash: {cold} {warm} {off}"
    # 2048 additions, each needing the one before: a cycle each, from a memory that keeps up.
    assert all(0.95 < figure < 1.2 for figure in [warm, *table["code in ITCM"]]), f"{table}"


def check_interrupts(variant):
    table = rows(run_to_end(f"latency_interrupt_{variant}.elf").out)
    assert len(table) == 10, f"{table}"
    for name, (least, mean, most) in table.items():
        # M7 Technical Reference Manual: exception entry takes 12 cycles.
        assert 12 <= least <= mean <= most < 3000, f"latency_interrupt_{variant}: {name}: {table}"
    if variant == "flash":
        assert table["SysTick cold"][0] > 5 * table["SysTick warm"][0], f"{table}"
    else:
        assert table["SysTick cold"][2] < 2 * table["SysTick warm"][0], f"{table}"


def check_fault(variant):
    elf = Elf32((FOLDER / f"fault_{variant}.elf").read_bytes())
    outcome = run(f"fault_{variant}.elf", "--seconds", "0.1", expect=1)
    outcome.says("fault: MemManage 4", "halted")
    # The program's own words, not those of the board on stderr.
    printed = dict(re.findall(r"^(\w+) +([0-9a-f]{8})\r?$", outcome.out, re.M))
    # v7-M B3.2.15: DACCVIOL and MMARVALID, the address in MMFAR; the stacked pc is the store's.
    expected = {"r0": 0x11111111, "r1": 0x22222222, "r2": 0x33333333, "r3": 8, "r12": 0x55555555,
                "pc": elf.symbols["fault_provoked"] & ~1, "cfsr": 0x82, "mmfar": 8}
    assert {name: int(printed[name], 16) for name in expected} == expected, outcome
    run(f"stack_overflow_{variant}.elf", "--seconds", "0.1", expect=1).says(
        "recursing", "stack overflow: no frame", "halted")


def check_usb(variant):
    # Nothing is plugged in: the device comes up, and waits.
    outcome = run(f"usb_stream_{variant}.elf", "--seconds", "0.1")
    outcome.says("Millrace USB stream on i.MX RT1062")
    assert "usb:" not in outcome.out and "fault:" not in outcome.out, f"{outcome}"
    for path in sorted(FOLDER.glob(f"usb_echo_*_{variant}.elf")):
        outcome = run(path.name, "--seconds", "0.1")
        outcome.says("Millrace UDP echo on i.MX RT1062")
        assert "link up" not in outcome.out and "fault:" not in outcome.out, f"{outcome}"


for variant in VARIANTS:
    check_hello(variant)
    check_totals("selftest", variant, 59)
    check_totals("kernels", variant, 16)
    check_totals("data_waits", variant, 3)
    check_memory(variant)
    check_interrupts(variant)
    check_fault(variant)
    check_usb(variant)
