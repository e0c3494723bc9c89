# SPDX-License-Identifier: Apache-2.0
"""Every command has help with examples that fits 100 columns, and the program has a version."""
import re

import e2e


def with_subcommands(command):
    """`command` and every command below it, as its own help lists them."""
    section = re.search(r"^Subcommands:\n((?:  .*\n)+)", e2e.millrace(*command, "--help").out, re.M)
    names = re.findall(r"^  (\S+)", section[1], re.M) if section else []
    return [command] + [found for name in names for found in with_subcommands((*command, name))]


commands = with_subcommands(())
for known in (("serial", "bench"), ("board", "run"), ("profile", "record"), ("tune",)):
    assert known in commands, (known, commands)
for command in commands:
    for option in ("--help", "-h"):
        outcome = e2e.millrace(*command, option)
        assert outcome.err == "", outcome
        assert re.search(r"^Examples?:$", outcome.out, re.M), outcome
        lines = outcome.out.splitlines()
        assert max(map(len, lines)) <= 100, outcome
        # What the command does stands on one line if it fits one.
        assert lines[1].startswith("Usage: ") or len(f"{lines[0]} {lines[1].split()[0]}") > 100, outcome
        assert not re.search(r"^  -\S+ (INT|UINT|FLOAT)", outcome.out, re.M), outcome
assert re.fullmatch(r"millrace \d+\.\d+\.\d+\n", e2e.millrace("--version").out)
