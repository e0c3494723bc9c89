#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two runs of one program on the virtual board side by side, from the JSON of `board run --stats`.
usage: demo_board.py NAME=FILE NAME=FILE"""
import json
import sys

CAUSES = {
    "icache_flash": "instructions from flash",
    "dcache_flash": "data from flash",
    "dcache_ocram": "data from OCRAM",
    "uncached": "accesses past the caches",
    "store_buffer": "store buffer",
    "branch": "branches mispredicted",
    "operand": "results not ready",
    "exception": "exception entry and return",
    "peripheral": "peripheral registers (waiting for the UART)",
}

names, boards = [], []
for argument in sys.argv[1:]:
    name, _, path = argument.partition("=")
    names.append(name)
    with open(path, encoding="utf-8") as file:
        boards.append(json.load(file)["board"])


def row(text, values):
    print(f"{text:46}" + "".join(f"{value:>16}" for value in values))


row("predicted, core cycles", names)
print("-" * (46 + 16 * len(names)))
row("all", [f"{board['cycles']:,}" for board in boards])
for key, text in CAUSES.items():
    values = [board["stall_cycles"][key] for board in boards]
    if any(values):
        row("  " + text, [f"{value:,}" for value in values])
row("instructions", [f"{board['instructions']:,}" for board in boards])
row("without waiting for the UART", [
    f"{board['cycles'] - board['stall_cycles']['peripheral']:,}" for board in boards])
