# SPDX-License-Identifier: Apache-2.0
"""`place --data-budget`, all the way: what is chosen from a trace, linked by the firmware's own build,
stands in DTCM, the program computes the same and is faster by what was promised, to a tenth, also
where objects that stay are relieved of those that went; and nothing that USB's DMA reaches is moved
unless it is named."""
import pathlib
import re
import subprocess

from e2e import SOURCE, fails, measure, millrace, temporary_folder
from elf32 import Elf32

IMAGES = SOURCE / "build/arm/firmware/ports/rt1062"
STOCK, HEAVY = IMAGES / "data_waits_flash.elf", IMAGES / "usb_echo_heavy_ecm_flash.elf"
TABLES = IMAGES / "link_cycles_flash.elf"
DTCM, DTCM_END = 0x20000000, 0x20080000
ROUNDS = 16  # of programs/data_waits.cc
OFF = 0.1  # of what was saved: how far a promise may be from it
# Of the USB driver: what the controller reads and writes by itself, and what only names it.
DMA_NAMES = re.compile(r"tx_buffers|rx_buffers|queue_heads|dqh|dtd|transfer_descriptors", re.I)


def cycles_of(image, *options):
    outcome = millrace("board", "run", image, "--until", "done", *options)
    outcome.says("data_waits: 3 passed, 0 failed")
    return int(re.search(r"(\d+) cycles a round", outcome.out).group(1))


def build_placed(folder, program, chosen):
    """The program linked with a list, by the firmware's own build."""
    subprocess.run(["cmake", "-G", "Ninja", "-S", SOURCE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
                    f"-DCMAKE_TOOLCHAIN_FILE={SOURCE}/cmake/arm-none-eabi.cmake",
                    "-DMILLRACE_TESTS=OFF", f"-DMILLRACE_FAST_LIST={chosen}",
                    "-DMILLRACE_VARIANTS=placed"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "-j2", "--target", f"{program}_placed"], check=True,
                   stdout=subprocess.DEVNULL)
    return folder / f"firmware/ports/rt1062/{program}_placed.elf"


def total_cycles(image, *options):
    outcome, document = measure("board", "run", image, "--until", "done", *options)
    outcome.says("4 passed, 0 failed")
    return document["board"]["cycles"]


def promised(placement):
    return placement["gain"] * placement["busy"]


def holds(promise, saved):
    assert abs(promise - saved) <= OFF * saved, f"promised {promise:.0f} cycles, saved {saved:.0f}"


def chosen_and_held(placement):
    by = {}
    for one in placement["candidates"]:
        by.setdefault(one["verdict"], []).append(one["name"])
    return by.get("chosen", []) + by.get("pinned", []), by.get("dma", []) + by.get("may_be_dma", [])


with temporary_folder() as scratch:
    folder = pathlib.Path(scratch)
    trace, chosen = folder / "stock.trace", folder / "data.txt"
    before = cycles_of(STOCK, "--trace", trace)
    outcome, document = measure("place", STOCK, trace, "--data-budget", "12K", "--map",
                                STOCK.with_suffix(".map"), "--list", chosen)
    assert all(len(line) <= 100 for line in outcome.out.splitlines()), outcome
    placement = document["data_placement"]
    names, _ = chosen_and_held(placement)
    assert {"coefficients", "history"} <= set(names) and "sample_block" not in names, outcome
    assert 8192 <= placement["bytes"] <= 12288, placement["bytes"]

    placed = build_placed(folder / "build", "data_waits", chosen)
    after = cycles_of(placed)
    symbols = Elf32(placed.read_bytes()).symbols
    for name in ("coefficients", "history"):
        assert DTCM <= symbols[name] < DTCM_END, (name, hex(symbols[name]))
    assert not DTCM <= symbols["sample_block"] < DTCM_END
    check = ("check", placed, "--map", placed.with_suffix(".map"), "--list", chosen)
    millrace(*check, "--before", STOCK)
    # Nearly all of it falls in the rounds.
    holds(promised(placement) / ROUNDS, before - after)

    # A list of the stock program's build that was not applied is not passed over.
    outcome = millrace("check", STOCK, "--list", chosen, expect=1)
    outcome.says("coefficients", "history")

    # Tables of 20 KB and a ring of 32 KB that throw each other out of a cache of 32 KB: with 8 KB gone
    # the rest of it is waited for little, and with all tables gone the ring is.
    trace = folder / "tables.trace"
    before = total_cycles(TABLES, "--trace", trace)
    for budget in ("8K", "24K"):
        _, document = measure("place", TABLES, trace, "--data-budget", budget, "--map",
                              TABLES.with_suffix(".map"), "--list", chosen)
        after = total_cycles(build_placed(folder / "build", "link_cycles", chosen))
        holds(promised(document["data_placement"]), before - after)

    # USB: room for all of it, and nothing that the controller reaches is taken.
    trace = folder / "usb.trace"
    millrace("udp", "bench", f"board:{HEAVY}?trace={trace}", "--in-flight", "64", "--step-ms", "20",
             "--no-aftermath")
    words = ("place", HEAVY, trace, "--data-budget", "400K", "--map", HEAVY.with_suffix(".map"))
    outcome, document = measure(*words)
    names, held = chosen_and_held(document["data_placement"])
    assert not any(DMA_NAMES.search(name) for name in names), names
    assert held and all(DMA_NAMES.search(name) for name in held), held
    outcome.says("not moved without being asked")
    # Hardly any of its waiting is for data that may move, and nothing else is claimed.
    assert document["data_placement"]["gain"] < 0.01, document["data_placement"]["gain"]
    fails(*words, "--pin", "@data no_such_buffer", expect=2, says="no_such_buffer")
