# SPDX-License-Identifier: Apache-2.0
"""Result files: whole or not at all, never in place of an older one, never over a device."""
import json
import os
import pathlib
import resource
import stat
import subprocess

import e2e

BENCH = ("serial", "bench", "pc:", "--frames", 64)


def no_file_may_grow():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


with e2e.temporary_folder() as name:
    folder = pathlib.Path(name)
    old = folder / "old.json"
    old.write_text("{}")

    # A disk that is full: a limit on file sizes stands for it wherever there is no tmpfs to fill.
    full = e2e.millrace(*BENCH, "--json", old, expect=1, preexec_fn=no_file_may_grow)
    full.says("millrace: write " + str(old), "no space left")
    assert old.read_text() == "{}" and os.listdir(folder) == ["old.json"], os.listdir(folder)

    tmpfs = folder / "tmpfs"
    tmpfs.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", tmpfs],
                             capture_output=True).returncode == 0
    if mounted:
        try:
            (tmpfs / "old.json").write_text("{}")
            e2e.millrace(*BENCH, "--json", tmpfs / "old.json", expect=1).says("no space left")
            assert (tmpfs / "old.json").read_text() == "{}"
            assert os.listdir(tmpfs) == ["old.json"], os.listdir(tmpfs)
        finally:
            subprocess.run(["umount", tmpfs], check=True)

    e2e.fails(*BENCH, "--json", folder / "none" / "x.json", expect=1, says="no such folder")
    e2e.fails(*BENCH, "--json", folder, expect=2, says="folder")
    e2e.millrace(*BENCH, "--json", "/dev/full", expect=1).says("write /dev/full: no space left")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode), "/dev/full was replaced"

    e2e.millrace(*BENCH, "--json", old)
    e2e.validate(json.loads(old.read_text()))
    report = e2e.millrace(*BENCH, "--json", "-")
    e2e.validate(json.loads(report.out))
    assert "MB/s" in report.err, report.err
    with open("/dev/full", "w") as out:
        done = subprocess.run([e2e.MILLRACE, "ports"], stdout=out, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"millrace: write stdout" in done.stderr, done
