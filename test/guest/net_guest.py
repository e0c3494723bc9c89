# SPDX-License-Identifier: Apache-2.0
"""A real Linux kernel drives the virtual board's network interfaces with its own drivers.

net_guest.py MILLRACE GUEST_ATTACH GUEST_USBMON GUEST_ECHO

Two boards, whose firmware has a serial port and CDC-NCM or CDC-ECM, export their devices over USB/IP;
Debian's kernel in QEMU imports one after the other, cdc_ncm and cdc_ether bind, DHCP gives an
address, pings and UDP echoes come back. What the drivers ask of the device is compared with what
the board's own model of them asks. net_init.sh is what the guest does. No time is looked at.
"""
import pathlib
import struct
import subprocess
import sys

from guest_run import Board, check_codes, run_guest
from guest_image import Missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from e2e import MILLRACE, SOURCE, millrace, temporary_folder  # noqa: E402

IMAGES = SOURCE / "build/arm/firmware/ports/rt1062"
SET_INTERFACE, SET_FILTER = 11, 0x43
DRIVERS = {"ncm": "cdc_ncm", "ecm": "cdc_ether"}
# Requests of cdc_acm, which drives the serial port of the same device.
SERIAL = {0x20, 0x22}


def records(path):
    """The 64-byte header of usbmon (Linux Documentation/usb/usbmon.rst) of every event."""
    plain = path.with_suffix(".plain")
    subprocess.run(["editcap", "-F", "pcap", path, plain], check=True, capture_output=True)
    content = plain.read_bytes()
    at = 24  # of the file's header
    while at < len(content):
        size, = struct.unpack_from("<I", content, at + 8)
        yield content[at + 16:at + 16 + 64]
        at += 16 + size


def network_requests(path):
    """(bmRequestType, bRequest, wValue, wIndex, wLength) of what a network driver asks for."""
    requests = []
    for header in records(path):
        if header[8:10] == b"S\x02" and header[14] == 0:  # a submission on a control pipe
            request = struct.unpack_from("<BBHHH", header, 40)
            to_class = request[0] & 0x7F == 0x21  # of an interface; hubs have class requests too
            if to_class and request[1] not in SERIAL or request[:2] == (0x01, SET_INTERFACE):
                requests.append(request)
    return requests


def read_sizes(path):
    """Of the bulk reads that are asked for; the serial port's are of two packets, 1,024 bytes."""
    return {struct.unpack_from("<I", header, 32)[0] for header in records(path)
            if header[8:10] == b"S\x03" and header[10] & 0x80} - {1024}


def check(kind, out, last, folder):
    lines = dict(line.split(" ", 1) for line in out[f"{kind}_interface.txt"].decode().splitlines())
    assert lines["driver"] == DRIVERS[kind] and lines["mtu"] == "1500", lines
    assert "5 packets transmitted, 5 packets received" in out[f"{kind}_ping.txt"].decode()
    assert out[f"{kind}_echo.txt"].decode() == "50 echoes\n"
    assert out[f"{kind}_counts.txt"].decode().split() == ["0", "0"]
    capture = last / f"{kind}_usbmon.pcap"
    ours = folder / f"{kind}.pcapng"
    millrace("board", "run", IMAGES / f"usb_echo_acm_{kind}_itcm.hex", "--usb", "host", "--seconds",
             "1", "--pcap", ours)
    real, model = network_requests(capture), network_requests(ours)
    print(f"{kind}: Linux asks {real}")
    print(f"{kind}: the model asks {model}")
    # Linux sets the filter once more whenever its groups change, the model once for all of them.
    assert model[:-1] == [request for request in real if request[1] != SET_FILTER], "asked otherwise"
    assert model[-1] in real, "another filter"
    assert read_sizes(capture) == read_sizes(ours), (read_sizes(capture), read_sizes(ours))


def main():
    with temporary_folder() as name:
        folder = pathlib.Path(name)
        with Board(IMAGES / "usb_echo_acm_ncm_itcm.hex") as ncm, \
                Board(IMAGES / "usb_echo_acm_ecm_itcm.hex") as ecm:
            out, last = run_guest(folder, "net_init.sh", sys.argv[2:5], "last_net",
                                  NCM_PORT=ncm.port, ECM_PORT=ecm.port)
            ncm.end()
            ecm.end()
        steps = ("attach", "interface", "up", "dhcp", "ping", "echo", "counts", "usbmon", "detach")
        check_codes(out, {name: 0 for name in ["modules", "network"] +
                          [f"{kind}_{step}" for kind in DRIVERS for step in steps]})
        for kind in DRIVERS:
            check(kind, out, last, folder)


try:
    main()
except Missing as missing:
    sys.exit(f"the guest cannot be made: {missing}")
