# SPDX-License-Identifier: Apache-2.0
"""The board's USB over USB/IP as a client sees it: who lists, imports, drops the line or breaks the
protocol. What a real Linux makes of it, test/guest says."""
import re
import signal
import socket
import struct
import subprocess

from e2e import DEADLINE_S, MILLRACE, SOURCE, fails, read_line, temporary_folder

IMAGE = SOURCE / "build/arm/firmware/ports/rt1062/usb_stream_itcm.hex"
DEVLIST = bytes.fromhex("0111800500000000")
IMPORT = bytes.fromhex("0111800300000000") + b"1-1".ljust(32, b"\0")
REPLY_BYTES, DEVICE_BYTES = 48, 312  # of a RET_SUBMIT, of a device in a list
DEVICE_AT = 8 + 256 + 32             # its bus number, device number and speed


class Board:
    """`millrace board run` with a USB/IP server as long as the block lasts."""

    def __init__(self, *words, image=IMAGE.name):
        self.process = subprocess.Popen([MILLRACE, "board", "run", IMAGE.parent / image, "--usb",
                                         "usbip", *words],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def __enter__(self):
        said = read_line(self.process.stderr)
        self.port = int(re.match(r"millrace: USB device: usbip --tcp-port (\d+) attach", said)[1])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=DEADLINE_S)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=DEADLINE_S)
        assert self.process.returncode == 130, (self.process.returncode, out, err)
        return out.decode(), err.decode()


class Client:
    def __init__(self, board):
        self.socket = socket.create_connection(("127.0.0.1", board.port), timeout=DEADLINE_S)
        self.sequence = 0
        self.log = []  # (is it from the server, bytes)

    def say(self, data):
        self.socket.sendall(data)
        self.log.append((False, data))

    def take(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                break
            data += piece
        if data and self.log and self.log[-1][0]:
            self.log[-1] = (True, self.log[-1][1] + data)
        elif data:
            self.log.append((True, data))
        return data

    def imported(self):
        self.say(IMPORT)
        reply = self.take(8 + DEVICE_BYTES)
        assert len(reply) == 8 + DEVICE_BYTES and reply[:8] == bytes.fromhex("0111000300000000"), reply
        bus, number, speed = struct.unpack_from(">III", reply, DEVICE_AT)
        assert speed == 3, f"speed {speed} is not high speed"
        self.device = bus << 16 | number
        return self

    def submit(self, endpoint, length, setup=b"\0" * 8):
        """An IN transfer; its answer is not waited for."""
        self.sequence += 1
        self.say(struct.pack(">10I", 1, self.sequence, self.device, 1, endpoint, 0, length, 0, 0,
                             0) + setup)  # no isochronous packets: 0, as Linux has it

    def answer(self):
        head = struct.unpack(">12I", self.take(REPLY_BYTES))
        assert head[0] == 3 and head[1] == self.sequence and head[5] == 0, head
        return self.take(head[6])


def descriptor(client):
    """GET_DESCRIPTOR(device), 18 bytes."""
    client.submit(0, 18, bytes.fromhex("8006000100001200"))
    return client.answer()


def write_pcap(path, *logs):
    """What was said, as packets of TCP with the port of USB/IP (raw IPv4, link type 228)."""
    packets = []
    for number, log in enumerate(logs):
        at = {False: 1, True: 1}  # sequence numbers
        for is_reply, data in log:
            ports = (3240, 40000 + number) if is_reply else (40000 + number, 3240)
            tcp = struct.pack(">HHIIBBHHH", *ports, at[is_reply], at[not is_reply], 5 << 4, 0x18, 65535,
                              0, 0)
            at[is_reply] += len(data)
            packets.append(struct.pack(">BBHHHBBHII", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0,
                                       0x7f000001, 0x7f000001) + tcp + data)
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 228))
        for number, packet in enumerate(packets):
            file.write(struct.pack("<IIII", number, 0, len(packet), len(packet)) + packet)


