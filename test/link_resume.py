# SPDX-License-Identifier: Apache-2.0
"""--resume: after kill -9 of a sender, a full disk, at the end; and what stays as it was."""
import os
import resource
import signal
import subprocess

import e2e

SIZE = 24_000_000


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


with e2e.temporary_folder() as name:
    folder = e2e.pathlib.Path(name)
    whole = folder / "whole"
    e2e.millrace("link", "receive", "pc:link", "-o", whole, "--command", f"source {SIZE}")
    original = whole.read_bytes()

    # A sender killed in mid-stream, twice: the device's sink compares every byte.
    with e2e.PcDevice("--protocol", "link", "--faults", "drop=100@1000+50000") as device:
        words = ["link", "send", device.path, whole, "--command", "sink"]
        for extra in ([], ["--resume"]):
            process = e2e.start(*words, *extra)
            e2e.wait_until_written(process, 6_000_000)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        outcome, document = e2e.measure(*words, "--resume")
        outcome.says("the device has ", f"device: sunk {SIZE}", "device: wrong 0")
        assert document["runs"][0]["bytes"] < SIZE, document  # the rest only
        assert not (folder / "whole.send.link").exists()

        # Another file under the name, or none to go on with.
        process = e2e.start(*words)
        e2e.wait_until_written(process, 1_000_000)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        os.utime(whole, (1, 1))
        e2e.fails(*words, "--resume", expect=2, says="has changed since")
        (folder / "whole.send.link").unlink()
        e2e.fails(*words, "--resume", expect=2, says="nothing to resume")

    # A limit on file sizes, as on a disk that fills up: said with the remedy, and gone on with.
    with e2e.PcDevice("--protocol", "link") as device:
        got = folder / "got"
        words = ["link", "receive", device.path, "-o", got, "--command", f"source {SIZE}"]
        outcome = e2e.millrace(*words, expect=1, preexec_fn=limit_files)
        outcome.says("a file may not be larger here (allow more with `ulimit -f`", "--resume")
        assert got.stat().st_size == 1 << 20
        e2e.millrace(*words, "--resume")
        assert got.read_bytes() == original

        # Killed between the end of the stream and the end of the program.
        (folder / "got.link").write_text("millrace-link 2\nsession 1\nboot 1\ngap_bytes 0\n"
                                         "complete 1\nfile_size 0\nfile_time 0\n")
        e2e.millrace(*words, "--resume").says("complete, nothing is missing")
        assert not (folder / "got.link").exists() and got.read_bytes() == original
        (folder / "got.link").write_text("millrace-link 1\n")
        e2e.fails(*words, "--resume", expect=2, says="delete it and leave out --resume")
        (folder / "got.link").unlink()

    # Until the stream begins, the older file stays: no port, no answer, another protocol, a command
    # that the device refuses or answers with words alone, Ctrl-C while nothing came.
    for port, more, code, says in (
            ("/dev/ttyNone", (), 3, "there is no such port"),
            ("pc:link?mute", ("--timeout-ms", 300), 1, "no answer"),
            ("pc:", (), 1, "measuring protocol"),
            ("pc:link", ("--command", "bogus"), 1, "does not take the command `bogus`"),
            ("pc:link", ("--command", "info", "--idle-ms", 300), 1, "the device said: ring bytes"),
            ("pc:link", ("--idle-ms", 300), 1, "nothing came on the data stream")):
        e2e.millrace("link", "receive", port, "-o", got, *more, expect=code).says(says)
        assert got.read_bytes() == original, (port, more)
        assert not (folder / "got.link").exists()
    with e2e.PcDevice("--protocol", "link") as device:
        process = e2e.start("link", "receive", device.path, "-o", got, "--command", "info")
        assert e2e.read_line(process.stderr.buffer).startswith("device: ")
        process.send_signal(signal.SIGINT)
        assert process.wait(e2e.DEADLINE_S) == 130, process.communicate()
        process.communicate()
    assert got.read_bytes() == original
    # An empty stream is one.
    empty = folder / "empty"
    empty.write_bytes(b"older")
    e2e.millrace("link", "receive", "pc:link", "-o", empty, "--command", "source 0")
    assert empty.read_bytes() == b""

    # A FIFO must have its reader, as for --json: waiting for one could not even be interrupted.
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    words = ("link", "receive", "pc:link", "-o", fifo, "--command", "source 1000")
    e2e.fails(*words, expect=1, says=(f"write {fifo}", "nobody reads it (start the reader first)"))
    with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        e2e.millrace(*words)
        assert reader.read() == original[:1000]

    # No file: no place beside it.
    done = subprocess.run([e2e.MILLRACE, "link", "receive", "pc:link", "-o", "-", "--command",
                           "source 1000000"], capture_output=True, timeout=e2e.DEADLINE_S)
    assert done.returncode == 0 and done.stdout == original[:1000000], done.stderr
    assert not os.path.exists("-.link")
    e2e.millrace("link", "receive", "pc:link", "-o", "/dev/null", "--command", "source 1000")
    assert not os.path.exists("/dev/null.link")
    e2e.fails("link", "receive", "pc:link", "-o", "-", "--json", "-", expect=2, says="stdout")

    # A command that no stream follows.
    outcome = e2e.millrace("link", "receive", "pc:link", "-o", got, "--command", "info",
                           "--idle-ms", "300", expect=1)
    outcome.says("after the command `info`, the device said: ring bytes 524288")
    assert not (folder / "got.link").exists()

    # A name so long that there is no FILE.link beside it, in Unicode: received, but not resumable.
    for name in ("n" * 255, "\u00e4" * 127, "two\nlines"):
        outcome = e2e.millrace("link", "receive", "pc:link", "-o", folder / name, "--command",
                               "source 1000")
        assert (folder / name).read_bytes() == original[:1000]
        assert ("--resume will not be possible" in outcome.err) == (len(name) > 100), outcome
        e2e.millrace("link", "send", "pc:link", folder / name)

    # The file that is written is deleted, or another one is put in its place.
    for replaced in (False, True):
        with e2e.PcDevice("--protocol", "link") as device:
            process = e2e.start("link", "receive", device.path, "-o", got, "--command",
                                "source 100000000 rate 4000000")
            while not (folder / "got.link").exists():
                assert process.poll() is None
            got.unlink()
            if replaced:
                got.write_bytes(b"another")
            out, err = process.communicate(timeout=e2e.DEADLINE_S)
            assert process.returncode == 1, (out, err)
            assert "deleted, replaced or changed by another program" in err, err
        (folder / "got.link").unlink()

    # A file that grows, or is written anew, while it is sent: what the device has is no file at all.
    for mode in ("ab", "r+b"):
        with e2e.PcDevice("--protocol", "link", "--faults", "rate=4000000") as device:
            process = e2e.start("link", "send", device.path, whole)
            e2e.wait_until_written(process, 1_000_000)
            with open(whole, mode) as file:
                file.write(b"more")
            out, err = process.communicate(timeout=e2e.DEADLINE_S)
            assert process.returncode == 1, (out, err)
            assert f"{whole}: changed by another program while it was sent" in err, err
    # Deleted, it is whole to who has it open.
    with e2e.PcDevice("--protocol", "link") as device:
        process = e2e.start("link", "send", device.path, whole)
        e2e.wait_until_written(process, 1_000_000)
        whole.unlink()
        out, err = process.communicate(timeout=e2e.DEADLINE_S)
        assert process.returncode == 0, (out, err)

    # What cannot be sent.
    e2e.fails("link", "send", "pc:link", folder / "none", expect=2, says="check the name")
    e2e.fails("link", "send", "pc:link", folder, expect=2, says="this is a folder (give a file)")
