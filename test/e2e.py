# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share. Each test is a program: test/NAME.py PATH_TO_MILLRACE.

It runs the real command line, and fails by raising. Nothing here measures time; every wait has a
deadline far above what a loaded machine needs.
"""
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile

import jsonschema

MILLRACE = os.path.abspath(sys.argv[1])
SOURCE = pathlib.Path(__file__).resolve().parent.parent
DEADLINE_S = 100 * int(os.environ.get("MILLRACE_PATIENCE", "1"))
_SCHEMA = jsonschema.Draft202012Validator(
    json.loads((SOURCE / "spec/result.schema.json").read_text()))


class Outcome:
    def __init__(self, words, code, out, err):
        self.words, self.code, self.out, self.err = words, code, out, err

    def __str__(self):
        return f"$ millrace {' '.join(self.words)}\nexit {self.code}\n{self.out}{self.err}"

    def says(self, *parts):
        """Every part stands in stdout or stderr; line ends count as spaces."""
        text = re.sub(r"\s+", " ", self.out + self.err)
        for part in parts:
            assert part in text, f"does not say {part!r}:\n{self}"
        return self


def patient(*words):
    """The words as text; waits of a measurement that give none themselves are those of a machine
    that does much else: what is tested then ends by itself, long before."""
    words = [str(word) for word in words]
    if words[:1] == ["serial"] and len(words) > 2 and not words[2].startswith("-"):
        for option in ("--timeout-ms", "--follow-ms"):
            if option not in words:
                words[3:3] = [option, "20000"]
    return words


def millrace(*words, expect=0, prefix=(), program=MILLRACE, **options):
    """Runs to the end; `prefix`: a command put before it."""
    words = patient(*words)
    done = subprocess.run([*prefix, program, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=DEADLINE_S, **options)
    outcome = Outcome(words, done.returncode, done.stdout, done.stderr)
    expected = expect if isinstance(expect, (tuple, list)) else (expect,)
    assert done.returncode in expected, f"expected exit {expect}:\n{outcome}"
    return outcome


def fails(*words, expect, says, **options):
    """One sentence on stderr, nothing on stdout."""
    outcome = millrace(*words, expect=expect, **options)
    lines = outcome.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("millrace: "), f"not one sentence:\n{outcome}"
    assert outcome.out == "", f"something on stdout:\n{outcome}"
    return outcome.says(*([says] if isinstance(says, str) else says))


def validate(document):
    errors = [f"{e.json_path}: {e.message[:300]}" for e in _SCHEMA.iter_errors(document)]
    assert not errors, "\n".join(errors[:10])
    return document


def measure(*words, expect=0):
    """Runs with --json FILE; returns the outcome and the validated document."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        outcome = millrace(*words, "--json", path, expect=expect)
        return outcome, validate(json.loads(path.read_text()))


def start(*words):
    """Starts a measurement; its stdout and stderr are pipes."""
    return subprocess.Popen([MILLRACE, *patient(*words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def read_line(stream):
    """One line of a pipe, or fails at the deadline."""
    ready, _, _ = select.select([stream], [], [], DEADLINE_S)
    assert ready, "nothing came"
    return stream.readline().decode().rstrip("\n")


def wait_until_read(process, size):
    """Until the running program has read `size` bytes in all, or fails when it ends before."""
    while int(pathlib.Path(f"/proc/{process.pid}/io").read_text().split()[1]) < size:  # rchar
        assert process.poll() is None, process.communicate()
        select.select([], [], [], 0.01)


def wait_until_written(process, size):
    """Until the running program has written `size` bytes in all, to whatever."""
    while int(pathlib.Path(f"/proc/{process.pid}/io").read_text().split()[3]) < size:  # wchar
        assert process.poll() is None, process.communicate()
        select.select([], [], [], 0.01)


class PcDevice:
    """`millrace device pc` with these options, as long as the block lasts."""

    def __init__(self, *words):
        self.process = subprocess.Popen([MILLRACE, "device", "pc", *words],
                                        stdout=subprocess.PIPE)

    def __enter__(self):
        self.path = read_line(self.process.stdout)
        assert self.path.startswith("/dev/pts/"), self.path
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(DEADLINE_S)
        self.process.stdout.close()


def temporary_folder():
    return tempfile.TemporaryDirectory()


def have(program):
    return shutil.which(program) is not None
