# SPDX-License-Identifier: Apache-2.0
"""Devices that do not keep to the protocol, or not to ours: each gets a sentence of its own."""
import os
import pty
import struct
import threading
import time
import tty

import e2e
import jsf32

SIZE, COUNT = 512, 64
PROBE = b"".join(bytes([a]) + bytes(7) + bytes([b]) for a, b in (b"MI", b"LL", b"RA", b"CE"))
CAN_COUNT = 8  # neither OUT nor windows nor discard mode


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def message(kind, payload):
    data = b"\xf1MRZ" + bytes([1, kind]) + struct.pack("<H", len(payload)) + payload
    return data + struct.pack("<I", crc32c(data))


def hello():
    return message(1, struct.pack("<BBHIIIII24s16s24sI", 1, CAN_COUNT, 0, 7, 1, 480, 0, 0, b"odd",
                                  b"1", b"pty", 1 << 20))


class Device:
    """A PTY whose other end is served by serve(master)."""

    def __init__(self, serve):
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        threading.Thread(target=self.run, args=(serve,), daemon=True).start()

    def run(self, serve):
        try:
            serve(self.master)
        except OSError:
            pass

    def bench(self, *words, expect=1):
        return e2e.measure("serial", "bench", os.ttyname(self.slave), "--frame-size", SIZE,
                           "--frames", COUNT, *words, expect=expect)


def read(master, size):
    data = b""
    while len(data) < size:
        data += os.read(master, size - len(data))
    return data


def classic(cut=0, behind=b""):
    def serve(master):
        read(master, 9)
        stream = b"".join(jsf32.frames(42, SIZE, COUNT))
        os.write(master, stream[:len(stream) - cut])
        time.sleep(0.03)
        os.write(master, behind)
    return serve


def extended(*answers_to_run):
    def serve(master):
        read(master, len(PROBE))
        os.write(master, hello())
        run = read(master, 8 + 32 + 4)
        for answer in answers_to_run:
            os.write(master, answer(run[8:16]) if callable(answer) else answer)
    return serve


# 100 ms are waited for what comes behind the stream; this device may be held up for longer.
for _ in range(20):
    outcome, document = Device(classic(behind=b"done\r\n")).bench("--protocol", "classic",
                                                                  expect=(0, 1))
    if outcome.code == 1:
        break
assert document["verdict"]["kind"] == "foreign_writer", document["verdict"]
outcome.says('first at offset 32,768: "done')

outcome, document = Device(classic(cut=1536)).bench("--protocol", "classic", "--timeout-ms", 4000)
assert document["verdict"]["kind"] == "timed_out", document["verdict"]
outcome.says("nothing came for 4", "the last 1,536 bytes are missing")

outcome, document = Device(extended()).bench("--direction", "out")
assert document["verdict"]["kind"] == "refused", document["verdict"]
outcome.says("has no OUT stream", "claims to be at USB 480 Mbit/s")
assert "microframe" not in outcome.out, outcome

outcome, document = Device(
    extended(lambda ids: message(3, ids + b"\x09" + b"too hot".ljust(31, b"\0")))).bench()
assert document["verdict"]["kind"] == "refused", document["verdict"]
outcome.says("status 9, which this version does not know: too hot")

outcome, document = Device(extended(b"temperature 21 C\r\n" * 4)).bench("--timeout-ms", 4000)
assert document["verdict"]["kind"] == "not_our_stream", document["verdict"]
outcome.says("sends what nobody asked for", "temperature 21 C")

e2e.fails("serial", "bench", "serial:a/b", expect=3, says="no port with serial number a/b")
