# SPDX-License-Identifier: Apache-2.0
"""What tests of Ctrl-C at any moment share: what was measured, the word `interrupted`, and 130. A moment is a system
call of the main thread: strace delivers the signal at the one that is named, so nothing here hangs
on time. What is over by then ends as if nothing had been."""
import collections
import json
import os
import re
import subprocess

import e2e

# The leak check of a sanitised build refuses to run below strace.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def traced(words, options, trace):
    """The program below strace; (exit code, stdout, stderr)."""
    done = subprocess.run(["strace", "-o", trace, *options, e2e.MILLRACE, *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=e2e.DEADLINE_S, env=ENVIRONMENT)
    return done.returncode, done.stdout, done.stderr


def points(words, trace, usual, count):
    """System calls as (name, how many of that name), evenly from the one from which on Ctrl-C is
    waited for to the last, and each of the first: there nothing has been measured yet."""
    outcome = traced(words, (), trace)
    assert outcome[0] in usual, outcome
    calls, counts = [], collections.Counter()
    for line in trace.read_text().splitlines():
        if match := re.match(r"([a-z_0-9]+)\(", line):
            counts[match[1]] += 1
            calls.append((match[1], counts[match[1]]))
            if line.startswith("rt_sigaction(SIGINT, {"):
                first = len(calls)
    chosen = {first + i * (len(calls) - first) // count for i in range(count)}
    return [calls[i] for i in sorted(chosen | {first + 2})]


def interrupts(folder, *words, usual=(0,), count=6):
    """Ctrl-C at points all over it; `usual`: its exit codes without."""
    words = e2e.patient(*words)
    path, trace = folder / "result.json", folder / "trace"
    words += ["--json", str(path)]
    ended = 0
    for call, number in points(words, trace, usual, count):
        path.unlink(missing_ok=True)
        code, out, err = traced(words, ("-e", f"inject={call}:signal=INT:when={number}"), trace)
        told = f"{' '.join(words)}, at {call} number {number}: exit {code}\n{out}{err}"
        assert code in (130, *usual), told
        if code == 130:
            ended += 1
            assert "interrupted" in out + err, told
            if path.exists():
                e2e.validate(json.loads(path.read_text()))
    assert ended, words
