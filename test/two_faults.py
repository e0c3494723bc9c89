# SPDX-License-Identifier: Apache-2.0
"""Several faults of one run are all named; what an unplug kept back is no loss."""
import e2e

# 4,096,000 bytes asked for.
RUN = ["--frame-size", 2048, "--frames", 2000]


def verdict(faults, kind, *parts, expect=1):
    outcome, document = e2e.measure("serial", "bench", f"pc:?{faults}", *RUN, expect=expect)
    assert document["verdict"]["kind"] == kind, document["verdict"]
    for part in parts:
        assert part in document["verdict"]["sentence"], document["verdict"]
    return outcome, document["runs"][0]


# The one with more bytes comes first.
verdict("drop=1536@1000000&flip=3@2000000", "lost_behind_device",
        "1,536 bytes did not arrive", "; also bit errors: 3 bytes altered")
verdict("dup=512@500000&drop=300@900000&insert=AT@1500000", "duplicated",
        "512 bytes came twice", "; also lost behind the device", "; also foreign writer: 2 bytes")
# One fault that looks like several is one: a cooked tty loses some bytes and alters others.
outcome, _ = verdict("cooked", "tty_mangling", "ICRNL", "IXON")
assert "also" not in outcome.out, outcome

# 1,000,000 bytes came; the other 3,096,000 were not lost.
outcome, run = verdict("unplug=100@1000000", "replugged", expect=3)
assert run["not_delivered_bytes"] == 3096000, run["not_delivered_bytes"]
assert run["totals"]["faults"] == 0 and run["totals"]["lost_bytes"] == 0, run["totals"]
outcome.says("not delivered 3,096,000 B: still to come when the device went away")
# A loss before that is one.
outcome, run = verdict("drop=512@200000&unplug=100@1000000", "replugged",
                       "; before that: lost: 512 bytes", expect=3)
assert run["totals"]["lost_bytes"] == 512, run["totals"]

# A device of the other protocol says so when it is asked.
e2e.measure("serial", "bench", "pc:link", "--timeout-ms", 300, expect=1)[0].says(
    "the device speaks the link protocol", "millrace link bench")
