# SPDX-License-Identifier: Apache-2.0
"""A receiver of the virtual board's link is killed in mid-stream; another one goes on without a hole."""
import signal
import time

import e2e

IMAGE = e2e.SOURCE / "build/arm/firmware/ports/rt1062/usb_link_itcm.elf"
SIZE = 160_000

with e2e.temporary_folder() as name:
    folder = e2e.pathlib.Path(name)
    whole, got, port = folder / "whole", folder / "got", folder / "port"
    command = ["--command", f"source {SIZE} rate 200000"]
    e2e.millrace("link", "receive", "pc:link", "-o", whole, "--command", f"source {SIZE}")
    board = e2e.start("board", "run", IMAGE, "--usb", f"pty={port}", "--seconds", "0")
    try:
        while not port.exists():
            assert board.poll() is None, board.communicate()
            time.sleep(0.01)
        receiver = e2e.start("link", "receive", port, "-o", got, *command)
        while not got.exists() or got.stat().st_size < 50_000:
            assert receiver.poll() is None, receiver.communicate()
            time.sleep(0.01)
        receiver.send_signal(signal.SIGKILL)
        receiver.communicate()
        assert 50_000 <= got.stat().st_size < SIZE
        e2e.millrace("link", "receive", port, "-o", got, "--resume")
        assert got.read_bytes() == whole.read_bytes()
    finally:
        board.terminate()
        board.communicate()
