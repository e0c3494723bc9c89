# SPDX-License-Identifier: Apache-2.0
"""Every `$ millrace ...` that README.md and docs/*.md show in a console block works.

Commands that name a real board's port (/dev/ttyACM0, COM7, usb:16c0:..., serial:...) cannot be run
here: they must parse, which is seen from a complaint about that port instead of about usage.
`# exit N` at the end of a line says which exit code is right.
"""
import re
import shlex
import shutil
import subprocess

import e2e

REAL_BOARD = re.compile(r"/dev/ttyACM|\bCOM\d|usb:16c0|serial:\d")
GONE = 3


def commands():
    for path in (e2e.SOURCE / "README.md", *sorted((e2e.SOURCE / "docs").glob("*.md"))):
        if not path.exists():
            continue
        for block in re.findall(r"^```console\n(.*?)^```", path.read_text(), re.M | re.S):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("$ millrace"):
                    yield path.name, line[2:]


count = 0
with e2e.temporary_folder() as folder:
    for suffix in ("elf", "hex"):  # what the pages call firmware.elf
        shutil.copy(e2e.SOURCE / f"build/arm/firmware/ports/rt1062/hello_flash.{suffix}",
                    f"{folder}/firmware.{suffix}")
    for page, line in commands():
        line, _, code = line.partition("  # exit ")
        words = shlex.split(line, comments=True)
        background = words[-1] == "&" or words[1:3] == ["device", "pc"]
        if background:
            words = [*words[:3], "--help"]
        done = subprocess.run([e2e.MILLRACE, *words[1:]], capture_output=True, text=True,
                              cwd=folder, timeout=e2e.DEADLINE_S, stdin=subprocess.DEVNULL)
        allowed = [int(code or 0)]
        if REAL_BOARD.search(line):
            allowed = [GONE]
        if words[1:2] == ["doctor"]:
            allowed = [0, 1, GONE]
        assert done.returncode in allowed, f"{page}: $ {line}\n{done}"
        count += 1
assert count >= 5, f"only {count} commands found: is the pattern still right?"
