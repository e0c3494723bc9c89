# SPDX-License-Identifier: Apache-2.0
"""tshark reads captures of the virtual USB bus: both link types, both speeds, without complaint.

usage: usb_capture.py PATH_TO_usb_capture_driver
"""
import os
import pathlib
import subprocess
import sys
import tempfile

DRIVER = sys.argv[1]
COMPLAINTS = "_ws.malformed || _ws.expert.severity >= warning"


def tshark(file, *arguments):
    run = subprocess.run(["tshark", "-r", file, *arguments], capture_output=True, text=True,
                         timeout=200, env=dict(os.environ, LC_ALL="C.UTF-8"))
    # Debian's tshark warns on stderr when it runs as root; what it says of the file goes there too.
    errors = [line for line in run.stderr.splitlines() if line and "unning as user" not in line]
    assert run.returncode == 0 and not errors, (arguments, run)
    return run.stdout.splitlines()


def fields(file, filter_, *names):
    options = [option for name in names for option in ("-e", name)]
    return [line.split("\t") for line in tshark(file, "-Y", filter_, "-T", "fields", *options)]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for speed in ("high", "full"):
        # URBs: what Linux's usbmon would have recorded.
        file = folder / f"{speed}_urbs.pcapng"
        subprocess.run([DRIVER, file, speed, "urbs"], check=True, timeout=60)
        complaints = tshark(file, "-Y", COMPLAINTS)
        assert not complaints, complaints
        assert ["0x16c0", "0x0483"] in fields(file, "usb.idVendor", "usb.idVendor", "usb.idProduct")
        strings = [line[0] for line in fields(file, "usb.bString", "usb.bString")]
        assert strings == ["Millrace", "Fake device", "12345"], strings
        packet = {"high": "512", "full": "64"}[speed]
        sizes = fields(file, "usb.wMaxPacketSize", "usb.wMaxPacketSize")[-1][0].split(",")
        assert sizes == ["16", packet, packet], sizes
        received = fields(file, "usb.endpoint_address == 0x84 && usb.urb_type == 'C' && "
                          "usb.urb_status == 0 && usb.data_len > 0", "usb.data_len")
        assert sum(int(line[0]) for line in received) == 700, received
        stalled = fields(file, "usb.urb_status == -32", "usb.endpoint_address")
        assert stalled == [["0x03"]], stalled
        unlinked = fields(file, "usb.urb_status == -104", "usb.endpoint_address")
        assert len(unlinked) == 17, unlinked  # 16 for data, 1 for notifications
        submitted = fields(file, "usb.urb_type == 'S'", "usb.urb_id")
        completed = fields(file, "usb.urb_type == 'C'", "usb.urb_id")
        assert sorted(submitted) == sorted(completed)

        # Packets: what an analyser would have recorded; tshark checks every CRC.
        for kind in ("packets", "frames"):
            file = folder / f"{speed}_{kind}.pcapng"
            subprocess.run([DRIVER, file, speed, kind], check=True, timeout=60)
            complaints = tshark(file, "-Y", COMPLAINTS)
            assert not complaints, complaints[:5]
            bad = tshark(file, "-Y", "usbll.crc5.status == 0 || usbll.crc16.status == 0")
            assert not bad, bad[:5]
            frames = tshark(file, "-Y", "usbll.pid == 0xa5")
            assert bool(frames) == (kind == "frames"), len(frames)
        setups = tshark(file, "-Y", "usbll.pid == 0x2d")
        # 11 of the enumeration, line coding, line state twice, a halt cleared.
        assert len(setups) == 15, len(setups)
        data = fields(file, "usbll.pid == 0x4b && usbll.data", "usbll.data")
        assert data, "no DATA1 packet with data"
