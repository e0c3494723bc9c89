# SPDX-License-Identifier: Apache-2.0
"""`profile record` over real sockets, against a target written from spec/sampler_control.md alone; and
against ones that answer nonsense, late, or not for long: a sentence each, and no file."""
import os
import random
import socket
import struct
import threading
import time

from e2e import fails, measure, temporary_folder

# Of its own: other tests use 127.0.0.1, and two of these may run at once.
ADDRESS = f"127.42.{os.getpid() >> 8 & 255}.{1 + os.getpid() % 254}"
SAMPLER, ECHO = 4244, 4242
MAGIC = b"\xf3MRS"


class Target:
    """A sampler that takes a sample every interval of real time, and an echo server."""

    def __init__(self, spoil=None, capacity=500):
        self.spoil, self.capacity = spoil, capacity
        self.run = self.began = self.ended = self.interval = self.mode = 0
        self.state, self.echoes, self.stop = 0, 0, False
        self.sockets, self.threads = [], []
        for port, answer in ((SAMPLER, self.control), (ECHO, self.echo)):
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            one.bind((ADDRESS, port))
            one.settimeout(0.1)
            self.sockets.append(one)
            self.threads.append(threading.Thread(target=self.serve, args=(one, answer)))
            self.threads[-1].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop = True
        for thread in self.threads:
            thread.join()
        for one in self.sockets:
            one.close()

    def serve(self, one, answer):
        while not self.stop:
            try:
                data, sender = one.recvfrom(2048)
                reply = answer(data)
                if reply:
                    one.sendto(reply, sender)
            except OSError:
                continue

    def echo(self, data):
        self.echoes += 1
        return data

    def stored(self):
        if self.state == 0:
            return 0
        end = time.monotonic_ns() if self.state == 1 else self.ended
        each = 3 if self.mode else 1
        return min((end - self.began) // self.interval, self.capacity // each) * each

    def control(self, data):
        if len(data) < 12 or data[:6] != MAGIC + b"\x01\x01":
            return b""
        command, tag = data[6], data[8:12]

        def head(result):
            return MAGIC + bytes([1, 2, command, result]) + tag

        if command == 1:
            self.mode, _, jitter, self.interval, _ = struct.unpack_from("<BBHII", data, 12)
            if not 2_000 <= self.interval <= 10**9:
                return head(4)
            self.run, self.state, self.began, self.echoes = self.run + 1, 1, time.monotonic_ns(), 0
        elif command == 2 and self.state == 1:
            self.state, self.ended = 2, time.monotonic_ns()
        if command < 3:
            reply = head(0) + struct.pack("<BBHIIIIII", self.state, self.mode, 250, self.capacity,
                                          self.stored(), 600_000, 60_000, 2_000, 10**9)
            reply += struct.pack("<QQQQQI", 0, 0, 1000, 10, self.echoes, self.run)
            reply += struct.pack("<I", 20) + bytes(range(20)) + bytes(12)
        else:
            first, wanted, _ = struct.unpack_from("<IHH", data, 12)
            count = max(0, min(self.stored() - first, wanted, 256))
            reply = head(0) + struct.pack("<IHH", first, count, self.run & 0xffff)
            reply += b"".join(struct.pack("<I", 0x60001000 + 2 * (first + i)) for i in range(count))
        return self.spoil(command, reply) if self.spoil else reply


record = ("profile", "record", f"udp:{ADDRESS}:{ECHO}", "-o")
with temporary_folder() as folder:
    path = f"{folder}/run.samples"
    with Target():
        outcome, result = measure(*record, path, "--load", "udp:32@500", "--samples", "1200",
                                  "--interval", "500")
        recording = result["recording"]
        assert (recording["samples"], recording["rounds"]) == (1200, 3), recording
        assert recording["load"]["answered"] > 100 and recording["events"] > 100, recording
        outcome.says("build ID 000102030405060708090a0b0c0d0e0f10111213")
        with open(path, "rb") as file:
            data = file.read()
        assert struct.unpack_from("<500I", data, 128) == tuple(range(0x60001000, 0x600013e8, 2))
        _, result = measure(*record, path, "--load", "none", "--samples", "300", "--mode", "callers",
                            "--interval", "500")
        assert (result["recording"]["samples"], result["recording"]["rounds"]) == (300, 2), result
        fails(*record, path, "--load", "none", "--interval", "1", expect=2, says="give 2 to")

    def lossy(_, reply, noise=random.Random(1)):  # half of the replies: asked for again
        return reply if noise.random() < 0.5 else b""

    tags = [b"\0\0\0\0"]

    def stale(_, reply):  # the tag of the request before
        tags.append(reply[8:12])
        return reply[:8] + tags[-2] + reply[12:] if len(tags) % 2 == 0 else reply

    for spoil in (lossy, stale):
        with Target(spoil):
            measure(*record, path, "--load", "none", "--samples", "400", "--interval", "500",
                    expect=(0, 3))
    os.remove(path)

    spoilers = {
        "magic": (lambda _, r: b"\xf2" + r[1:], "is no sampler"),
        "version": (lambda _, r: r[:4] + b"\x02" + r[5:], "is no sampler"),
        "short": (lambda _, r: r[:60], "makes no sense"),
        "random": (lambda _, r: random.Random(len(r)).randbytes(len(r)), "is no sampler"),
        "refuses": (lambda _, r: r[:7] + b"\x63" + r[8:12], "code 99"),
        "huge": (lambda _, r: r[:16] + b"\xff" * 8 + r[24:], None),
        "words": (lambda c, r: r[:16] + b"\xff\xff" + r[18:] if c == 3 else r, "READ of word 0"),
        "none": (lambda c, r: r[:16] + b"\0\0" + r[18:20] if c == 3 else r, "READ of word 0"),
        "run": (lambda c, r: r[:18] + b"\xff\xff" + r[20:] if c == 3 else r, "somebody else"),
        "empty": (lambda c, r: r[:20] + bytes(4) + r[24:] if c != 3 else r, "took no sample"),
        "no buffer": (lambda c, r: r[:16] + bytes(8) + r[24:] if c != 3 else r, "holds no record"),
        "silent": (lambda c, r: b"" if c == 2 else r, "no sampler answers"),
    }
    for name, (spoil, says) in spoilers.items():
        with Target(spoil):
            fails(*record, path, "--load", "none", "--samples", "50", "--interval", "200",
                  expect=(1, 2, 3), says=says or "millrace: ")
        assert not os.path.exists(path), name
    fails(*record, path, "--load", "none", expect=3, says="no sampler answers")
