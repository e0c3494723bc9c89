#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes samples.txt from the text of ../sample_file.md alone. usage: make_samples.py [--check]

Independent of the C++ code. Each vector is a line `name field=value ...`, a line `records` with
`pc:lr:exception:weight:stall` each, and the file's bytes in hex.
"""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = ("mode", "khz", "interval", "jitter", "lost", "run", "handler", "events", "id_kind", "id",
          "unit")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def sample_file(v, records):
    body = b""
    for pc, lr, exception, weight, stall in records:
        body += struct.pack("<I", pc)
        for bit, value in enumerate((lr, exception, weight, stall)):
            if v["mode"] >> bit & 1:
                body += struct.pack("<I", value)
    identity = bytes.fromhex(v["id"])
    rest = struct.pack("<4I", v["mode"], v["khz"], v["interval"], v["jitter"])
    rest += struct.pack("<5Q", len(records), v["lost"], v["run"], v["handler"], v["events"])
    rest += struct.pack("<2I", v["id_kind"], len(identity)) + identity.ljust(32, b"\0")
    rest += struct.pack("<2I", crc32c(body), v["unit"]) + bytes(8)
    assert len(rest) == 112
    return b"MRSAMPL\x01" + struct.pack("<2I", 128, crc32c(rest)) + rest + body


def vector(name, records, **values):
    v = dict.fromkeys(FIELDS, 0) | {"id": ""} | values
    head = " ".join(f"{key}={v[key]}" for key in FIELDS)
    lines = [f"{name} {head}", "records " + " ".join(":".join(map(str, r)) for r in records)]
    return "\n".join(lines + [sample_file(v, records).hex()]) + "\n"


def content():
    return "".join((
        vector("empty", []),
        vector("pc_only", [(0x60001234, 0, 0, 1, 0), (0x20, 0, 0, 1, 0), (0xFFFFFFFE, 0, 0, 1, 0)],
               khz=600000, interval=60000, jitter=250, lost=7, run=180123, handler=300, events=2,
               id_kind=2, id="1122334455667788"),
        vector("example", [(0x60001234, 0x60005679, 0, 1, 0), (0x20, 0xFFFFFFFF, 0, 1, 0)],
               mode=1, khz=600000, interval=60000, jitter=250, id_kind=1, id="01020304"),
        vector("everything", [(0x60001234, 0x60005679, 15, 40, 30), (0x100, 0xFFFFFFF1, 129, 9, 0)],
               mode=15, khz=528000, unit=1, run=1 << 40, id_kind=1, id="ab" * 20),
    ))


if __name__ == "__main__":
    path = os.path.join(HERE, "samples.txt")
    if "--check" in sys.argv:
        sys.exit(open(path).read() != content())
    with open(path, "w") as file:
        file.write(content())