def check_dissector(path, *logs):
    """tshark knows the protocol too: it takes every message apart and complains of none."""
    write_pcap(path, *logs)

    def tshark(*words):
        return subprocess.run(["tshark", "-r", path, "-d", "tcp.port==3240,usbip", *words], capture_output=True, text=True,
                              check=True, timeout=DEADLINE_S).stdout.splitlines()

    complaints = tshark("-Y", "_ws.malformed || _ws.expert.severity >= warning")
    assert not complaints, complaints
    packets = len(tshark("-Y", "usbip || usb"))
    assert packets == sum(len(log) for log in logs), (packets, [len(log) for log in logs])
    # The list, the import, and the device descriptor inside a RET_SUBMIT.
    seen = "\n".join(tshark("-V"))
    for text in ("OP_REQ_DEVLIST", "OP_REP_DEVLIST", "OP_REQ_IMPORT", "OP_REP_IMPORT",
                 "OP_CMD_SUBMIT", "OP_RET_SUBMIT", "Busid: 1-1"):
        assert text in seen, text
    # One before each of the sixteen reads and behind them, and one of the last client.
    assert seen.count("DEVICE DESCRIPTOR") == 3, seen.count("DEVICE DESCRIPTOR")


for pace in ("free", "wall"):
    with Board("--pace", pace) as board:
        listing = Client(board)
        listing.say(DEVLIST)
        reply = listing.take(12 + DEVICE_BYTES + 2 * 4)
        assert reply[8:12] == b"\0\0\0\1" and reply[12 + 256:12 + 259] == b"1-1", reply
        assert struct.unpack_from(">HH", reply, 12 + 300) == (0x16c0, 0x0483), reply
        listing.socket.close()

        first = Client(board).imported()
        assert descriptor(first)[:2] == b"\x12\x01"
        turned_away = Client(board)
        assert turned_away.take(1) == b"", "a second client was not turned away"
        turned_away.socket.close()
        # Sixteen reads wait for data, as cdc_acm has them, when the line drops.
        for _ in range(16):
            first.submit(4, 1024)
        descriptor(first)  # behind which they are on the bus
        first.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        first.socket.close()

        # The next one waits until the device is plugged in again.
        second = Client(board).imported()
        assert descriptor(second)[8:12] == bytes.fromhex("c0168304")
        second.socket.sendall(b"\xff" * 48)
        assert second.take(1) == b"", "the connection stayed"
        second.socket.close()

        third = Client(board).imported()
        fails("board", "run", IMAGE, "--usb", f"usbip={board.port}", expect=1,
              says=f"listen on 127.0.0.1:{board.port} for USB/IP: another program has the port")
        assert len(descriptor(third)) == 18
        out, err = board.end()
        assert "USB/IP client sent the unknown command 0xffffffff" in err, err
        # Four descriptors of 18 bytes and sixteen reads.
        assert "USB/IP: 3 imports, 20 transfers; 72 B in, 0 B out" in err, err
        assert re.findall(r"usb: (detached|configured)", out) == \
            ["configured", "detached"] * 2 + ["configured"], out
        assert third.take(1) == b""
        with temporary_folder() as folder:
            check_dissector(f"{folder}/usbip.pcap", listing.log, first.log, third.log)

# Firmware without USB, asleep for ever: there is nothing to import, and the client hears so.
with Board(image="hello_flash.hex") as board:
    client = Client(board)
    client.socket.sendall(IMPORT)
    assert client.take(8) == bytes.fromhex("0111000300000001"), "not refused"
    board.end()

fails("board", "run", IMAGE, "--usb", "serial", expect=2, says="usbip, or usbip=PORT")
fails("board", "run", IMAGE, "--usb", "usbip", "--usb-at", "1s=reset", expect=2,
      says="--usb-at does not go with --usb usbip")
fails("board", "run", IMAGE, "--pace", "fast", expect=2, says="give free or wall")
