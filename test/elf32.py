# SPDX-License-Identifier: Apache-2.0
"""Reads what the tests of firmware images need of ELF32 (little-endian) and Intel HEX files."""
import struct

ALLOC, EXEC = 2, 4  # section flags


class Elf32:
    """`segments`: (load address, bytes) of PT_LOAD; `pieces`: the same by section, without the
    padding between sections; `sections`: name -> (address, size, flags); `symbols`: name ->
    address; `functions`: name -> address without the Thumb bit; `sizes`: name -> bytes of it."""

    def __init__(self, data):
        assert data[:6] == b"\x7fELF\x01\x01", "not a little-endian ELF32 file"
        self.entry, phoff, shoff = struct.unpack_from("<3I", data, 24)
        phentsize, phnum, shentsize, shnum, shstrndx = struct.unpack_from("<5H", data, 42)
        self.segments, self.pieces = [], []
        headers = [struct.unpack_from("<10I", data, shoff + i * shentsize) for i in range(shnum)]
        for i in range(phnum):
            kind, offset, _, paddr, filesz = struct.unpack_from("<5I", data, phoff + i * phentsize)
            if kind == 1 and filesz:
                self.segments.append((paddr, data[offset:offset + filesz]))
                for _, kind, flags, _, at, size, *_ in headers:
                    if kind in (1, 7) and flags & ALLOC and offset <= at < offset + filesz:
                        self.pieces.append((paddr + at - offset, data[at:at + size]))

        def string(table, offset):
            start = headers[table][4] + offset
            return data[start:data.index(b"\0", start)].decode()

        self.sections = {string(shstrndx, h[0]): (h[3], h[5], h[2]) for h in headers[1:]}
        self.symbols, self.functions, self.sizes = {}, {}, {}
        for h in headers:
            if h[1] != 2:  # SHT_SYMTAB
                continue
            for at in range(h[4], h[4] + h[5], 16):
                name, value, size, info, _, index = struct.unpack_from("<3IBBH", data, at)
                if index == 0 or name == 0:
                    continue
                self.symbols[string(h[6], name)] = value
                if info & 15 == 2:  # STT_FUNC
                    self.functions[string(h[6], name)] = value & ~1
                    self.sizes[string(h[6], name)] = size

    def load(self, address, size):
        """Bytes of the image by load address."""
        for start, content in self.segments:
            if start <= address and address + size <= start + len(content):
                return content[address - start:address - start + size]
        raise AssertionError(f"no bytes for {address:#x}")

    def words(self, address, count):
        return struct.unpack(f"<{count}I", self.load(address, 4 * count))


def read_hex(text):
    """Address -> byte. Checks each record's length and sum."""
    memory, base, ended = {}, 0, False
    for line in text.split():
        record = bytes.fromhex(line[1:])
        assert line[0] == ":" and len(record) == record[0] + 5, f"bad record: {line}"
        assert sum(record) & 0xff == 0, f"bad sum: {line}"
        assert not ended, "records after the end"
        address, kind, content = record[1] << 8 | record[2], record[3], record[4:-1]
        if kind == 0:
            for i, byte in enumerate(content):
                assert base + address + i not in memory, f"{base + address + i:#x} stands twice"
                memory[base + address + i] = byte
        elif kind == 1:
            ended = True
        elif kind == 4:
            base = int.from_bytes(content, "big") << 16
        else:
            assert kind in (3, 5), f"record type {kind}"  # start addresses
    assert ended, "no end record"
    return memory
