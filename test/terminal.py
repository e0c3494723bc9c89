# SPDX-License-Identifier: Apache-2.0
"""A progress bar and colour on a terminal, neither in a pipe; NO_COLOR and a dumb terminal are obeyed."""
import os
import pty
import subprocess

import e2e

WORDS = e2e.patient("serial", "bench", "pc:?rate=4000000", "--frames", 500)


def on_terminal(environment):
    """Everything the program prints when stdout and stderr are a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([e2e.MILLRACE, *WORDS], stdin=slave, stdout=slave, stderr=slave,
                               env={**os.environ, **environment})
    os.close(slave)
    text = b""
    try:
        while piece := os.read(master, 4096):
            text += piece
    except OSError:  # EIO: the program has ended
        pass
    os.close(master)
    assert process.wait(e2e.DEADLINE_S) == 0
    return text.decode()


piped = e2e.millrace(*WORDS)
assert "\x1b" not in piped.out + piped.err and "\r" not in piped.out + piped.err, piped
assert piped.err == "", piped.err
assert max(map(len, piped.out.splitlines())) <= 100, piped.out

shown = on_terminal({"TERM": "xterm"})
assert "\r\x1b[K" in shown and "%" in shown, "no progress bar"
assert "\x1b[32m" in shown, "no colour"
assert "\x1b[32m" not in on_terminal({"TERM": "xterm", "NO_COLOR": "1"}), "colour with NO_COLOR"
dumb = on_terminal({"TERM": "dumb"})
assert "\x1b" not in dumb and "%  " not in dumb, "control sequences on a dumb terminal"
