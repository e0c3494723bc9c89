# SPDX-License-Identifier: Apache-2.0
"""The frame stream of spec/classic_stream.md, written from that page alone."""
MASK = 0xFFFFFFFF


def _rotate(x, k):
    return ((x << k) | (x >> (32 - k))) & MASK


def words(seed):
    """Endless outputs of the two-rotate JSF32."""
    a, b, c, d = 0xF1EA5EED, seed, seed, seed
    skipped = 0
    while True:
        e = (a - _rotate(b, 27)) & MASK
        a = b ^ _rotate(c, 17)
        b = (c + d) & MASK
        c = (d + e) & MASK
        d = (e + a) & MASK
        skipped += 1
        if skipped > 20:
            yield d


def frames(seed, size, count):
    """`count` frames of `size` bytes; the last word of each is cut to size."""
    source = words(seed)
    for _ in range(count):
        frame = bytearray()
        while len(frame) < size:
            frame += next(source).to_bytes(4, "little")
        yield bytes(frame[:size])
