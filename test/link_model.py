# SPDX-License-Identifier: Apache-2.0
"""spec/link_protocol.pml, exhaustively by spin: asserts, no deadlock; no cycle without progress."""
import re
import subprocess
import tempfile

import e2e

MODEL = e2e.SOURCE / "spec/link_protocol.pml"


def verify(folder, name, options, flags):
    program = f"{folder}/{name}"
    subprocess.run(["gcc", "-O2", "-DNOREDUCE", "-DMEMLIM=2000", "-DVECTORSZ=1024", *options, "-o",
                    program, "pan.c"], cwd=folder, check=True)
    out = subprocess.run([program, "-m200000", *flags], cwd=folder, check=True, text=True,
                         capture_output=True).stdout
    errors = re.search(r"errors: (\d+)", out)
    assert errors and errors.group(1) == "0" and "not completed" not in out, out
    print(name, re.search(r"(\d+) states, stored", out).group(1), "states")


with tempfile.TemporaryDirectory() as work:
    subprocess.run(["spin", "-a", MODEL], cwd=work, check=True, capture_output=True)
    verify(work, "safety", [], [])
    verify(work, "progress", ["-DNP"], ["-l"])
    # More restarts, fewer faults.
    subprocess.run(["spin", "-DFAULTS=1", "-DRESTARTS=2", "-DN=2", "-a", MODEL], cwd=work, check=True,
                   capture_output=True)
    verify(work, "restarts", [], [])
