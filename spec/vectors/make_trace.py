#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes trace.txt from the text of ../trace.md alone. usage: make_trace.py [--check]

Independent of the C++ code. Each vector is a line `name khz base build-id`, a line of records, and
the file's bytes in hex. Records, with times since power-on: `b:address:halfwords:instructions:
issue:at`, `w:cause:memory:access:line:stall:evicted:at`, `e:code:argument:at`. Of a vector whose name ends
in `_cut` the last record is not complete.
"""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FLASH, OCRAM, PSRAM, OTHER = 1, 2, 3, 4
FETCH, LOAD, STORE = 0, 1, 2
MISS, FILL, UNCACHED, QUEUE = 0, 1, 2, 3


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def signed(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def vector(name, records, khz=600000, base=0, build_id="", rest=b""):
    body, time, line, blocks = bytearray(), base, 0, []
    for kind, *values, at in records:
        delta, time = varint(at - time), at
        if kind == "b":
            if values in blocks:
                body += varint(blocks.index(values) << 2) + delta
                continue
            blocks.append(values)
            address, *numbers = values
            body += varint(address // 2 << 2 | 1) + b"".join(map(varint, numbers)) + delta
        elif kind == "w":
            cause, memory, access, at_line, stall, evicted = values
            body += varint(((cause * 8 + memory) * 4 + access) << 2 | 2)
            body += signed(at_line // 32 - line)
            body += signed((evicted - at_line) // 32) if cause == MISS else b""
            body += varint(stall) + delta
            line = at_line // 32
        else:
            code, argument = values
            body += varint(code << 2 | 3) + varint(argument) + delta
    identity = bytes.fromhex(build_id)
    head = b"MRTRACE\x02" + struct.pack("<IQ", khz, base) + identity.ljust(32, b"\0")
    return (f"{name} {khz} {base} {build_id or '-'}\n"
            + " ".join(":".join(map(str, one)) for one in records) + "\n"
            + (head + bytes(body) + rest).hex() + "\n")


def content():
    block = ("b", 0x60002100, 2, 2, 2)
    example = [(*block, 5), ("w", MISS, FLASH, FETCH, 0x60002100, 504, 0x60006100, 5), (*block, 515),
               ("w", FILL, OCRAM, LOAD, 0x20200040, 12, 0, 518)]
    return "".join((
        vector("example", example),
        vector("empty", [], khz=0, base=(1 << 53) - 1, build_id="ab" * 32),
        vector("every_wait",
               [("b", 0x20, 1, 1, 1, 1000)]
               + [("w", cause, memory, access, line, stall, line + 0x40 * access if cause == MISS else 0,
                   1000 + stall)
                  for stall, (cause, memory, access, line) in enumerate(
                      (cause, memory, access, memory * 0x20000000 + 0x20 * cause)
                      for cause in range(4) for memory in range(1, 5) for access in range(3))],
               khz=396000, base=1000, build_id="01020304"),
        vector("every_event", [(*block, 7)] + [("e", code, code * 100, 7 + code)
                                               for code in range(1, 7)] + [(*block, 1 << 40)]),
        vector("same_address_twice", [(*block, 1), ("b", 0x60002100, 4, 3, 3, 2), (*block, 3)]),
        vector("wait_cut", example[:1], rest=bytes([0x12, 0x90, 0x84, 0x80, 0x30, 0])),
    ))


if __name__ == "__main__":
    path = os.path.join(HERE, "trace.txt")
    if sys.argv[1:] == ["--check"]:
        with open(path, encoding="ascii") as file:
            sys.exit(0 if file.read() == content() else "trace.txt differs from make_trace.py")
    with open(path, "w", encoding="ascii") as file:
        file.write(content())
