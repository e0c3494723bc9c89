# SPDX-License-Identifier: Apache-2.0
"""A modem probe during a run fails it and is quoted; one before the run harms nobody."""
import os
import tty

import e2e


def probe(path):
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(fd)  # VMIN 1, as most programs have it: our reads must still end
    os.write(fd, b"AT\r\n")
    os.close(fd)


with e2e.PcDevice("--faults", "rate=4000000") as device, e2e.temporary_folder() as folder:
    probe(device.path)
    _, document = e2e.measure("serial", "bench", device.path, "--frames", 16)
    assert document["runs"][0]["device"]["counters"]["foreign_bytes"] == 0, document

    # 2 s at 4 MB/s; the probe goes in once the first 64 KB were read.
    run = e2e.start("serial", "bench", device.path, "--frames", 4096)
    e2e.wait_until_read(run, 64 << 10)
    probe(device.path)
    out, err = run.communicate(timeout=e2e.DEADLINE_S)
    assert run.returncode == 1, (run.returncode, out, err)
    e2e.Outcome(["bench"], run.returncode, out, err).says(
        "foreign writer: the device received 4 bytes", '"AT', "ModemManager")
