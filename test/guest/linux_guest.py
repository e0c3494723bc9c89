# SPDX-License-Identifier: Apache-2.0
"""A real Linux kernel drives the virtual board's USB with its own drivers.

linux_guest.py MILLRACE GUEST_ATTACH GUEST_USBMON [IMAGE]

The board runs here and exports its device over USB/IP; Debian's kernel in QEMU imports it with
vhci_hcd, cdc_acm binds, and the program measures /dev/ttyACM0 in there, before and after a replug.
init.sh is what the guest does, this is what must come of it. No time is looked at.
"""
import csv
import json
import pathlib
import re
import struct
import subprocess
import sys

from guest_run import Board, check_codes, run_guest
from guest_image import Missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from captures import pairs_by_tshark  # noqa: E402
from e2e import MILLRACE, SOURCE, temporary_folder, validate  # noqa: E402

IMAGE = SOURCE / "build/arm/firmware/ports/rt1062/usb_stream_itcm.hex"


def check_steps(out):
    # The doctor finds that this is no real cable; what else, check_doctor() looks at.
    expected = {"modules": 0, "network": 0, "attach": 0, "device": 0, "doctor": 1, "bench_in": 0,
                "bench_ack": 0, "usbmon": 0, "dialogue": 130, "stream": 130, "bench_out": 0,
                "detach": 0, "reattach": 0, "bench_again": 0}
    check_codes(out, expected)


def check_device(text):
    lines = text.splitlines()
    for line in ("idVendor 16c0", "idProduct 0483", "speed 480", "bConfigurationValue 1"):
        assert line in lines, f"no {line!r}:\n{text}"
    assert lines.count("driver cdc_acm") == 2, f"two interfaces for cdc_acm:\n{text}"


def check_doctor(text):
    problems = re.findall(r"^ +PROBLEM (\w+)", text, re.M)
    assert problems == ["usbip"], f"{problems}:\n{text}"
    for part in ("ok      exists", "16c0:0483", "ok      speed: 480", "ok      driver: cdc_acm"):
        assert part in text, f"no {part!r}:\n{text}"


def check_bench(content, direction, frames):
    """Every frame came, every byte was compared, none was wrong. Returns the run."""
    document = validate(json.loads(content))
    run, = document["runs"]
    size = frames * run["settings"]["frame_size"]
    assert run["end"] == "complete" and not run["failed"] and run["frames"] == frames, run
    assert not run["faults"] and run["port"]["driver"] == "cdc_acm", run
    counters = run["device"]["counters"]
    if direction == "in":
        verified = run["totals"]["verified_bytes"]
        assert (counters["in_accepted_bytes"], counters["in_discarded_bytes"]) == (size, 0), counters
    else:
        verified = counters["out_verified_bytes"]
        assert counters["out_faults"] == 0, counters
    assert verified == size, f"{direction}: {verified} of {size} bytes verified"
    return run


