# SPDX-License-Identifier: Apache-2.0
"""Behaves as the published harness's PC side against `millrace device pc`, byte for byte."""
import os
import select
import struct
import tty

import e2e
import jsf32


def read_exactly(fd, size):
    data = b""
    while len(data) < size:
        ready, _, _ = select.select([fd], [], [], e2e.DEADLINE_S)
        assert ready, f"{len(data)} of {size} bytes came"
        data += os.read(fd, size - len(data))
    return data


def run(seed, size, count, acknowledge):
    """A new handshake on an open port: the sequence starts anew."""
    os.write(fd, struct.pack("<IIB", size, count, acknowledge))
    for number, frame in enumerate(jsf32.frames(seed, size, count)):
        assert read_exactly(fd, size) == frame, f"frame {number} of {size} bytes differs"
        if acknowledge:
            waiting, _, _ = select.select([fd], [], [], 0)
            assert not waiting, "a frame came before its acknowledgement"
            os.write(fd, b"\x06")
    waiting, _, _ = select.select([fd], [], [], 0.2)
    assert not waiting, "bytes after the last frame"


first = jsf32.words(42)
assert [next(first) for _ in range(5)] == [1230419127, 4080097750, 2014035305, 565785200,
                                           1623285391]
for seed, options in ((42, ()), (7, ("--seed", "7"))):
    with e2e.PcDevice(*options) as device:
        fd = os.open(device.path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(fd)
        run(seed, 2048, 64, 0)
        run(seed, 128, 200, 1)
        run(seed, 13, 100, 0)  # the last word of each frame is cut to one byte
        run(seed, 5, 20, 255)  # any value but 0 acknowledges
        os.write(fd, struct.pack("<IIB", 16, 0, 0))  # asks for nothing, gets nothing
        run(seed, 1, 9, 0)
        os.close(fd)
