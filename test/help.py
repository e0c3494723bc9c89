# SPDX-License-Identifier: Apache-2.0
"""Every command has help with examples that fits 100 columns, and the program has a version."""
import re

import e2e

COMMANDS = ((), ("ports",), ("doctor",), ("serial",), ("serial", "bench"), ("serial", "sweep"),
            ("serial", "soak"), ("device",), ("device", "pc"), ("board",),
            ("board", "info"), ("udp",), ("udp", "bench"), ("udp", "echo"), ("udp", "doctor"),
            ("turnaround",), ("profile",), ("memory",), ("completion",))
for command in COMMANDS:
    for option in ("--help", "-h"):
        outcome = e2e.millrace(*command, option)
        assert outcome.err == "", outcome
        assert re.search(r"^Examples?:$", outcome.out, re.M), outcome
        assert max(map(len, outcome.out.splitlines())) <= 100, outcome
        assert not re.search(r"^  -\S+ (TEXT|INT|UINT)", outcome.out, re.M), outcome
assert re.fullmatch(r"millrace \d+\.\d+\.\d+\n", e2e.millrace("--version").out)
