# SPDX-License-Identifier: Apache-2.0
"""Captures, traces and logs of the virtual board on a full disk, under a limit on file sizes and in
place of an older file: one sentence that names the file, exit 1, and the older file stays."""
import os
import pathlib
import resource

import e2e
from e2e import SOURCE, fails, millrace

FOLDER = SOURCE / "build/arm/firmware/ports/rt1062"
USB, KERNELS = FOLDER / "usb_stream_itcm.hex", FOLDER / "kernels_flash.elf"
PORT_RUN = ("--frames", 64, "--frame-size", 512)
BOARD_RUN = ("--seconds", "0.3")


def no_file_may_grow():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


# A capture of a board: port. The measurement itself is good, and said.
for command in (("bench", *PORT_RUN), ("sweep", "--frame-sizes", 512, "--acks", "none", "--bytes",
                                       "32K", "--repeat", 1),
                ("soak", "--quick", "--phase", "reopen")):
    outcome = millrace("serial", command[0], f"board:{USB}?pcap=/dev/full", *command[1:], expect=1)
    outcome.says("millrace: pcap=: write /dev/full: No space left on device")
    assert "FAILED" not in outcome.out, outcome

with e2e.temporary_folder() as name:
    folder = pathlib.Path(name)
    old = folder / "old"

    def stays_under_a_limit(*words, says):
        old.write_text("older")
        outcome = millrace(*words, expect=1, preexec_fn=no_file_may_grow)
        outcome.says(f"write {old}: File too large", says, "an older file is untouched")
        assert old.read_text() == "older", words
        part = folder / "old.part"
        assert part.stat().st_size == 1024, words
        part.unlink()

    stays_under_a_limit("serial", "bench", f"board:{USB}?pcap={old}", *PORT_RUN, says="pcap=")
    stays_under_a_limit("board", "run", USB, "--usb", "host", "--pcap", old, *BOARD_RUN,
                        says="--pcap")
    stays_under_a_limit("board", "run", KERNELS, "--trace", old, *BOARD_RUN, says="--trace")
    assert os.listdir(folder) == ["old"], os.listdir(folder)

    # The log of a UART is begun anew by every run; its file is named.
    fails("board", "run", KERNELS, "--uart", f"6={folder}/none/log", *BOARD_RUN, expect=1,
          says=f"{folder}/none/log")
    flood = millrace("board", "run", KERNELS, "--uart", "6=/dev/full", *BOARD_RUN, expect=1)
    flood.says("--uart: write /dev/full: No space left")

    # Whole: the older file is replaced, a link stays one, nothing is left beside it.
    (folder / "link").symlink_to("old")
    millrace("serial", "bench", f"board:{USB}?pcap={folder}/link", *PORT_RUN)
    assert old.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a", "no pcapng"  # section header block
    assert os.readlink(folder / "link") == "old"
    assert sorted(os.listdir(folder)) == ["link", "old"], os.listdir(folder)

    # A run that never began leaves the older file alone.
    old.write_text("older")
    fails("serial", "bench", f"board:{USB}?pcap={old}&host=nobody", expect=2, says="nobody")
    fails("serial", "bench", f"board:{USB}?pcap={folder}", expect=2, says="directory")
    os.mkfifo(folder / "fifo")
    fails("serial", "bench", f"board:{USB}?pcap={folder}/fifo", expect=1, says="fifo")
    assert old.read_text() == "older" and not (folder / "old.part").exists()
