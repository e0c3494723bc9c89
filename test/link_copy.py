# SPDX-License-Identifier: Apache-2.0
"""Files over a damaged link: whole, both ways; a killed receiver goes on without a hole."""
import pathlib
import signal
import subprocess
import tempfile
import time

import e2e
import jsf32


def stream(size):
    """The device's stream, seed 42: words without a cut, since its frames are 1 MiB."""
    source = jsf32.words(42)
    return b"".join(next(source).to_bytes(4, "little") for _ in range(-(-size // 4)))[:size]


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    got = folder / "got"
    outcome, document = e2e.measure("link", "receive", "pc:link?drop=300@1000+50000", "-o", got,
                                    "--command", "source 500000")
    assert got.read_bytes() == stream(500000)
    assert document["runs"][0]["statistics"]["damaged_frames"] >= 5, document
    assert not (folder / "got.link").exists()
    outcome.says("device: source 500000")
    # Nobody compared the bytes: nothing is claimed.
    assert document["runs"][0]["wrong_bytes"] is None and "wrong" not in outcome.out, outcome

    sent = folder / "sent"
    sent.write_bytes(stream(300000))
    e2e.measure("link", "send", "pc:link?flip=1@100+20000", sent, "--command", "sink")[0].says(
        "device: sunk 300000", "device: wrong 0")

    # The device compares; one byte is not that of its stream.
    data = bytearray(stream(300000))
    data[777] ^= 1
    sent.write_bytes(data)
    outcome, document = e2e.measure("link", "send", "pc:link", sent, "--command", "sink", expect=1)
    assert "device: wrong 1\n" in outcome.out and "1 byte wrong" in outcome.out, outcome
    run = document["runs"][0]
    assert document["failed"] and run["wrong_bytes"] == 1, document
    assert run["device_says"] == ["sink 0", "sunk 300000", "wrong 1"], run
    outcome, document = e2e.measure("link", "send", "pc:link", sent)
    assert document["runs"][0]["wrong_bytes"] is None and "wrong" not in outcome.out, outcome

    # A command that the device does not know.
    for words in (("receive", "pc:link", "-o", got), ("send", "pc:link", sent)):
        outcome = e2e.millrace("link", *words, "--command", "bogus", expect=1)
        outcome.says("the device does not take the command `bogus`: error: source BYTES")
    assert not (folder / "got.link").exists()

    # Killed in mid-stream, twice.
    got.unlink()
    with e2e.PcDevice("--protocol", "link", "--faults", "drop=100@100000+200000") as device:
        words = [e2e.MILLRACE, "link", "receive", device.path, "-o", str(got)]
        extra = ["--command", "source 3000000 rate 1000000"]
        for _ in range(2):
            process = subprocess.Popen(words + extra, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            size = got.stat().st_size if extra == ["--resume"] else 0
            deadline = time.monotonic() + e2e.DEADLINE_S
            time.sleep(0.05)
            while not got.exists() or got.stat().st_size < size + 200000:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
            extra = ["--resume"]
        e2e.millrace("link", "receive", device.path, "-o", got, "--resume")
        assert got.read_bytes() == stream(3000000)

    # Another session has taken its place: said, not papered over.
    with e2e.PcDevice("--protocol", "link") as device:
        process = subprocess.Popen([e2e.MILLRACE, "link", "receive", device.path, "-o", str(got),
                                    "--command", "source 3000000 rate 100000"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (folder / "got.link").exists():
            time.sleep(0.01)
        process.kill()
        process.wait()
        e2e.millrace("link", "bench", device.path, "--bytes", "100K")
        e2e.fails("link", "receive", device.path, "-o", got, "--resume", expect=3,
                  says="given the session up")
