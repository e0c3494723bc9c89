# SPDX-License-Identifier: Apache-2.0
"""Our host against an independent classic device: it reads nine bytes and sends frames."""
import os
import pty
import struct
import threading
import tty

import e2e
import jsf32

CLASSIC = ("--protocol", "auto"), ("--protocol", "classic")


def device(master):
    """Serves until the master is closed; whole handshakes only, as the published sketch."""
    data = b""
    try:
        while True:
            while len(data) < 9:
                data += os.read(master, 9 - len(data))
            size, count, acknowledge = struct.unpack("<IIB", data)
            data = b""
            for frame in jsf32.frames(42, size, count):
                sent = 0
                while sent < size:
                    sent += os.write(master, frame[sent:])
                if acknowledge:
                    os.read(master, 1)
    except OSError:
        pass


master, slave = pty.openpty()
tty.setraw(slave)
threading.Thread(target=device, args=(master,), daemon=True).start()
for protocol in CLASSIC:
    for ack in ("none", "each"):
        outcome, document = e2e.measure("serial", "bench", os.ttyname(slave), *protocol, "--ack",
                                        ack, "--frame-size", 1023, "--frames", 200)
        run = document["runs"][0]
        assert run["device"]["protocol"] == "classic", run["device"]
        assert run["in_bytes"] == 1023 * 200 and run["frames"] == 200, run
        assert run["faults"] == [] and not run["failed"], run
e2e.millrace("serial", "bench", os.ttyname(slave), "--protocol", "extended", expect=1).says(
    "no HELLO came")
