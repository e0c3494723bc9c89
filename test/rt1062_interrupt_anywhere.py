# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at any moment of the commands that measure on the virtual board."""
import pathlib

import e2e
from interruptions import interrupts

FIRMWARE = e2e.SOURCE / "build/arm"
IMAGES = FIRMWARE / "firmware/ports/rt1062"

with e2e.temporary_folder() as name:
    folder = pathlib.Path(name)
    echo, heavy = (f"board:{IMAGES}/usb_echo_{kind}_flash.elf" for kind in ("ncm", "heavy_ecm"))
    interrupts(folder, "udp", "bench", echo, "--first", 1000, "--width", 1000, "--top", 2000,
               "--step-ms", 20)
    interrupts(folder, "udp", "counters", echo, "--seconds", 1)
    interrupts(folder, "profile", "record", heavy, "--output", folder / "samples", "--samples", 500)
    interrupts(folder, "serial", "bench", f"board:{IMAGES}/usb_stream_flash.elf",
               "--frames", 64)
    interrupts(folder, "tune", f"board:{FIRMWARE}", "--budget", "4K", "--rounds", 1, "--step-ms", 20,
               "--work", folder / "tune", count=3)
