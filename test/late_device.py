# SPDX-License-Identifier: Apache-2.0
"""A device that was held up answers late: it is measured all the same, as what it is."""
import pathlib
import signal

import e2e

PROBE_AND_HANDSHAKE = 36 + 9


def bench(device, *words, until=None):
    """Starts a run on the stopped device; lets it go on once the program has written so much."""
    with e2e.temporary_folder() as folder:
        path = pathlib.Path(folder) / "run.json"
        device.process.send_signal(signal.SIGSTOP)
        run = e2e.start("serial", "bench", device.path, "--frames", 64, "--json", path, *words)
        try:
            e2e.wait_until_written(run, until)
        finally:
            device.process.send_signal(signal.SIGCONT)
        out, err = run.communicate(timeout=e2e.DEADLINE_S)
        assert run.returncode == 0 and err == "", (run.returncode, out, err)
        return e2e.validate(e2e.json.loads(path.read_text()))["runs"][0]


with e2e.PcDevice() as device:
    # The program has given HELLO up and asked in the classic way.
    for ack in ("none", "each"):
        run = bench(device, "--ack", ack, until=PROBE_AND_HANDSHAKE)
        assert run["device"]["protocol"] == "extended", run["device"]
        assert run["faults"] == [] and run["device"]["counters"]["foreign_bytes"] == 0, run
    # Nothing but waiting can be done: the wait is longer.
    run = bench(device, "--direction", "out", until=PROBE_AND_HANDSHAKE - 9)
    assert run["out_bytes"] == 64 * 2048, run

with e2e.PcDevice("--faults", "classic") as device:
    run = bench(device, until=PROBE_AND_HANDSHAKE)
    assert run["device"]["protocol"] == "classic" and run["in_bytes"] == 64 * 2048, run
