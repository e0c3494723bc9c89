# SPDX-License-Identifier: Apache-2.0
"""`make fuzz-link` for as long as one likes: it shows on a terminal how far it is, and Ctrl-C ends it
with the table of what was run until then."""
import os
import pathlib
import pty
import signal
import subprocess

import e2e

SOAK = pathlib.Path(e2e.MILLRACE).parent / "test/link_soak"

master, slave = pty.openpty()
process = subprocess.Popen([SOAK, "1000T"], stdin=slave, stdout=slave, stderr=slave,
                           env={**os.environ, "TERM": "xterm"})
os.close(slave)
text = b""
try:
    while piece := os.read(master, 4096):
        text += piece
        if b" % " in text and process.poll() is None:
            process.send_signal(signal.SIGINT)
except OSError:  # EIO: the program has ended
    pass
os.close(master)
assert process.wait(e2e.DEADLINE_S) == 130, text
progress, table = text.decode().split("interrupted")[0].rsplit("\r\x1b[K", 1)
assert "0 %  " in progress and " histories, " in progress, text
assert "flipped bits " in table and "bad weather (x20) " in table, text

# In a pipe: nothing is written over, and a limit of no time at all is one history.
piped = subprocess.run([SOAK, "0"], capture_output=True, text=True, timeout=e2e.DEADLINE_S, check=True)
assert "\x1b" not in piped.stdout and ": 1 histories, " in piped.stdout, piped.stdout
