# SPDX-License-Identifier: Apache-2.0
"""Every program of firmware/ports/rt1062 in every variant on the virtual board: it comes to its
end, finds nothing wrong and touches no register that the model lacks."""
import json
import re
import sys
import tempfile

from e2e import SOURCE, millrace

FOLDER = SOURCE / "build/arm/firmware/ports/rt1062"
VARIANTS = ("flash", "itcm", "mixed")


def run(program, variant):
    image = FOLDER / f"{program}_{variant}.elf"
    assert image.is_file(), f"no {image} (run: make firmware)"
    with tempfile.TemporaryDirectory() as folder:
        outcome = millrace("board", "run", image, "--until", "done\n", "--json", f"{folder}/run.json")
        board = json.load(open(f"{folder}/run.json"))["board"]
    assert board["unknown"] == [], f"{image.name}: registers not modelled: {board['unknown']}"
    assert "FAIL" not in outcome.out and "fault" not in outcome.out, f"{image.name}:\n{outcome}"
    return outcome


for variant in VARIANTS:
    # The banner, then ten milliseconds, one after the other.
    ticks = re.findall(r"tick (\d+)", run("hello", variant).says("Millrace on i.MX RT1062").out)
    first = int(ticks[0])
    assert [int(t) for t in ticks] == list(range(first, first + 10)), f"hello_{variant}: {ticks}"

    for program in ("selftest", "kernels"):
        totals = re.search(rf"{program}: (\d+) passed, 0 failed", run(program, variant).out)
        assert totals and int(totals.group(1)) >= 16, f"{program}_{variant}: no totals"
