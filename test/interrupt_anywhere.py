# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at any moment of each command that measures, but for those that need a board's image."""
import pathlib
import socket
import threading

import captures
import e2e
from interruptions import interrupts


def echo(server):
    while True:
        data, sender = server.recvfrom(70000)
        if not data:
            return
        server.sendto(data, sender)


def networks(folder):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=echo, args=(server,))
        thread.start()
        try:
            target = f"127.0.0.1:{server.getsockname()[1]}"
            steps = ("--first", 100, "--top", 200, "--width", 100, "--step-ms", 30)
            # A machine that is too busy makes steps invalid, which is exit code 1.
            interrupts(folder, "udp", "bench", target, *steps, "--passes", 1, "--late-ms", 50,
                       "--probe-ms", 20000,
                       "--search", "ndr", usual=(0, 1))
        finally:
            server.sendto(b"", server.getsockname())
            thread.join()


def captures_of_usb(folder):
    scene = [(0x02 + 0x80 * (i % 2), 100 * i, 100 * i + 50, bytes(400), 0) for i in range(4000)]
    path = folder / "usb.pcap"
    path.write_bytes(captures.pcap(scene, 220))
    interrupts(folder, "turnaround", path, usual=(0,))


with e2e.temporary_folder() as name:
    folder = pathlib.Path(name)
    networks(folder)
    captures_of_usb(folder)
    interrupts(folder, "serial", "bench", "pc:", "--frames", 512, "--repeat", 2)
    interrupts(folder, "serial", "sweep", "pc:", "--frame-sizes", "1K,2K",
               "--bytes", "64K", "--repeat", 1)
    interrupts(folder, "serial", "soak", "pc:", "--quick", "--phase", "reopen")
    interrupts(folder, "link", "bench", "pc:link", "--bytes", "256K", "--repeat", 2)
    interrupts(folder, "link", "receive", "pc:link", "--output", folder / "out", "--command",
               "source 300000 seed 42")
