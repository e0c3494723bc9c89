# SPDX-License-Identifier: Apache-2.0
"""The synthetic load of usb_echo_heavy_*: as many functions and lines of code as it promises, cold
code between them, and what it computes does not depend on the compiler's order of things."""
import pathlib
import re
import subprocess
import sys

from e2e import SOURCE, temporary_folder
from elf32 import Elf32

FOLDER = SOURCE / "build/arm/firmware/ports/rt1062"
LOAD = SOURCE / "firmware/app/echo_heavy"
LINE = 32


def promised(name):
    text = (LOAD / "CMakeLists.txt").read_text()
    return int(re.search(rf"set\(MILLRACE_HEAVY_{name} (\d+)", text)[1])


def footprint(elf):
    """Of the hot code: functions, distinct lines, and how many sets of the cache hold more lines
    than it has ways (32 KB, two ways: 512 sets; Cortex-M7 manual, "L1 caches")."""
    lines, count = set(), 0
    for name, start in elf.functions.items():
        if "load_hot_" not in name and not name.startswith("_ZN8millrace8firmware9echo_loadE"):
            continue
        count += "load_hot_" in name
        lines.update(range(start // LINE, (start + elf.sizes[name] - 1) // LINE + 1))
    sets = [0] * 512
    for line in lines:
        sets[line % 512] += 1
    return count, len(lines), sum(held > 2 for held in sets)


def generated(folder, *options):
    out = pathlib.Path(folder) / "load.cc"
    subprocess.run([sys.executable, LOAD / "make_load.py", out, *options], check=True)
    return out.read_text()


for program in ("usb_echo_heavy_ncm", "usb_echo_heavy_ecm"):
    elf = Elf32((FOLDER / f"{program}_flash.elf").read_bytes())
    functions, lines, crowded = footprint(elf)
    assert functions == promised("FUNCTIONS"), functions
    assert abs(lines - promised("LINES")) <= 0.03 * promised("LINES"), lines
    # What thrashes: lines that lie at random crowd a good part of the sets.
    assert crowded > 512 // 8, f"{crowded} sets are crowded"

with temporary_folder() as scratch:
    assert generated(scratch, "--seed", "5") == generated(scratch, "--seed", "5")
    assert generated(scratch, "--seed", "5") != generated(scratch, "--seed", "6")
    refused = subprocess.run([sys.executable, LOAD / "make_load.py", pathlib.Path(scratch) / "x",
                              "--lines", "100"], capture_output=True, text=True)
    assert refused.returncode != 0 and "too few for 300 functions" in refused.stderr, refused
