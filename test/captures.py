# SPDX-License-Identifier: Apache-2.0
"""Writes captures of USB traffic with known answers, in every form that `millrace turnaround` reads.

A scene is a list of (kind, endpoint, submit_us, end_us, data, asked): transfers of device 5 on
bus 1. The writers turn it into a file; nothing here is shared with the program that is tested.
"""
import struct
import subprocess

BUS, DEVICE = 1, 5
START_US = 1_700_000_000_000_000


def ping(reply, number, size=56):
    icmp = struct.pack(">BBHHH", 0 if reply else 8, 0, 0, 77, number) + bytes(size)
    return _ip(reply, 1, icmp)


def udp(reply, port, payload):
    ports = (7, port) if reply else (port, 7)
    return _ip(reply, 17, struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload)


def _ip(reply, protocol, payload):
    host, device = bytes((192, 168, 7, 2)), bytes((192, 168, 7, 1))
    addresses = device + host if reply else host + device
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0)
    return bytes(5) + b"\1" + bytes(5) + b"\2" + b"\x08\0" + header + addresses + payload


def ntb(sequence, frames):
    """NTB16: header, datagrams at offsets with offset % 4 == 2, one table at the end."""
    body, places = bytearray(12), []
    for frame in frames:
        while len(body) % 4 != 2:
            body.append(0)
        places.append((len(body), len(frame)))
        body += frame
    while len(body) % 4:
        body.append(0)
    table = len(body)
    body += struct.pack("<IHH", 0x304D434E, 8 + 4 * (len(places) + 1), 0)
    for place in (*places, (0, 0)):
        body += struct.pack("<HH", *place)
    body[:12] = struct.pack("<IHHHH", 0x484D434E, 12, sequence, len(body), table)
    return bytes(body)


def events(scene):
    """(time_us, type, id, endpoint, length, data) of each URB, in order of time."""
    out = []
    for number, (endpoint, submit, end, data, asked) in enumerate(scene):
        is_in = endpoint & 0x80
        out.append((submit, "S", 0x1000 + number, endpoint, asked or len(data),
                    b"" if is_in else data))
        out.append((end, "C", 0x1000 + number, endpoint, len(data), data if is_in else b""))
    return sorted(out, key=lambda event: event[0])


def usbmon(event, long_header, order="<"):
    time, kind, number, endpoint, length, data = event
    has_data = (kind == "S") != bool(endpoint & 0x80)
    flag = 0 if has_data else ord("<" if endpoint & 0x80 else ">")
    time += START_US
    header = struct.pack(order + "QBBBBHBBQIiII8x", number, ord(kind), 3, endpoint, DEVICE, BUS,
                         ord("-"), flag, time // 10**6, time % 10**6, -115 if kind == "S" else 0,
                         length, len(data))
    return header + (bytes(16) if long_header else b"") + data


def usbpcap(event):
    _, kind, number, endpoint, _, data = event
    return struct.pack("<HQIHBHHBBI", 27, number, 0, 9, int(kind == "C"), BUS, DEVICE, endpoint, 3,
                       len(data)) + data


def usbmon_text(scene):
    lines = []
    for time, kind, number, endpoint, length, data in events(scene):
        words = [f"ffff{number:x}", str(time), kind,
                 f"B{'i' if endpoint & 0x80 else 'o'}:{BUS}:{DEVICE:03}:{endpoint & 15}",
                 "-115" if kind == "S" else "0", str(length)]
        if data:
            text = data[:32].hex()
            words += ["=", *(text[i:i + 8] for i in range(0, len(text), 8))]
        else:
            words.append("<" if endpoint & 0x80 else ">")
        lines.append(" ".join(words))
    return ("\n".join(lines) + "\n").encode()


def records(scene, link_type, order="<"):
    """(time_us, bytes) of each record."""
    if link_type in (189, 220):
        return [(e[0], usbmon(e, link_type == 220, order)) for e in events(scene)]
    if link_type == 249:
        return [(e[0], usbpcap(e)) for e in events(scene)]
    return packets(scene)


