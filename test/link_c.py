# SPDX-License-Identifier: Apache-2.0
"""The C interface: the examples of docs/, in C99 and in Python, over a damaged link; what fails."""
import subprocess
import sys

import e2e

BUILD = e2e.pathlib.Path(e2e.MILLRACE).parent
LIBRARY = BUILD / "host" / "libmillrace.so"
SIZE = 2_000_000
EXAMPLES = ([BUILD / "test" / "link_receive"],
            [sys.executable, e2e.SOURCE / "docs/examples/link_receive.py",
             LIBRARY])
# A sanitizer wants to be there before Python.
SANITIZED = any(word in LIBRARY.read_bytes() for word in (b"__asan_init", b"__tsan_init"))

with e2e.temporary_folder() as name:
    folder = e2e.pathlib.Path(name)
    whole = folder / "whole"
    e2e.millrace("link", "receive", "pc:link", "-o", whole, "--command", f"source {SIZE}")
    original = whole.read_bytes()
    for words in EXAMPLES[:1] if SANITIZED else EXAMPLES:
        got = folder / "got"
        with e2e.PcDevice("--protocol", "link", "--faults", "drop=100@1000+50000") as device:
            done = subprocess.run([*words, device.path, got, f"source {SIZE}"], capture_output=True,
                                  text=True, timeout=e2e.DEADLINE_S)
            assert done.returncode == 0, done
            assert got.read_bytes() == original, words
        # Nobody knows such a port; and a device that speaks something else.
        done = subprocess.run([*words, "/dev/ttyNone", got], capture_output=True, text=True)
        assert done.returncode != 0 and "/dev/ttyNone: there is no such port" in done.stderr, done
        with e2e.PcDevice() as device:
            done = subprocess.run([*words, device.path, got], capture_output=True, text=True)
            assert done.returncode != 0 and "measuring" in done.stderr, done

    # What the library gives away: the interface and nothing else.
    names = subprocess.run(["nm", "-D", "--defined-only", "-C", LIBRARY],
                           capture_output=True, text=True, check=True).stdout.split("\n")
    ours = [line for line in names if "millrace" in line]
    assert len(ours) == 9 and all("millrace_link_" in line for line in ours), ours
