# SPDX-License-Identifier: Apache-2.0
"""link against devices that are none, or break the protocol: each is named, and nothing is lost silently."""
import concurrent.futures
import os
import pty
import signal
import struct
import threading
import time
import tty

import e2e

TAG, SESSION = 9, 7
HELLO, WELCOME, NOTICE, DATA, GAP, END, ACK = range(1, 8)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def frame(kind, payload=b"", stream=0, sequence=0, offset=0, tag=TAG, version=1, length=None):
    """spec/link_protocol.md, "Frame"; `length`: a wrong one."""
    header = struct.pack("<BBBBIIH", 0xD5, 0x4C, version << 4 | kind, stream, sequence & 0xFFFFFFFF,
                         offset & 0xFFFFFFFF, len(payload) if length is None else length)
    header += struct.pack("<H", crc32c(header) & 0xFFFF)
    return header + payload + struct.pack("<I", crc32c(header + payload) ^ tag)


def data(sequence, offset, size=100, **more):
    return frame(DATA, b"x" * size, sequence=sequence, offset=offset, **more)


def gap(sequence, offset, size):
    return frame(GAP, struct.pack("<QQQQ", offset, size, offset, offset + size - 1),
                 sequence=sequence, offset=offset)


def end(sequence, offset):
    return frame(END, sequence=sequence, offset=offset)


def notice(code, first=1, last=1):
    return frame(NOTICE, struct.pack("<BBBB", code, first, last, 0), tag=0)


def ack(words=(), next_=0, released=0):
    return frame(ACK, struct.pack("<IBBHIII", 0, 0, len(words), 32, next_, released, 16384) +
                 b"".join(struct.pack("<I", word) for word in words), sequence=1)


def entry(stream, direction, unit=1, memory=65536, window=64, most=4076, sequence=0, offset=0):
    return struct.pack("<BBBBIIHHIQ", stream, direction, 0, 0, unit, memory, window, most, sequence,
                       offset) + b"data\0\0\0\0"


STREAMS = [entry(0, 1), entry(1, 1), entry(0, 2, memory=16384, window=32),
           entry(1, 2, memory=512, window=8)]


def welcome(hello, status=None, session=SESSION, tag=TAG, streams=STREAMS, count=None, version=1,
            most=4076):
    nonce, instance, wanted = struct.unpack("<III", hello[4:16])
    if status is None:
        status = 1 if wanted else 0
    return frame(WELCOME, struct.pack("<BBBBIIIIIII", version, status,
                                      len(streams) if count is None else count, 0, nonce, instance,
                                      session, tag, 5, 1, most) + b"bad".ljust(28, b"\0") +
                 b"".join(streams), tag=0)


class Device:
    """A PTY; `answer(hello)` says what is sent for a HELLO, `flood` is sent without end."""

    def __init__(self, answer=None, flood=None, mirror=False):
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        os.set_blocking(self.master, False)
        self.path = os.ttyname(self.slave)
        self.answer, self.flood, self.mirror = answer, flood, mirror
        self.buffer, self.done = b"", False
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done = True
        self.thread.join()
        os.close(self.master)
        os.close(self.slave)

    def read(self):
        try:
            return os.read(self.master, 65536)
        except BlockingIOError:
            return b""

    def write(self, text):
        while text and not self.done:
            try:
                text = text[os.write(self.master, text):]
            except BlockingIOError:
                self.buffer += self.read()
                time.sleep(0.001)

    def run(self):
        while not self.done:
            got = self.read()
            self.buffer += got
            if self.mirror:
                self.write(got)
            if self.flood and (self.buffer or not self.answer):
                self.write(self.flood)
            start = self.buffer.find(b"\xd5\x4c\x11")
            if self.answer and start >= 0 and len(self.buffer) >= start + 48:
                hello = self.buffer[start + 16:start + 44]
                self.buffer = self.buffer[start + 48:]
                self.write(self.answer(hello))
            time.sleep(0.001)


