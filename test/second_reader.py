# SPDX-License-Identifier: Apache-2.0
"""A program that only reads the port takes bytes without a lock: it is named, before and after."""
import pathlib
import subprocess
import sys

import e2e

READER = ("import os, select, sys; fd = os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY);"
          "print('reads', flush=True);"
          "exec('while True: select.select([fd], [], []); os.read(fd, 65536)')"
          " if sys.argv[2] == 'reads' else sys.stdin.read()")


def reader(path, what):
    process = subprocess.Popen([sys.executable, "-c", READER, path, what], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    assert e2e.read_line(process.stdout) == "reads"
    return process


def end(process):
    process.kill()
    process.communicate(timeout=e2e.DEADLINE_S)


with e2e.PcDevice() as device:
    # Harmless so far: a warning, once, and the run passes.
    idle = reader(device.path, "waits")
    name = f"pid {idle.pid} (python3"
    outcome, document = e2e.measure("serial", "bench", device.path, "--frames", 64, "--repeat", 3)
    assert outcome.err.count("\n") == 1 and name in outcome.err, outcome
    assert outcome.err.startswith("millrace: warning: "), outcome
    assert name in document["runs"][2]["other_holders"][0], document["runs"][2]["other_holders"]
    assert name not in document["verdict"]["sentence"], document["verdict"]
    # doctor says the same of it.
    e2e.millrace("doctor", device.path, expect=1).says(name)
    end(idle)

    outcome, document = e2e.measure("serial", "bench", device.path, "--frames", 64)
    assert outcome.err == "" and document["runs"][0]["other_holders"] == [], outcome

    # It reads: whatever it takes of HELLO, STARTED, the stream and REPORT, it is named.
    thief = reader(device.path, "reads")
    outcome, document = e2e.measure("serial", "bench", device.path, "--timeout-ms", 1000, expect=1)
    assert f"pid {thief.pid} (" in document["verdict"]["sentence"], document["verdict"]
    assert f"had {device.path} open" in document["verdict"]["sentence"], document["verdict"]
    end(thief)

    # It comes during the run and has ended before the run does: named all the same.
    bench = e2e.start("serial", "bench", device.path, "--frames", "100k")
    e2e.wait_until_read(bench, 10_000_000)
    thief = reader(device.path, "reads")
    e2e.wait_until_read(thief, 2_000_000)
    before = pathlib.Path(f"/proc/{bench.pid}/io").read_text()
    e2e.wait_until_read(bench, int(before.split()[1]) + 20_000_000)
    end(thief)
    out, _ = bench.communicate(timeout=e2e.DEADLINE_S)
    assert bench.returncode == 1 and f"pid {thief.pid} (" in out.split("port  ")[0], out
