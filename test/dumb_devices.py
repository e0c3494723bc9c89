# SPDX-License-Identifier: Apache-2.0
"""A device that answers nothing, and one that answers garbage: one run, exit 1, and a reason."""
import e2e

FAST = ("--timeout-ms", 300, "--frames", 64)  # for what never comes
SLOW = ("--timeout-ms", 4000, "--frames", 64)
outcome, document = e2e.measure("serial", "bench", "pc:?mute", *FAST, "--repeat", 5, expect=1)
assert document["verdict"]["kind"] == "no_answer", document["verdict"]
assert len(document["runs"]) == 1, "goes on asking a device that is mute"
outcome.says("no answer")

outcome, document = e2e.measure("serial", "bench", "pc:?garbage", *SLOW, expect=1)
assert document["verdict"]["kind"] == "not_our_stream", document["verdict"]
outcome.says("ERROR: unknown command")

outcome, document = e2e.measure("serial", "sweep", "pc:?mute", *FAST[:2], expect=1)
assert sum(len(cell["runs"]) for cell in document["cells"]) == 1, document["cells"]
outcome.says("no answer", "-")