BROKEN = "the device breaks the link protocol: "
VALUES = BROKEN + "its answer holds values that are not allowed"
CONTRADICT = BROKEN + "offset, sequence number and length of a frame contradict"
RECEIVE = [
    # what, device, exit code, sentence
    ("bytes", dict(flood=os.urandom(4000) + b"\x00\xff"), 1, "sends bytes that are no frames"),
    ("syncs", dict(flood=b"\xd5\x4c" * 2000), 1, "sends bytes that are no frames: d5 4c d5 4c"),
    ("text", dict(flood=b"temperature 21.5\r\n"), 1, "sends text: temperature 21.5"),
    ("mirror", dict(mirror=True), 1, "returns what it gets: an echo"),
    ("silence", dict(), 1, "no answer (does its firmware speak the link protocol?"),
    ("frames of version 3", dict(answer=lambda h: frame(WELCOME, b"a" * 60, version=3, tag=0)), 1,
     "answers in version 3 of the link protocol, this program speaks 1"),
    ("notice of versions", dict(answer=lambda h: notice(2, 2, 5)), 1, "speaks versions 2..5"),
    ("notice of limits", dict(answer=lambda h: notice(3)), 1, "too large for each other"),
    ("session forgotten", dict(answer=lambda h: welcome(h) + notice(1)), 1,
     "opens a session and forgets it at once"),
    ("welcome 3", dict(answer=lambda h: welcome(h, version=3)), 1, VALUES),
    ("status 9", dict(answer=lambda h: welcome(h, status=9)), 1, VALUES),
    ("255 streams", dict(answer=lambda h: welcome(h, count=255)), 1, VALUES),
    ("unit 0", dict(answer=lambda h: welcome(h, streams=[entry(0, 1, unit=0)])), 1, VALUES),
    ("another offset", dict(answer=lambda h: welcome(h) + data(0, 0) + data(1, 55)), 1, CONTRADICT),
    ("gap beyond 2^64", dict(answer=lambda h: welcome(h) + gap(0, 0, 1 << 63) +
                             gap(1, 1 << 63, (1 << 63) - 1) + data(2, 77)), 1, CONTRADICT),
    ("another host", dict(answer=lambda h: welcome(h) + welcome(
        b"1234" + struct.pack("<III", 77, 88, 0), tag=20)), 3, "another program keeps opening"),
    # Survived: what is right among it is taken.
    ("absurd length", dict(answer=lambda h: welcome(h) + frame(DATA, b"x" * 10, length=65535) +
                           data(0, 0) + end(1, 100)), 0, "received 100 bytes"),
    ("unknown stream", dict(answer=lambda h: welcome(h) + data(0, 0, stream=7) + data(0, 0) +
                            end(1, 100)), 0, "received 100 bytes"),
    ("beyond the end", dict(answer=lambda h: welcome(h) + data(0, 0) + end(1, 100) + data(2, 100)),
     0, "received 100 bytes"),
    ("wrap at 2^32", dict(answer=lambda h: welcome(h, streams=[entry(0, 1, sequence=0xFFFFFFFE)]) +
                          b"".join(data(0xFFFFFFFE + i, 100 * i) for i in range(4)) + end(2, 400)),
     0, "received 400 bytes"),
    ("beyond the credit", dict(answer=lambda h: welcome(h) + b"".join(
        data(i, i * 4000, 4000) for i in range(1500, 1510))), 1, "nothing came on the data stream"),
]
SEND = [
    ("acknowledges the future", dict(answer=welcome, flood=ack(next_=4000, released=4000)), 1,
     BROKEN + "it acknowledges what was never sent"),
    ("senseless ACK", dict(answer=welcome, flood=frame(ACK, b"\xff" * 200)), 1,
     BROKEN + "a frame holds values that are not allowed"),
    ("takes nothing", dict(answer=welcome, flood=ack()), 1, "the device has taken nothing for"),
    ("a hole for ever", dict(answer=welcome, flood=ack(words=[0xFFFFFFFF])), 1,
     "the device has taken nothing for"),
    ("another session", dict(answer=lambda h: welcome(h, status=0)), 1,
     "it was asked to go on with a session and answers with another"),
]


def receive(case):
    what, device, code, says = case
    # Who never answers rightly is waited for in full; on a loaded machine nobody does in 400 ms.
    timeout = "3000" if code == 1 else "20000"
    with Device(**device) as peer:
        e2e.millrace("link", "receive", peer.path, "-o", folder / what.replace("^", ""),
                     "--timeout-ms", timeout, "--idle-ms", "1000", expect=code).says(says)


def send(case):
    what, device, code, says = case
    path = folder / ("out " + what)
    path.write_bytes(bytes(3_000_000))
    with Device(**device) as peer:
        e2e.millrace("link", "send", peer.path, path, "--idle-ms", "2500", expect=code).says(says)


with e2e.temporary_folder() as name:
    folder = e2e.pathlib.Path(name)
    path = folder / "file"
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(send, SEND))
        list(pool.map(receive, RECEIVE))

    # A device that nobody reads and a host that goes away: the device lives on.
    with e2e.PcDevice("--protocol", "link") as device:
        for junk in (os.urandom(300_000), b"\xd5\x4c" * 50_000, b"hello\r\n" * 20_000,
                     frame(HELLO, b"\x01\x09" + os.urandom(26), tag=0) * 300):
            fd = os.open(device.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            tty.setraw(fd)
            at, deadline = 0, time.monotonic() + 2
            while at < len(junk) and time.monotonic() < deadline:
                try:
                    at += os.write(fd, junk[at:at + 4096])
                except BlockingIOError:
                    time.sleep(0.001)
            os.close(fd)
        e2e.measure("link", "bench", device.path, "--bytes", "1M")[0].says("0 bytes wrong")
        # Two hosts: the second is refused while the first has the port.
        first = e2e.start("link", "receive", device.path, "-o", path, "--command",
                          "source 100000000 rate 100000")
        while not path.with_name("file.link").exists():
            time.sleep(0.01)
        e2e.fails("link", "bench", device.path, expect=3, says="held by")
        first.send_signal(signal.SIGINT)
        assert first.wait(e2e.DEADLINE_S) == 130
        first.communicate()