def pcap(scene, link_type, order="<", nano=False):
    return _pcap(records(scene, link_type, order), link_type, order, nano)


def from_packets(list_of_packets):
    """(time_us, bytes) of each packet of a bus analyser."""
    return _pcap(list_of_packets, 288)


def _pcap(list_of_records, link_type, order="<", nano=False):
    out = struct.pack(order + "IHHIIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 262144,
                      link_type)
    for time, data in list_of_records:
        time = round(time * 1000) + START_US * 1000
        out += struct.pack(order + "IIII", time // 10**9, time % 10**9 // (1 if nano else 1000),
                           len(data), len(data)) + data
    return out


def pcapng(scene, link_type, order="<"):
    """Time in nanoseconds."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(
            order + "I", len(body) + 12)
    out = block(0x0A0D0D0A, struct.pack(order + "IHHQ", 0x1A2B3C4D, 1, 0, 2**64 - 1))
    out += block(1, struct.pack(order + "HHIHHB3xI", link_type, 0, 0, 9, 1, 9, 0))
    for time, data in records(scene, link_type, order):
        time = round(time * 1000) + START_US * 1000
        out += block(6, struct.pack(order + "IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(data),
                                    len(data)) + data)
    return out


# --- the bus: token, data and handshake of each packet of a transfer -------------------------

def _crc(data, bits, polynomial, width):
    """USB 2.0, 8.3.5, bit by bit as on the wire; the result mirrored, as it stands in bytes."""
    state = mask = (1 << width) - 1
    for i in range(bits):
        bit = data[i // 8] >> i % 8 & 1
        state = (state << 1) & mask ^ (polynomial if (state >> (width - 1)) ^ bit else 0)
    return int(f"{state ^ mask:0{width}b}"[::-1], 2)


def token(pid, address, endpoint):
    field = address | endpoint << 7
    return struct.pack("<BH", pid, field | _crc(struct.pack("<H", field), 11, 0x05, 5) << 11)


def data_packet(pid, data):
    return bytes((pid,)) + data + struct.pack("<H", _crc(data, len(data) * 8, 0x8005, 16))


def packets(scene):
    """A transfer's last handshake is at its end; everything before it lies 1 us apart."""
    out, toggles = [], {}
    for endpoint, _, end, data, _ in sorted(scene, key=lambda transfer: transfer[2]):
        pieces = [data[i:i + 512] for i in range(0, len(data), 512)]
        if not pieces or len(pieces[-1]) == 512:
            pieces.append(b"")
        time = end - 3 * len(pieces) * 0.25 + 0.25
        for piece in pieces:
            toggle = toggles.get(endpoint, False)
            toggles[endpoint] = not toggle
            out.append((time, token(0x69 if endpoint & 0x80 else 0xE1, DEVICE, endpoint & 15)))
            out.append((time + 0.25, data_packet(0x4B if toggle else 0xC3, piece)))
            out.append((time + 0.5, b"\xd2"))
            time += 0.75
    return out


# --- a second opinion -------------------------------------------------------------------------

def pairs_by_tshark(path):
    """(end of the last OUT, end of the first IN with data after it), in ns."""
    done = subprocess.run(
        ["tshark", "-r", path, "-Y", "usb.transfer_type == 3 && usb.urb_type == 'C' && "
         "usb.urb_status == 0 && usb.urb_len > 0", "-T", "fields", "-e", "frame.time_epoch",
         "-e", "usb.endpoint_address"], capture_output=True, text=True, check=True,
        timeout=100)
    found, out_end = [], None
    for line in done.stdout.splitlines():
        time, endpoint = line.split("\t")
        seconds, _, part = time.partition(".")
        ns = int(seconds) * 10**9 + int(part.ljust(9, "0"))
        if int(endpoint, 0) & 0x80 == 0:
            out_end = ns
        elif out_end is not None:
            found.append((out_end, ns))
            out_end = None
    return found
