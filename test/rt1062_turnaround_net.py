# SPDX-License-Identifier: Apache-2.0
"""A real kernel pings the echo firmware through a TAP, in a network namespace of its own: the
board's captures of URBs and of packets give a turnaround for each ping, by content, over NCM and
ECM alike."""
import csv
import os
import pathlib
import signal
import socket
import subprocess
import sys

import e2e
from e2e import DEADLINE_S, SOURCE, have, measure, read_line, temporary_folder

IMAGES = SOURCE / "build/arm/firmware/ports/rt1062"
DEVICE, OURS = "192.168.7.1", "192.168.7.2/24"
PINGS = 20
INSIDE = "inside"  # the namespace
# What a driver is told later than the bus: the host profile's latencies, 4 us here, and a microframe.
MOST_LATER_NS = 130_000


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"
    return done.stdout


def until_answered():
    """The first frames may come before the device listens, and the kernel repeats ARP after a second:
    no ping of those that are counted may wait for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as echo:
        echo.settimeout(0.5)
        for _ in range(2 * DEADLINE_S):
            echo.sendto(b"first", (DEVICE, 7))
            try:
                return echo.recv(100)
            except TimeoutError:
                pass
    raise AssertionError("no echo")


def capture(kind, folder):
    """The two captures of one run."""
    urbs, packets = folder / f"{kind}.pcapng", folder / f"{kind}_packets.pcapng"
    board = subprocess.Popen(
        [e2e.MILLRACE, "board", "run", IMAGES / f"usb_echo_{kind}_itcm.hex", "--usb", "tap=teensy0",
         "--seconds", "0", "--uart", "6=/dev/null", "--pcap", urbs, "--pcap-packets", packets],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0)
    try:
        line = read_line(board.stderr)
        assert line.startswith("USB network interface is teensy0: "), line
        run("busybox", "ip", "addr", "add", OURS, "dev", "teensy0")
        until_answered()
        said = run("busybox", "ping", "-c", str(PINGS), "-i", "0.02", "-W", "20", DEVICE)
        assert f"{PINGS} packets received" in said, said
    finally:
        board.send_signal(signal.SIGINT)
        board.communicate(timeout=DEADLINE_S)
    return urbs, packets


def pings_in(path, folder):
    pairs = folder / "pairs.csv"
    outcome, result = measure("turnaround", path, "--csv", pairs)
    outcome.says("pings, OUT ")
    assert result["capture"]["damage"] == "" and result["packets"]["bad_crc"] == 0
    found = next(t for t in result["devices"][0]["turnarounds"] if t["paired_by"] == "icmp")
    assert found["requests"] == found["times"]["count"] == PINGS, found
    assert found["ambiguous"] == found["shut_out"] == found["unrequested"] == 0, found
    rows = csv.DictReader(pairs.read_text().splitlines())
    return result, [row for row in rows if row["paired_by"] == "icmp"]


def check(kind, framing, driver, folder):
    urbs, packets = capture(kind, folder)
    result, of_urbs = pings_in(urbs, folder)
    device = result["devices"][0]
    assert device["driver"] == driver, device["driver"]
    holds = {e["holds"] for e in device["endpoints"] if e["frames"] is not None}
    assert holds == {framing}, holds
    assert (device["ntb"] is not None) == (framing == "NCM"), device["ntb"]
    result, of_packets = pings_in(packets, folder)
    assert result["packets"]["transactions"] > 2 * PINGS
    for on_bus, told in zip(of_packets, of_urbs, strict=True):
        for end in ("out_end_ns", "in_end_ns"):
            later = int(told[end]) - int(on_bus[end])
            assert 0 <= later <= MOST_LATER_NS, (end, on_bus, told)


def inside():
    with temporary_folder() as name:
        check("ncm", "NCM", "cdc_ncm", pathlib.Path(name))
        check("ecm", "ECM", "cdc_ether", pathlib.Path(name))


if INSIDE in sys.argv:
    inside()
else:
    for program in ("unshare", "busybox"):
        assert have(program), f"no {program} (run: scripts/packages.sh test)"
    assert os.path.exists("/dev/net/tun"), "no /dev/net/tun (modprobe tun)"
    namespaces = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    done = subprocess.run([*namespaces, sys.executable, "-B", *sys.argv, INSIDE], timeout=280)
    sys.exit(done.returncode)