def check_capture(path, run):
    """The kernel's own account of the bus, read by tshark."""
    fields = ["urb_type", "transfer_type", "endpoint_address", "urb_len", "urb_status", "idVendor",
              "setup.bRequest", "bConfigurationValue"]
    words = ["tshark", "-r", path, "-T", "fields", "-E", "separator=,"]
    for field in fields:
        words += ["-e", f"usb.{field}"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    rows = [dict(zip(fields, line.split(","))) for line in text.splitlines()]
    assert any(row["idVendor"] == "0x16c0" for row in rows), "no device descriptor"
    assert any((row["setup.bRequest"], row["bConfigurationValue"]) == ("9", "1") for row in rows), \
        "no SET_CONFIGURATION"
    done = [row for row in rows if row["urb_type"] == "'C'" and row["transfer_type"] == "0x03"]
    # Bulk transfers end well, or because the port was closed (-ENOENT).
    statuses = {row["urb_status"] for row in done}
    assert statuses <= {"0", "-2"}, f"bulk transfers ended with {statuses}"
    moved = sum(int(row["urb_len"]) for row in done
                if row["endpoint_address"] == "0x84" and row["urb_status"] == "0")
    assert moved >= run["totals"]["verified_bytes"], f"{moved} bytes on the bus: {run['totals']}"
    assert max(int(row["urb_len"]) for row in done) == 1024, "cdc_acm reads two packets at once"
    print(f"usbmon: {len(rows)} events, {moved} bytes in")


def drops_of(path):
    """What the file itself says: before its packets, and in all where its last block tells."""
    content, at, before_packets, in_all = path.read_bytes(), 0, 0, None
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        option = {5: 20, 6: 28 + (struct.unpack_from("<I", content, at + 20)[0] + 3) // 4 * 4}.get(kind)
        if option is not None and option + 4 < length:
            code, size, count = struct.unpack_from("<HHQ", content, at + option)
            assert (code, size) == (5 if kind == 5 else 4, 8), (kind, code, size)
            if kind == 5:
                in_all = count
            else:
                before_packets += count
        at += length
    return before_packets, in_all


def check_turnaround(last, name, may_drop):
    """Captured live by the program itself: the pairs that tshark's fields of its file give."""
    live = validate(json.loads((last / f"{name}.json").read_text()))
    dropped = live["capture"]["dropped"]
    before_packets, in_all = drops_of(last / f"{name}.pcapng")
    # A starved machine may drop; what it dropped is said, to us and in the file.
    assert dropped == (in_all or 0) >= before_packets and (may_drop or dropped == 0), (
        dropped, before_packets, in_all)
    assert live["capture"]["damage"] == "", live["capture"]
    device = live["devices"][0]
    assert (device["vid"], device["driver"]) == (0x16C0, "cdc_acm") or may_drop, device
    assert live["turnaround"]["paired_by"] == "order", live["turnaround"]
    pairs = list(csv.DictReader((last / f"{name}.csv").read_text().splitlines()))
    ours = [(int(pair["out_end_ns"]), int(pair["in_end_ns"])) for pair in pairs]
    theirs = pairs_by_tshark(last / f"{name}.pcapng")
    assert len(ours) == device["turnarounds"][0]["times"]["count"] > 0
    # What was open at a gap is left out; a pair that is there is right.
    assert set(ours) <= set(theirs) and (dropped or len(theirs) - len(ours) <= 2), (ours, theirs)
    print(f"{name}: {live['turnaround']['pairs']} pairs, "
          f"{live['turnaround']['median_ns'] / 1000:g} us, {dropped} events dropped by the kernel")


def main():
    image = sys.argv[4] if len(sys.argv) > 4 else IMAGE
    with temporary_folder() as name, Board(image) as board:
        out, last = run_guest(pathlib.Path(name), "init.sh", [MILLRACE, *sys.argv[2:4]], "last",
                              USBIP_PORT=board.port)
        console, _ = board.end()
    check_steps(out)
    check_device(out["device.txt"].decode())
    check_doctor(out["doctor.txt"].decode())
    run = check_bench(out["bench_ack.json"], "in", 64)
    check_bench(out["bench_in.json"], "in", 1024)
    check_bench(out["bench_out.json"], "out", 256)
    check_bench(out["bench_again.json"], "in", 256)
    check_capture(last / "usbmon.pcap", run)
    check_turnaround(last, "dialogue", may_drop=False)
    check_turnaround(last, "stream", may_drop=True)
    # The firmware saw two plugs: enumerated by the board's host, then configured by the guest.
    if image == IMAGE:
        events = re.findall(r"usb: (detached|configured)", console)
        # Unplugged by the end of the guest, the board's host takes it again: if there is time.
        plugs = ["configured", "configured", "detached"] * 2
        assert events in (plugs, [*plugs, "configured"]), console


try:
    main()
except Missing as missing:
    sys.exit(f"the guest cannot be made: {missing}")
