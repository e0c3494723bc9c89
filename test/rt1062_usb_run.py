# SPDX-License-Identifier: Apache-2.0
"""`board run --usb`: the firmware's serial port for any program, what happens to the cable at given
times, captures, and what is said of bad options."""
import json
import os
import pathlib
import select
import signal
import struct
import subprocess

import serial

import e2e
import jsf32
from e2e import SOURCE, fails, millrace

FOLDER = SOURCE / "build/arm/firmware/ports/rt1062"
IMAGE = FOLDER / "usb_stream_itcm.hex"


class LiveBoard:
    """A board with its serial port at `link`, as long as the block lasts."""

    def __init__(self, link, *words):
        self.link = link
        self.process = subprocess.Popen(
            [e2e.MILLRACE, "board", "run", IMAGE, "--usb", f"pty={link}", "--seconds", "0",
             "--uart", f"6={link.parent}/console", *map(str, words)], stderr=subprocess.PIPE,
            bufsize=0)

    def __enter__(self):
        return self

    def port_appears(self):
        assert e2e.read_line(self.process.stderr).startswith("USB serial port is at /dev/pts/")
        return self.link

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.end = self.process.communicate(timeout=e2e.DEADLINE_S)[1].decode()
        assert self.process.returncode == 130, self.end
        assert not os.path.lexists(self.link), "the link is still there"


def read_frames(port, size, count):
    port.write(struct.pack("<IIB", size, count, 0))
    for number, frame in enumerate(jsf32.frames(42, size, count)):
        assert port.read(size) == frame, f"frame {number} of {size} bytes differs"


def control_requests(capture):
    """bRequest of every control request, in order: of the standard ones, and of the class."""
    done = subprocess.run(
        ["tshark", "-r", capture, "-Y", "usb.transfer_type == 2 && usb.urb_type == 'S'", "-T",
         "fields", "-e", "usb.setup.bRequest", "-e", "usbcom.control.request_code"],
        capture_output=True, text=True, check=True, timeout=e2e.DEADLINE_S)
    return [line.split("\t") for line in done.stdout.splitlines()]


def check_pty(folder):
    with LiveBoard(folder / "teensy", "--pcap", folder / "pty.pcapng") as board:
        path = str(board.port_appears())
        for size, count in ((2048, 32), (13, 20), (512, 1)):  # a new open() each
            with serial.Serial(path, timeout=e2e.DEADLINE_S) as port:
                read_frames(port, size, count)
        # Bytes that nobody read are forgotten with the close.
        with serial.Serial(path, timeout=e2e.DEADLINE_S) as port:
            port.write(struct.pack("<IIB", 512, 1000, 0))
            port.read(512)
        select.select([], [], [], 0.05)  # as people close one program and start another
        with serial.Serial(path, timeout=e2e.DEADLINE_S) as port:
            read_frames(port, 64, 64)
        document = e2e.measure("serial", "bench", path, "--frames", 256, "--direction", "both")[1]
        assert document["runs"][0]["faults"] == [], document["runs"]
        assert document["runs"][0]["device"]["counters"]["out_faults"] == 0
    assert "USB: serial port 16c0:0483" in board.end, board.end
    # DTR and RTS with every open and close.
    lines = [row for row in control_requests(folder / "pty.pcapng") if row[1] == "0x22"]
    assert len(lines) >= 2 * 5, lines


def check_replug(folder):
    """A program that has the port open sees a hangup; the link comes back with the device."""
    with LiveBoard(folder / "teensy", "--usb-at", "1s=unplug,1.5s=plug") as board:
        port = os.open(board.port_appears(), os.O_RDWR | os.O_NOCTTY)
        poll = select.poll()
        poll.register(port, 0)
        events = poll.poll(e2e.DEADLINE_S * 1000)
        assert events and events[0][1] & select.POLLHUP, events
        os.close(port)
        assert e2e.read_line(board.process.stderr) == "USB: the device was disconnected"
        with serial.Serial(str(board.port_appears()), timeout=e2e.DEADLINE_S) as again:
            read_frames(again, 2048, 4)


