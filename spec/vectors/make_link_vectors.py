#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes link_protocol.txt from the text of ../link_protocol.md alone; shares nothing with link/.

usage: make_link_vectors.py [--check]      --check writes nothing and exits 1 if the file differs
"""
import os
import struct
import sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "link_protocol.txt")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def frame(kind, payload, stream=0, host=False, end=False, sequence=0, offset=0, tag=0):
    third = stream | (0x10 if host else 0) | (0x20 if end else 0)
    size = 0 if kind == 4 and len(payload) == 65536 else len(payload)
    head = struct.pack("<BBBBIIH", 0xD5, 0x4C, 0x10 | kind, third, sequence, offset & 0xFFFFFFFF, size)
    body = head + struct.pack("<H", crc32c(head) & 0xFFFF) + payload
    return body + struct.pack("<I", crc32c(body) ^ tag)


def line(name, data, tag, header, fields):
    words = [name, data.hex(), f"tag={tag}"] + [f"{k}={v}" for k, v in {**header, **fields}.items()]
    return " ".join(words)


def hello(nonce, instance, session, boot, limit, low=1, high=1):
    payload = struct.pack("<BBHIIIIII", low, high, 0, nonce, instance, session, boot, limit, 0)
    fields = dict(version_min=low, version_max=high, nonce=nonce, host_instance=instance, session=session,
                  boot_id=boot, max_payload=limit)
    return line("HELLO", frame(1, payload, host=True), 0, {}, fields)


def welcome(status, nonce, instance, session, tag, boot, counter, limit, name, streams):
    payload = struct.pack("<BBBBIIIIIII28s", 1, status, len(streams), 0, nonce, instance, session, tag, boot, counter,
                          limit, name.encode())
    fields = dict(status=status, nonce=nonce, host_instance=instance, session=session, new_tag=tag, boot_id=boot,
                  boot_counter=counter, max_payload=limit, device=f'"{name}"')
    for n, (stream, host, priority, ended, unit, buffer, window, largest, seq, offset, label) in enumerate(streams):
        payload += struct.pack("<BBBBIIHHIQ8s", stream, 2 if host else 1, priority, ended, unit, buffer, window,
                               largest & 0xFFFF, seq, offset, label.encode())
        fields[f"entry{n}"] = "/".join(map(str, (stream, int(host), priority, ended, unit, buffer, window, largest, seq,
                                                 offset, label)))
    return line("WELCOME", frame(2, payload), 0, {}, fields)


def notice(code):
    return line("NOTICE", frame(3, struct.pack("<BBBB", code, 1, 1, 0)), 0, {},
                dict(code=code, version_min=1, version_max=1))


def data(payload, stream, host, end, sequence, offset, tag):
    fields = dict(stream=stream, host=int(host), end=int(end), sequence=sequence, offset=offset & 0xFFFFFFFF,
                  size=len(payload), sum=sum(payload))
    return line("DATA", frame(4, payload, stream, host, end, sequence, offset, tag), tag, {}, fields)


def gap(offset, count, unit, stream, sequence, tag):
    first, last = offset // unit, (offset + count) // unit - 1
    fields = dict(stream=stream, sequence=sequence, gap_offset=offset, gap_bytes=count, first_unit=first,
                  last_unit=last)
    payload = struct.pack("<QQQQ", offset, count, first, last)
    return line("GAP", frame(5, payload, stream, sequence=sequence, offset=offset, tag=tag), tag, {}, fields)


def ack(number, echo, entries, host, tag):
    payload = struct.pack("<I", echo)
    fields = dict(host=int(host), sequence=number, echo=echo)
    for n, (stream, window, nxt, released, credit, words) in enumerate(entries):
        payload += struct.pack("<BBHIII", stream, len(words), window, nxt, released, credit)
        payload += b"".join(struct.pack("<I", w) for w in words)
        fields[f"entry{n}"] = "/".join(map(str, [stream, window, nxt, released, credit] + words))
    return line("ACK", frame(7, payload, host=host, sequence=number, tag=tag), tag, {}, fields)


def vectors():
    yield "# NAME HEX tag=N field=value...: one frame a line; entries of lists joined by /"
    yield hello(1, 2, 0, 0, 4096)
    yield hello(0xFFFFFFFF, 0x80000001, 0x12345678, 0x9ABCDEF0, 65536, 1, 9)
    yield welcome(0, 1, 2, 0x11223344, 0x55667788, 0x99AABBCC, 7, 1024, "Teensy 4.1",
                  [(0, False, 1, 0, 6, 262144, 64, 4096, 0, 0, "samples"),
                   (1, False, 0, 1, 1, 4096, 16, 512, 0xFFFFFFFE, 2**40 + 5, "log"),
                   (0, True, 0, 0, 1, 8192, 16, 1024, 3, 3000, "")])
    yield welcome(2, 5, 6, 0, 0, 0xDEADBEEF, 0, 65516, "x" * 28, [])
    yield welcome(1, 5, 6, 1, 2, 3, 4, 5, "", [(7, False, 255, 0, 65536, 2**32 - 1, 512, 65536, 9, 2**63 - 1, "12345678")])
    for code in (1, 2, 3):
        yield notice(code)
    yield data(b"\x01\x02\x03\x04", 0, False, False, 0, 0, 0x55667788)
    yield data(b"end", 7, True, True, 0xFFFFFFFF, 0xFFFFFFFD, 1)
    yield data(bytes(i & 255 for i in range(4096)), 1, False, False, 0x80000000, 2**32 + 4096, 0xFFFFFFFF)
    yield data(bytes([0xD5, 0x4C] * 600), 0, True, False, 17, 1200, 0x01020304)
    yield data(bytes(i * 7 & 255 for i in range(65536)), 2, False, False, 1, 0, 0x0BADF00D)
    yield gap(6 * 10**10, 600, 6, 0, 12, 0x55667788)
    yield line("END", frame(6, b"", 3, True, sequence=99, offset=12345, tag=8), 8, {},
               dict(stream=3, host=1, sequence=99, offset=12345))
    yield ack(1, 0, [(0, 64, 10, 8, 65536, [])], True, 0x55667788)
    yield ack(2, 77, [(0, 64, 0xFFFFFFFF, 0xFFFFFFF0, 65536, [5, 0x80000000]), (1, 16, 0, 0, 4096, [])], False, 9)
    yield ack(3, 1, [(n, 512, n, n, 2**30, [0xFFFFFFFF] * 16) for n in range(8)], True, 10)
    yield line("PROBE", frame(8, b"", host=True, sequence=77, tag=9), 9, {}, dict(host=1, sequence=77))
    yield line("BYE", frame(9, b"\x01", host=True, tag=9), 9, {}, dict(ends=1))


def main():
    text = "\n".join(vectors()) + "\n"
    if "--check" in sys.argv[1:]:
        with open(PATH, encoding="ascii") as file:
            if file.read() != text:
                print("link_protocol.txt differs from what the specification gives")
                return 1
        return 0
    with open(PATH, "w", encoding="ascii") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
