# SPDX-License-Identifier: Apache-2.0
"""A host that stalls while the device does not wait: the loss is the device's, and is said so."""
import json
import pathlib
import select
import signal
import subprocess

import e2e


def written_by(process):
    """Bytes that a process has handed to write() so far."""
    lines = pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines()
    return int(lines[1].split()[1])


with e2e.temporary_folder() as folder, e2e.PcDevice("--faults", "rate=20000000") as device:
    path = pathlib.Path(folder) / "run.json"
    host = subprocess.Popen(
        [e2e.MILLRACE, "serial", "bench", device.path, "--frames", "16Ki", "--discard-mode",
         "--discard-after-ms", "50", "--timeout-ms", "60000", "--json", str(path)],
        stdout=subprocess.PIPE, text=True)
    while written_by(device.process) < 1 << 20:
        select.select([], [], [], 0.01)
    host.send_signal(signal.SIGSTOP)
    before, still = -1, 0
    while still < 30:  # the terminal is full, and for longer than the device waits
        select.select([], [], [], 0.05)
        now = written_by(device.process)
        before, still = now, still + 1 if now == before else 0
    host.send_signal(signal.SIGCONT)
    out, _ = host.communicate(timeout=e2e.DEADLINE_S)
    assert host.returncode == 1, (host.returncode, out)
    document = e2e.validate(json.loads(path.read_text()))
    counters = document["runs"][0]["device"]["counters"]
    assert document["verdict"]["kind"] == "device_discarded", document["verdict"]
    assert counters["in_discarded_bytes"] > 0 and counters["short_writes"] > 0, counters
    lost = document["runs"][0]["totals"]["lost_bytes"]
    assert lost == counters["in_discarded_bytes"], (lost, counters)
    assert "discarded" in out, out