def check_events(folder):
    """At simulated times, as fast as they go by, and the same every time."""
    events = "1s=suspend,1.5s=resume,2s=reset,2.5s=unplug,3s=plug"
    documents = []
    for _ in range(2):
        outcome = millrace("board", "run", IMAGE, "--usb", "host", "--usb-at", events, "--seconds",
                           "3.5", "--pcap", folder / "events.pcapng", "--json",
                           folder / "events.json")
        documents.append(json.loads((folder / "events.json").read_text()))
    boards = [e2e.validate(document)["board"] for document in documents]
    assert boards[0] == boards[1]
    # Plugged in, reset, plugged in again: each is a bus reset and an enumeration.
    assert boards[0]["usb"]["resets"] == 3 and boards[0]["usb"]["serial_port"], boards[0]["usb"]
    assert outcome.out.count("usb: configured, 480 Mbit/s") == 3, outcome
    assert outcome.out.count("usb: detached") == 1, outcome
    numbers = [row[0] for row in control_requests(folder / "events.pcapng")]
    assert numbers.count("5") == numbers.count("9") == 3, numbers
    outcome = millrace("board", "run", IMAGE, "--usb", "host", "--usb-at", "1s=unplug")
    outcome.says("USB: the device was disconnected")
    assert "no effect" not in outcome.err, outcome
    # A suspended port can be reset (USB 2.0 7.1.7.5), and what cannot be is said.
    outcome = millrace("board", "run", IMAGE, "--usb", "host", "--usb-at",
                       "0s=suspend,1s=resume,1s=plug,1.5s=suspend,2s=reset", "--seconds", "2.5")
    outcome.says("suspend at 0 ns had no effect", "resume at 1.00 s", "plug at 1.00 s",
                 "2 resets", "USB: serial port 16c0:0483")
    assert outcome.err.count("no effect") == 3, outcome


def check_packets(folder):
    """Both captures of one run: a suspended bus has no SOF, and one that is reset has address 0."""
    urbs, packets = folder / "urbs.pcapng", folder / "packets.pcapng"
    millrace("board", "run", IMAGE, "--usb", "host", "--usb-at", "1s=suspend,1.5s=resume,2s=reset",
             "--seconds", "2.5", "--pcap", urbs, "--pcap-packets", packets, "--pcap-sof")
    done = subprocess.run(
        ["tshark", "-r", packets, "-Y", "usbll.pid == 0xa5", "-T", "fields", "-e",
         "frame.time_relative"], capture_output=True, text=True, check=True,
        timeout=e2e.DEADLINE_S)
    times = [float(line) for line in done.stdout.splitlines()]
    gaps = [b - a for a, b in zip(times, times[1:]) if b - a > 0.001]
    # Suspended for 0.5 s and 20 ms of resume (USB 2.0 7.1.7.7), reset for 50 ms, and the frame in
    # which each began; a frame's start is known to 1 us.
    assert len(gaps) == 2 and 0.52 <= gaps[0] < 0.5202 and 0.049999 <= gaps[1] < 0.0502, gaps
    done = subprocess.run(
        ["tshark", "-r", packets, "-Y", "usbll.pid == 0x2d", "-T", "fields", "-e",
         "usbll.device_addr"], capture_output=True, text=True, check=True,
        timeout=e2e.DEADLINE_S)
    setups = len(control_requests(urbs))
    assert setups > 20 and len(done.stdout.splitlines()) == setups, (setups, done.stdout)


def check_bad_options(folder):
    def bad(*words, expect=2, says):
        fails("board", "run", IMAGE, *words, expect=expect, says=says)

    bad("--usb", "cable", says="none, host, pty")
    bad("--usb", "pty=", says="pty=LINK")
    (folder / "file").write_text("precious")
    bad("--usb", f"pty={folder}/file", says="is no symbolic link (choose another name)")
    assert (folder / "file").read_text() == "precious"
    bad("--usb", "pty=/nowhere/x", says="/nowhere/x")
    bad("--usb", "host", "--host", "nonsense", says="windows-serial")
    (folder / "profile").write_text("in_urbs = 0\n")
    bad("--usb", "host", "--host", folder / "profile", says="1..256")
    bad("--usb", "host", "--pcap", "/nowhere/x", expect=1, says="/nowhere/x")
    bad("--pcap", folder / "x", says="add --usb host")
    bad("--pcap-packets", folder / "x", says="add --usb host")
    bad("--usb", "host", "--pcap-sof", says="--pcap-packets FILE")
    bad("--usb", "host", "--pcap", folder / "x", "--pcap-packets", folder / "x",
        says="--pcap and --pcap-packets need a file each")
    for events in ("", "1s", "1s=", "=plug", "1s=explode", "-1=plug", "1e3=plug", "1.=plug",
                   "1s=plug,", "1000001=plug", "0.0000000001=plug"):
        bad("--usb", "host", "--usb-at", events, says="1.5s=unplug,2s=plug")
    bad("--usb", "host", "--usb-at", "2=unplug,1s=plug", says="earlier")
    # A firmware without USB: nothing that another program could have used.
    millrace("board", "run", FOLDER / "hello_itcm.hex", "--usb", "pty", "--seconds", 1,
             expect=1).says("millrace: --usb pty: there was no serial port: the firmware has no "
                            "USB device, or did not get so far")
    # A disk that is full.
    millrace("board", "run", IMAGE, "--usb", "host", "--pcap", "/dev/full", "--seconds", 1,
             expect=1).says("--pcap", "No space left")


with e2e.temporary_folder() as name:
    check_pty(pathlib.Path(name))
    check_replug(pathlib.Path(name))
    check_events(pathlib.Path(name))
    check_packets(pathlib.Path(name))
    check_bad_options(pathlib.Path(name))
