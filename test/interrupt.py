# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C prints and writes what was measured, exit 130; a killed device is reported as gone."""
import json
import os
import pathlib
import signal

import e2e

ENDLESS = ("--frame-size", 2048, "--frames", 4000000)


def start(port, path):
    """A long run that is under way: the device has sent and we have read."""
    process = e2e.start("serial", "bench", port, *ENDLESS, "--json", path)
    e2e.wait_until_read(process, 4 << 20)
    return process


with e2e.temporary_folder() as folder, e2e.PcDevice("--faults", "rate=20000000") as device:
    path = pathlib.Path(folder) / "run.json"
    run = start(device.path, path)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=e2e.DEADLINE_S)
    assert run.returncode == 130, (run.returncode, out, err)
    assert "MB/s" in out and "interrupted" in out and err == "", (out, err)
    document = e2e.validate(json.loads(path.read_text()))
    assert document["runs"][0]["end"] == "interrupted", document["runs"][0]["end"]
    assert document["runs"][0]["in_bytes"] > 0

    # A terminal that is closed and a request to terminate keep the result as Ctrl-C does.
    for number in (signal.SIGHUP, signal.SIGTERM):
        run = start(device.path, path)
        run.send_signal(number)
        out, err = run.communicate(timeout=e2e.DEADLINE_S)
        assert run.returncode == 130 and "interrupted" in out, (number, run.returncode, out, err)
        document = e2e.validate(json.loads(path.read_text()))
        assert document["runs"][0]["end"] == "interrupted", document["runs"][0]["end"]

    # A soak: the phase is interrupted, not failed.
    run = e2e.start("serial", "soak", device.path, "--json", path)
    e2e.wait_until_read(run, 4 << 20)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=e2e.DEADLINE_S)
    assert run.returncode == 130, (run.returncode, out, err)
    phase, = e2e.validate(json.loads(path.read_text()))["phases"]
    assert phase["status"] == "interrupted" and phase["failed"] == 0, phase
    assert out.endswith("\ninterrupted\n") and "FAILED" not in out, out

    # A sweep: the run that was ended is no sample, so it fails no cell.
    run = e2e.start("serial", "sweep", device.path, "--bytes", "1G", "--json", path)
    e2e.wait_until_read(run, 4 << 20)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=e2e.DEADLINE_S)
    assert run.returncode == 130, (run.returncode, out, err)
    cells = e2e.validate(json.loads(path.read_text()))["cells"]
    assert all(cell["failed"] == 0 and cell["runs"] == [] for cell in cells), cells
    assert "128 B, ack none: interrupted: " in out and "\nfailed\n" not in out, out

    # Repeats: neither passed nor failed.
    run = e2e.start("serial", "bench", device.path, *ENDLESS, "--repeat", 2)
    e2e.wait_until_read(run, 4 << 20)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=e2e.DEADLINE_S)
    assert run.returncode == 130 and "0 of 1 run failed, 1 interrupted" in out, (out, err)
    assert "FAILED" not in out, out

    # kill -9 of the program: the older result stays, the port is free again.
    before = path.read_text()
    run = start(device.path, path)
    run.kill()
    run.communicate(timeout=e2e.DEADLINE_S)
    assert path.read_text() == before and os.listdir(folder) == ["run.json"], os.listdir(folder)
    e2e.millrace("serial", "bench", device.path, "--frames", 16)

    # kill -9 of the device: what was verified until then, exit 3.
    run = start(device.path, path)
    device.process.kill()
    out, err = run.communicate(timeout=e2e.DEADLINE_S)
    assert run.returncode == 3, (run.returncode, out, err)
    document = e2e.validate(json.loads(path.read_text()))
    assert document["runs"][0]["end"] == "gone" and document["runs"][0]["in_bytes"] > 0

# `device pc` takes its link away, however it is asked to end.
with e2e.temporary_folder() as folder:
    link = pathlib.Path(folder) / "device"
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        with e2e.PcDevice("--link", str(link)) as device:
            assert link.is_symlink()
            device.process.send_signal(number)
            assert device.process.wait(e2e.DEADLINE_S) == 0, device.process.returncode
            assert not link.is_symlink(), number
