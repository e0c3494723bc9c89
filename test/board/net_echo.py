# SPDX-License-Identifier: Apache-2.0
"""The network images on the virtual board, driven in the board's time: DHCP, pings, UDP echoes; and
tshark reads what the host's USB driver saw.

usage: net_echo.py PATH_TO_net_echo_driver FOLDER_OF_IMAGES
"""
import pathlib
import subprocess
import sys
import tempfile

DRIVER, IMAGES = sys.argv[1], pathlib.Path(sys.argv[2])
COMPLAINTS = "_ws.malformed || _ws.expert.severity >= warning"
CHECKSUMS = [word for protocol in ("ip", "udp") for word in ("-o", f"{protocol}.check_checksum:TRUE")]
LONE_FRAME_NS = 3 * 400_000  # cdc_ncm's timer runs three times before a frame that is alone goes


def figures(image, profile, *capture):
    run = subprocess.run([DRIVER, image, profile, *capture], capture_output=True, text=True,
                         timeout=200)
    assert run.returncode == 0, run
    return dict(line.split(" ", 1) for line in run.stdout.splitlines())


def tshark(file, *arguments):
    run = subprocess.run(["tshark", "-r", file, *CHECKSUMS, *arguments], capture_output=True,
                         text=True, timeout=200)
    errors = [line for line in run.stderr.splitlines() if line and "unning as user" not in line]
    assert run.returncode == 0 and not errors, run
    return run.stdout.splitlines()


def check(kind, image, profile, folder):
    got = figures(image, profile)
    assert got == figures(image, profile), "two runs differ"
    assert "finding" not in got, got
    assert (got["kind"], got["pings"], got["echoes"], got["wrong"], got["bad"]) == \
        (kind, "20", "200", "0", "0"), got
    ping_ns = int(got["last_ping_ns"])
    # ECM: two transfers; NCM: behind the timer. Neither takes the device a tenth of a millisecond.
    late = LONE_FRAME_NS if kind == "CDC-NCM" else 0
    assert late < ping_ns < late + 100_000, ping_ns
    # 200 datagrams, four to a millisecond: bundles of several, or a transfer each.
    out = int(got["transfers_out"])
    assert out < 100 if kind == "CDC-NCM" else out == int(got["frames_out"]), got

    file = folder / "urbs.pcapng"
    figures(image, profile, file)
    complaints = tshark(file, "-Y", COMPLAINTS)
    assert not complaints, complaints[:5]
    # Several datagrams of a block stand in one line, by commas.
    ports = ",".join(tshark(file, "-Y", "udp.srcport == 7", "-T", "fields", "-e", "udp.srcport"))
    assert ports.split(",").count("7") == 200, ports.count("7")
    replies = tshark(file, "-Y", "icmp.type == 0", "-T", "fields", "-e", "icmp.seq")
    assert len(replies) == 20, replies
    return ping_ns


with tempfile.TemporaryDirectory() as name:
    for image, kind in (("ecm", "CDC-ECM"), ("ncm", "CDC-NCM"), ("acm_ecm", "CDC-ECM"),
                        ("acm_ncm", "CDC-NCM"), ("ncm_ecm", "CDC-NCM")):
        for profile in ("ideal", "xhci-laptop"):
            ping = check(kind, IMAGES / f"usb_echo_{image}_itcm.hex", profile, pathlib.Path(name))
            print(f"{image}, {profile}: ping {ping / 1000:.1f} us")
