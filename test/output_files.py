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

    # A limit on file sizes, and a disk that is full.
    full = e2e.millrace(*BENCH, "--json", old, expect=1, preexec_fn=no_file_may_grow)
    full.says("millrace: write " + str(old), "a file may not be larger here (allow more with `ulimit")
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
    e2e.fails(*BENCH, "--json", folder / (256 * "x"), expect=2, says="the name is too long (give a shorter one)")
    e2e.millrace(*BENCH, "--json", "/dev/full", expect=1).says(
        "write /dev/full: no space left on it")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode), "/dev/full was replaced"

    # A FIFO: without a reader an error before anything is measured; with one it gets everything.
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    e2e.fails(*BENCH, "--json", fifo, expect=1, says=("write " + str(fifo), "nobody reads it"))
    with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        os.set_blocking(reader.fileno(), True)
        run = subprocess.Popen([e2e.MILLRACE, *e2e.patient(*BENCH, "--json", fifo)],
                               stdout=subprocess.DEVNULL)
        e2e.select.select([reader], [], [], e2e.DEADLINE_S)
        text = reader.read()
    assert run.wait(e2e.DEADLINE_S) == 0
    e2e.validate(json.loads(text))

    # Symbolic links stay; what they lead to is made, or its absence is said.
    (folder / "fresh").symlink_to("made.json")
    e2e.millrace(*BENCH, "--json", folder / "fresh")
    assert os.readlink(folder / "fresh") == "made.json"
    e2e.validate(json.loads((folder / "made.json").read_text()))
    (folder / "dangling").symlink_to("none/x.json")
    e2e.fails(*BENCH, "--json", folder / "dangling", expect=1, says="no such folder")
    (folder / "loop").symlink_to("loop")
    e2e.fails(*BENCH, "--json", folder / "loop", expect=1, says="leads back to itself")
    assert (folder / "dangling").is_symlink() and (folder / "loop").is_symlink()

    # One file cannot hold two results, under whatever names.
    sweep = ("serial", "sweep", "pc:", "--bytes", "64K", "--frame-sizes", 512, "--repeat", 1)
    (folder / "again").symlink_to(".")
    for other in (folder / "same", folder / "again" / "same", old, folder / "again" / "old.json"):
        first = folder / other.name
        for a, b in (("--json", "--csv"), ("--csv", "--markdown"), ("--json", "--markdown")):
            e2e.fails(*sweep, a, first, b, other, expect=2, says="a file each")
    assert not (folder / "same").exists()
    e2e.millrace(*sweep, "--json", "/dev/null", "--csv", "/dev/null")

    e2e.millrace(*BENCH, "--json", old)
    e2e.validate(json.loads(old.read_text()))
    report = e2e.millrace(*BENCH, "--json", "-")
    e2e.validate(json.loads(report.out))
    assert "MB/s" in report.err, report.err
    with open("/dev/full", "w") as out:
        done = subprocess.run([e2e.MILLRACE, "ports"], stdout=out, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"millrace: write stdout" in done.stderr, done
