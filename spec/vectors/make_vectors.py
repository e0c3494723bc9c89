#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of this folder from the text of ../classic_stream.md, ../stream.md,
../echo_counters.md, ../udp_payload.md and ../sampler_control.md alone.

Independent of the C++ code: it shares nothing with link/.  usage: make_vectors.py [--check]
--check writes nothing and exits 1 if a file differs from what would be written; it takes the two
outputs far in the stream for granted, which alone need a minute.
"""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = 0xFFFFFFFF
FAR = 1000000


def rot(x, k):
    return ((x << k) | (x >> (32 - k))) & MASK


def jsf32(seed):
    """Yields the outputs of JSF32 (two rotates), the first 20 discarded."""
    a, b, c, d = 0xF1EA5EED, seed, seed, seed
    n = 0
    while True:
        e = (a - rot(b, 27)) & MASK
        a = b ^ rot(c, 17)
        b = (c + d) & MASK
        c = (d + e) & MASK
        d = (e + a) & MASK
        if n >= 20:
            yield d
        n += 1


def frames(seed, size, count):
    """The bytes of `count` frames of `size` bytes; the last word of a frame is cut."""
    words = jsf32(seed)
    out = []
    for _ in range(count):
        data = b"".join(struct.pack("<I", next(words)) for _ in range((size + 3) // 4))
        out.append(data[:size])
    return out


def crc32c(data):
    crc = MASK
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ MASK


def message(kind, payload):
    head = bytes([0xF1, 0x4D, 0x52, 0x5A, 1, kind]) + struct.pack("<H", len(payload)) + payload
    return head + struct.pack("<I", crc32c(head))


def make_jsf32(far):
    lines = ["# seed index value: output number `index` (from 0) of JSF32, decimal"]
    for seed, indexes in (
        (42, list(range(12)) + [4096, 4480, 60945408, 60945792]),
        (0, [0, 1, 2, 3, 1000]),
        (1, [0, 1, 2, 3, 1000]),
        (0xFFFFFFD5, [0, 1, 2, 3, 1000]),  # ~42: the OUT stream of seed 42
        (0xFFFFFFFF, [0, 1, 1000]),
    ):
        wanted = set(i for i in indexes if far or i < FAR)
        last = max(wanted)
        for index, value in enumerate(jsf32(seed)):
            if index in wanted:
                lines.append(f"{seed} {index} {value}")
            if index == last:
                break
    return lines


def make_classic(_):
    lines = ["# handshake SIZE COUNT ACK HEX: the nine bytes, and their fields"]
    for size, count, ack in (
        (2048, 131072, 0),
        (128, 1048576, 1),
        (4096, 1, 0),
        (1, 1, 255),
        (1021, 0, 0),
        (0xFFFFFFFF, 0xFFFFFFFE, 6),
    ):
        data = struct.pack("<IIB", size, count, ack)
        lines.append(f"handshake {size} {count} {ack} {data.hex()}")
    probe = b"".join(
        bytes([ord(a)]) + bytes(7) + bytes([ord(b)]) for a, b in ("MI", "LL", "RA", "CE")
    )
    lines.append("# probe HEX: the 36 bytes of spec/stream.md")
    lines.append(f"probe {probe.hex()}")
    lines.append("# frames SEED SIZE HEX...: the first frames of that size, the first 64 bytes of each")
    for seed, size, count in (
        (42, 1, 12),
        (42, 2, 8),
        (42, 3, 8),
        (42, 4, 6),
        (42, 5, 6),
        (42, 13, 5),
        (42, 64, 3),
        (42, 127, 4),
        (42, 1021, 4),
        (42, 2048, 4),
        (0xFFFFFFD5, 13, 4),
    ):
        shown = " ".join(frame[:64].hex() for frame in frames(seed, size, count))
        lines.append(f"frames {seed} {size} {shown}")
    return lines


HELLO = (
    "version:B capabilities:B max_window_frames:H session_id:I boot_counter:I usb_speed_mbit:I "
    "tx_buffer_bytes:I rx_buffer_bytes:I firmware_name:24 firmware_version:16 board:24 "
    "max_frame_bytes:I"
)
RUN = (
    "session_id:I run_id:I direction:B flags:B window_frames:H frame_size:I frame_count:I seed:I "
    "counters_interval_ms:I discard_after_ms:I"
)
STARTED = "session_id:I run_id:I status:B reason:31"
COUNTERS = (
    "session_id:I run_id:I boot_counter:I state:I in_offered_bytes:Q in_accepted_bytes:Q "
    "in_discarded_bytes:Q short_writes:I discards:I longest_blocked_us:I frames_sent:I "
    "total_blocked_us:Q run_us:Q acks_received:I out_frames:I out_received_bytes:Q "
    "out_verified_bytes:Q out_lost_bytes:Q out_duplicated_bytes:Q out_inserted_bytes:Q "
    "out_altered_bytes:Q out_faults:I out_first_fault_kind:I out_first_fault_offset:Q "
    "foreign_bytes:I first_foreign:x16 dropped_handshakes:I"
)
KINDS = {
    "HELLO": (1, HELLO),
    "RUN": (2, RUN),
    "STARTED": (3, STARTED),
    "REPORT": (4, COUNTERS),
    "COUNTERS": (5, COUNTERS),
    "GET_COUNTERS": (6, ""),
    "STOP": (7, ""),
    "END": (8, ""),
}


def encode(layout, values):
    out = b""
    for field in layout.split():
        name, kind = field.split(":")
        value = values[name]
        if kind.startswith("x"):
            out += bytes.fromhex(value)
        elif kind.isdigit():
            out += value.encode().ljust(int(kind), b"\0")
        else:
            out += struct.pack("<" + kind, value)
    return out


def counters(base):
    """Every field another value, so that two that are swapped are noticed."""
    values = {}
    for i, field in enumerate(COUNTERS.split()):
        name, kind = field.split(":")
        values[name] = base + i if kind == "I" else (base << 32) + (i << 24) + i
    values["first_foreign"] = "41540d0a" + "00" * 12
    return values


def make_stream(_):
    lines = ["# NAME HEX field=value...: one message a line; text fields in double quotes"]
    zero = {f.split(":")[0]: 0 for f in COUNTERS.split()}
    zero["first_foreign"] = "00" * 16
    cases = [
        (
            "HELLO",
            dict(
                version=1, capabilities=15, max_window_frames=64, session_id=0x12345678,
                boot_counter=3, usb_speed_mbit=480, tx_buffer_bytes=8192, rx_buffer_bytes=4096,
                firmware_name="millrace-stream", firmware_version="0.1.0", board="Teensy 4.1",
                max_frame_bytes=65536,
            ),
        ),
        (
            "HELLO",
            dict(
                version=1, capabilities=0, max_window_frames=0, session_id=0xFFFFFFFF,
                boot_counter=0, usb_speed_mbit=0, tx_buffer_bytes=1, rx_buffer_bytes=2,
                firmware_name="a" * 24, firmware_version="b" * 16, board="c" * 24,
                max_frame_bytes=0xFFFFFFFF,
            ),
        ),
        (
            "RUN",
            dict(
                session_id=0x12345678, run_id=7, direction=1, flags=0, window_frames=0,
                frame_size=2048, frame_count=131072, seed=42, counters_interval_ms=0,
                discard_after_ms=0,
            ),
        ),
        (
            "RUN",
            dict(
                session_id=1, run_id=0xFFFFFFFF, direction=3, flags=1, window_frames=0xFFFF,
                frame_size=1021, frame_count=1, seed=0xFFFFFFD5, counters_interval_ms=250,
                discard_after_ms=120,
            ),
        ),
        ("STARTED", dict(session_id=0x12345678, run_id=7, status=0, reason="")),
        (
            "STARTED",
            dict(session_id=9, run_id=10, status=6, reason="discard needs direction 1 or 3."),
        ),
        ("REPORT", counters(0x01020300)),
        ("REPORT", zero),
        ("COUNTERS", counters(0xA0B0C000)),
        ("GET_COUNTERS", {}),
        ("STOP", {}),
        ("END", {}),
    ]
    for name, values in cases:
        kind, layout = KINDS[name]
        data = message(kind, encode(layout, values))
        fields = []
        for field in layout.split():
            key, form = field.split(":")
            value = values[key]
            fields.append(f'{key}="{value}"' if form.isdigit() else f"{key}={value}")
        lines.append(" ".join([name, data.hex()] + fields))
    return lines


# ../echo_counters.md, in the order of its table.
ECHO_COUNTERS = (
    "frames_received frames_sent arp_requests icmp_requests icmp_replies echo_requests echo_replies "
    "counter_requests dhcp_requests dhcp_replies mdns_queries mdns_replies unreachable_sent "
    "dropped_short dropped_other_station dropped_ethertype dropped_ip_header dropped_ip_checksum "
    "dropped_fragment dropped_other_address dropped_protocol dropped_udp_length "
    "dropped_udp_checksum dropped_icmp dropped_source dropped_closed_port dropped_no_room "
    "rx_transfers rx_bad_transfers rx_failed_transfers rx_missing_transfers rx_frames_max "
    "rx_buffers rx_buffers_low tx_transfers tx_failed_transfers tx_frames_max tx_buffers "
    "tx_buffers_low tx_waits link_ups load_runs load_result").split()


def make_echo_counters(_):
    def header(kind, count, tag):
        return bytes([0xF2, 0x4D, 0x52, 0x45, 1, kind]) + struct.pack("<HI", count, tag)

    def reply(tag, values, count=len(ECHO_COUNTERS)):
        words = [values.get(name, 0) for name in ECHO_COUNTERS] + [9] * (count - len(ECHO_COUNTERS))
        data = header(2, count, tag) + struct.pack(f"<{count}I", *words[:count])
        shown = [f"{k}={v}" for k, v in values.items() if ECHO_COUNTERS.index(k) < count]
        return " ".join(["reply", str(tag), str(min(count, len(ECHO_COUNTERS))), data.hex()] + shown)

    lines = ["# request HEX TAG", "# reply TAG KNOWN HEX NAME=VALUE...: what is not named is 0"]
    for tag in (0, 1, 0xCAFE0001, MASK):
        lines.append(f"request {header(1, 0, tag).hex()} {tag}")
    each = {name: 0x01000000 + 3 * i for i, name in enumerate(ECHO_COUNTERS)}
    lines.append(reply(0xCAFE0001, dict(frames_received=5, frames_sent=4)))
    lines.append(reply(7, each))
    lines.append(reply(8, dict(load_result=MASK)))
    lines.append(reply(9, dict(frames_received=1, dropped_short=2), 13))  # an older device
    lines.append(reply(10, dict(load_runs=3), len(ECHO_COUNTERS) + 2))  # a newer one
    lines.append(reply(11, {}, 0))
    return lines


def make_udp_payload(_):
    lines = ["# SESSION SEQUENCE STEP STAMP HEX"]
    for session, sequence, step, stamp, size in (
        (1, 2, 3, 4, 32), (0, 0, 0, 0, 33), (MASK, MASK, 0xFFFF, (1 << 64) - 1, 34),
        (0x12345678, 9, 1, 10**18, 35), (0xCAFE0001, 30000, 60, 1790000000123456789, 100),
    ):
        head = bytes([0xF2, 0x4D, 0x52, 0x55]) + struct.pack(
            "<IIHHQ", session, sequence, step, size, stamp)
        check = crc32c(head)
        data = head + struct.pack("<I", check) + frames(check, size - 28, 1)[0]
        lines.append(f"{session} {sequence} {step} {stamp} {data.hex()}")
    return lines


def make_sampler_control(_):
    """Requests and replies of ../sampler_control.md."""
    def head(kind, command, result, tag):
        return bytes([0xF3, 0x4D, 0x52, 0x53, 1, kind, command, result]) + struct.pack("<I", tag)

    lines = ["# request HEX RESULT COMMAND TAG MODE JITTER INTERVAL SEED FIRST WORDS",
             "# status HEX COMMAND TAG STATE MODE JITTER CAPACITY STORED CORE INTERVAL LEAST MOST LOST"
             " OVERRUNS RUN HANDLER EVENTS NUMBER IDENTITY",
             "# words HEX TAG FIRST NUMBER WORD,...", "# refusal HEX COMMAND TAG RESULT"]
    for command, tag in ((0, 0xCAFE0001), (2, 0), (2, 0xFFFFFFFF)):
        data = head(1, command, 0, tag)
        lines.append(f"request {data.hex()} 0 {command} {tag} 0 250 0 0 0 0")
    for mode, jitter, interval, seed, result in (
            (0, 250, 100_000, 0, 0), (3, 500, 2_000, 7, 0), (0, 0, 1_000_000_000, 0xFFFFFFFF, 0),
            (1, 250, 100_000, 0, 3), (0, 501, 100_000, 0, 5)):
        data = head(1, 1, 0, 9) + struct.pack("<BBHII", mode, 0, jitter, interval, seed)
        lines.append(f"request {data.hex()} {result} 1 9 {mode} {jitter} {interval} {seed} 0 0")
    for first, words in ((256, 100), (0, 65535), (0xFFFFFFFF, 0)):
        data = head(1, 3, 0, 0xCAFE0002) + struct.pack("<IHH", first, words, 0)
        lines.append(f"request {data.hex()} 0 3 {0xCAFE0002} 0 250 0 0 {first} {words}")
    lines.append(f"request {head(1, 1, 0, 5).hex()} 2 1 5 0 250 0 0 0 0")
    lines.append(f"request {head(1, 4, 0, 6).hex()} 1 4 6 0 250 0 0 0 0")
    for command, values, identity in (
            (0, (0, 0, 0, 16384, 0, 600_000, 0, 2_000, 1_000_000_000, 0, 0, 0, 0, 0, 0), b""),
            (1, (1, 3, 250, 16384, 16383, 600_000, 60_000, 2_000, 1_000_000_000, 1 << 33, 1, 2 << 32,
                 3, 4, 5), bytes(range(1, 21))),
            (2, (2, 0, 500, 0xFFFFFFFF, 0xFFFFFFFF, 1, 2, 3, 4, 5, 6, 7, (1 << 64) - 1, 8, 9),
             bytes(range(32)))):
        data = head(2, command, 0, 77) + struct.pack("<BBHIIIIIIQQQQQI", *values)
        data += struct.pack("<I", len(identity)) + identity.ljust(32, b"\0")
        numbers = " ".join(str(value) for value in values)
        lines.append(f"status {data.hex()} {command} 77 {numbers} {identity.hex() or '-'}")
    for first, number, words in ((0, 1, []), (256, 65535, [0x60001234, 0, 0xFFFFFFFF]),
                                 (7, 2, list(range(256)))):
        data = head(2, 3, 0, 78) + struct.pack("<IHH", first, len(words), number)
        data += b"".join(struct.pack("<I", word) for word in words)
        lines.append(f"words {data.hex()} 78 {first} {number} "
                     + (",".join(str(word) for word in words) or "-"))
    for command, result in ((1, 4), (9, 1)):
        lines.append(f"refusal {head(2, command, result, 79).hex()} {command} 79 {result}")
    return lines


def is_far(line):
    words = line.split()
    return len(words) == 3 and words[1].isdigit() and int(words[1]) >= FAR


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: make_vectors.py [--check]")
    wrong = []
    for name, make in (
        ("jsf32.txt", make_jsf32),
        ("classic_stream.txt", make_classic),
        ("stream.txt", make_stream),
        ("echo_counters.txt", make_echo_counters),
        ("udp_payload.txt", make_udp_payload),
        ("sampler_control.txt", make_sampler_control),
    ):
        path = os.path.join(HERE, name)
        lines = make(not check)
        if check:
            with open(path, encoding="utf-8") as file:
                if [line for line in file.read().split("\n") if not is_far(line)] != lines + [""]:
                    wrong.append(name)
        else:
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write("\n".join(lines) + "\n")
    if wrong:
        sys.exit("differs from what make_vectors.py makes: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
