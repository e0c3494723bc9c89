# SPDX-License-Identifier: Apache-2.0
"""A device that stops to answer while its port stays: said as that, the session is kept, and --resume
goes on when the device runs again. A stop of the program itself is no such thing."""
import signal

import e2e

SIZE = 2_000_000
SILENT = "the device is there and answers no more"

with e2e.temporary_folder() as name:
    folder = e2e.pathlib.Path(name)
    e2e.millrace("link", "receive", "pc:link", "-o", folder / "whole", "--command", f"source {SIZE}")
    whole = (folder / "whole").read_bytes()

    for words in (("receive", "{}", "-o", folder / "got", "--command", f"source {SIZE}"),
                  ("send", "{}", folder / "whole", "--command", "sink")):
        with e2e.PcDevice("--protocol", "link", "--faults", "rate=2000000") as device:
            words = ["link", *(word if word != "{}" else device.path for word in words)]
            program = e2e.start(*words, "--timeout-ms", 200)
            e2e.wait_until_written(program, 300_000)
            device.process.send_signal(signal.SIGSTOP)
            _, said = program.communicate(timeout=e2e.DEADLINE_S)
            assert program.returncode == 3 and SILENT in said, (words, said)
            device.process.send_signal(signal.SIGCONT)
            again = e2e.millrace(*words, "--resume", expect=0)
            if words[1] == "send":
                again.says(", 0 bytes wrong")
    assert (folder / "got").read_bytes() == whole

    # Longer than it would wait for the device.
    with e2e.PcDevice("--protocol", "link", "--faults", "rate=2000000") as device:
        program = e2e.start("link", "receive", device.path, "-o", folder / "stopped", "--command",
                            f"source {SIZE}", "--timeout-ms", 1)
        e2e.wait_until_written(program, 300_000)
        program.send_signal(signal.SIGSTOP)
        # What is behind it is done in this time by a device that is not held up.
        e2e.millrace("link", "bench", "pc:link?rate=2000000", "--bytes", "8M")
        program.send_signal(signal.SIGCONT)
        said = program.communicate(timeout=e2e.DEADLINE_S)
        assert program.returncode == 0, said
    assert (folder / "stopped").read_bytes() == whole
