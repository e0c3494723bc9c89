# SPDX-License-Identifier: Apache-2.0
"""The link protocol on the virtual board: cycles a byte, and the rate over USB with an ideal host."""
import re

import e2e

FOLDER = e2e.SOURCE / "build/arm/firmware/ports/rt1062"

for variant in ("itcm", "mixed", "flash"):
    outcome = e2e.millrace("board", "run", FOLDER / f"link_cycles_{variant}.elf", "--until", "done\n")
    outcome.says("link_cycles: 4 passed, 0 failed")
    cycles = {name: float(value) for value, name in
              re.findall(r"([\d.]+) cycles/B (\w+(?:, \w+)?)", outcome.out)}
    if variant == "itcm":  # the target, all in TCM
        assert cycles["sent, copied"] <= 2.5, cycles

# 8 MiB; the first millisecond, which connects, counts too.
outcome, document = e2e.measure("link", "bench", f"board:{FOLDER}/usb_link_itcm.elf?host=ideal",
                                "--bytes", "8M")
run = document["runs"][0]
assert run["wrong_bytes"] == 0 and run["bytes"] == 8 << 20, run
assert run["bytes_per_s"] >= 0.97 * 53.248e6, run
outcome.says("of 53.248 MB/s (", "predicted", "0 bytes wrong", "USB 480 Mbit/s")
assert run["is_predicted"] and run["ceiling_bytes_per_s"] == 53.248e6, run
assert run["wire_ratio"] <= 1.012 and run["ack_ratio"] < 0.01, run

outcome, document = e2e.measure("link", "bench", f"board:{FOLDER}/usb_link_mixed.elf?host=windows-serial",
                                "--bytes", "256K", "--direction", "out")
assert document["runs"][0]["wrong_bytes"] == 0, document["runs"][0]

# Out: more than the session's buffer of 1 MiB, and not one buffer per wait (10.5 MB/s).
outcome, document = e2e.measure("link", "bench", f"board:{FOLDER}/usb_link_itcm.elf?host=ideal",
                                "--bytes", "4M", "--direction", "out")
run = document["runs"][0]
assert run["wrong_bytes"] == 0 and run["bytes_per_s"] >= 45e6, run
assert run["ack_ratio"] < 0.01, run
