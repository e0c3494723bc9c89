# SPDX-License-Identifier: Apache-2.0
"""`board run --usb tap`: the firmware's network interface as one of a real kernel, in a network
namespace of its own: DHCP, ping, UDP echoes, a replug; and what is said if it cannot be."""
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys

import e2e
from e2e import DEADLINE_S, SOURCE, fails, have, read_line, temporary_folder, validate

IMAGES = SOURCE / "build/arm/firmware/ports/rt1062"
DEVICE, OURS = "192.168.7.1", "192.168.7.2"
ECHO_PORT = 7
INSIDE = "inside"  # the namespace


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=DEADLINE_S)
    assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"
    return done.stdout


class Board:
    def __init__(self, image, interface, *words):
        self.interface = interface
        self.code = 130
        self.process = subprocess.Popen(
            [e2e.MILLRACE, "board", "run", image, "--usb", f"tap={interface}", "--seconds", "0",
             "--uart", "6=/dev/null", *map(str, words)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0)

    def __enter__(self):
        self.says(f"USB network interface is {self.interface}: ")
        return self

    def says(self, text):
        line = read_line(self.process.stderr)
        assert line.startswith(text), line
        return line

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.end = self.process.communicate(timeout=DEADLINE_S)[1].decode()
        assert self.process.returncode == self.code, self.end


def delete_link(name):
    """What `ip link delete` does (rtnetlink(7)); BusyBox cannot."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.settimeout(DEADLINE_S)
        body = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, socket.if_nametoindex(name), 0, 0)
        netlink.send(struct.pack("=IHHII", 16 + len(body), 17, 1 | 4, 1, 0) + body)  # DELLINK, ACK
        error, = struct.unpack_from("=i", netlink.recv(4096), 16)
        assert error == 0, os.strerror(-error)


def echoes(count):
    """Every size up to a full frame's now and then; all of them verified."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.settimeout(DEADLINE_S)
        ours.connect((DEVICE, ECHO_PORT))
        for number in range(count):
            size = 1472 if number == 0 else 1 + number * 37 % 1472
            payload = bytes((number + i) % 251 for i in range(size))
            ours.send(payload)
            assert ours.recv(2000) == payload, f"echo {number} of {size} bytes"


def use_it(kind, folder):
    report = folder / "run.json"
    image = IMAGES / f"usb_echo_{kind}_itcm.hex"
    with Board(image, "teensy0", "--json", report, "--usb-at", "3s=unplug,3.5s=plug") as board:
        mac = pathlib.Path("/sys/class/net/teensy0/address")
        script = folder / "udhcpc.sh"
        script.write_text(f'#!/bin/sh\n[ "$1" = bound ] && exec {shutil.which("busybox")} ip addr '
                          'add "$ip/$mask" dev "$interface"\nexit 0\n')
        script.chmod(0o755)
        # Waits until the replug is over, since it takes the address of nobody.
        board.says("USB network interface teensy0 is not connected")
        board.says("millrace: USB: the device was disconnected")
        board.says("USB network interface is teensy0: ")
        said = run("busybox", "udhcpc", "-i", "teensy0", "-n", "-q", "-t", "20", "-s", script)
        assert OURS in run("busybox", "ip", "addr", "show", "teensy0"), said
        if pathlib.Path("/sys/class/net/teensy0").is_dir():
            assert mac.read_text().startswith("0e:"), mac.read_text()
        said = run("busybox", "ping", "-c", "5", "-W", str(DEADLINE_S), DEVICE)
        assert " 0% packet loss" in said, said
        echoes(100)
        _, result = e2e.measure("udp", "bench", DEVICE, "--in-flight", "4", "--step-ms", "200",
                                "--passes", "1", "--late-ms", "20000", "--size", "256")
        ladder = result["sizes"][0]
        step = ladder["passes"][0]["steps"][0]
        assert ladder["port"]["interface"] == "teensy0", ladder["port"]
        assert step["answered"] == step["sent"] >= 4 and step["altered"] == 0, step
        assert ladder["device"]["lost_inside"] == ladder["device"]["lost_before"] == 0, ladder
        # The name is held.
        fails("board", "run", image, "--usb", "tap=teensy0", expect=1,
              says="TAP interface teensy0: another program holds it (give another name)")
    assert "(0 dropped)" in board.end, board.end
    document = validate(json.loads(report.read_text()))
    network = document["board"]["usb"]["network"]
    assert network["kind"] == kind[-3:] and network["connected"], network
    assert network["bad_in"] == network["errors"] == network["dropped_out"] == 0, network
    tap = network["tap"]
    assert tap["interface"] == "teensy0" and tap["dropped_to_kernel"] == 0, tap
    # A reply for each of 5 pings and 100 datagrams, ARP and DHCP.
    assert tap["to_kernel_frames"] > 105 and tap["to_device_frames"] > 105, tap


def inside():
    run("busybox", "ip", "link", "set", "lo", "up")
    for kind in ("ncm", "acm_ecm"):
        with temporary_folder() as folder:
            use_it(kind, pathlib.Path(folder))
    image = IMAGES / "usb_echo_ecm_itcm.hex"
    fails("board", "run", image, "--usb", "tap=lo", expect=1,
          says="TAP interface lo: an interface of that name is there and is no TAP")
    # An interface that is set down and up again goes on; one that is deleted ends the run.
    with Board(image, "teensy1") as board:
        run("busybox", "ip", "addr", "add", f"{OURS}/24", "dev", "teensy1")
        run("busybox", "ip", "link", "set", "teensy1", "down")
        run("busybox", "ip", "link", "set", "teensy1", "up")
        echoes(10)
        delete_link("teensy1")
        board.code = 1
        board.says("millrace: stopped after")
        board.says("millrace: --usb tap: interface teensy1 was deleted by another program")
    # Its serial port is there besides the network, for those who look.
    outcome = e2e.millrace("board", "run", IMAGES / "usb_echo_acm_ecm_itcm.hex", "--usb", "host",
                           "--seconds", "1")
    outcome.says("serial port 1209:", "network CDC-ECM, MAC address 0e:")
    # A firmware without a network says so.
    outcome = e2e.millrace("board", "run", IMAGES / "usb_stream_itcm.hex", "--usb", "tap",
                           "--seconds", "1", expect=1)
    outcome.says("millrace: --usb tap: there was no network interface: ", "has no CDC-ECM or CDC-NCM function", "interface tap0: 0 frames to the kernel")


def outside():
    for name in ("", "a/b", "0123456789abcdef", "a b", "..", "a%d"):
        fails("board", "run", IMAGES / "usb_echo_ecm_itcm.hex", "--usb", f"tap={name}", expect=2,
              says="cannot be the name of an interface")
    if not os.path.exists("/dev/net/tun"):
        sys.exit("no /dev/net/tun (run: sudo modprobe tun; in a container: --device /dev/net/tun)")
    if not have("busybox"):
        sys.exit("no busybox (run: scripts/packages.sh test)")
    words = ["board", "run", IMAGES / "usb_echo_ecm_itcm.hex", "--usb", "tap=teensy0"]
    # Root needs no user namespace, which a container or a chroot may not make; without it nothing
    # is permitted outside a network namespace of its own.
    is_root = os.geteuid() == 0
    user = [] if is_root else ["--map-root-user"]
    fails(*words, prefix=["setpriv", "--bounding-set", "-net_admin"] if is_root else ["unshare", *user],
          expect=1,
          says="TAP interface teensy0: not permitted (run it with sudo, or give the program")
    fails(*words, prefix=["unshare", *user, "--mount", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"',
                          "sh"], expect=1,
          says="open /dev/net/tun: there is no such device (run: sudo modprobe tun")
    done = subprocess.run(["unshare", *user, "--net", sys.executable, "-B", __file__, e2e.MILLRACE, INSIDE],
                          timeout=280)
    sys.exit(done.returncode)


inside() if sys.argv[2:] == [INSIDE] else outside()
