# SPDX-License-Identifier: Apache-2.0
"""PC to device, both at once, and windows: the device's own counters confirm every byte."""
import e2e

SIZE = 600 * 1023
for direction, ack in (("out", "none"), ("out", "each"), ("out", "window:8"), ("both", "none"),
                       ("in", "window:8")):
    outcome, document = e2e.measure("serial", "bench", "pc:", "--direction", direction, "--ack",
                                    ack, "--frame-size", 1023, "--frames", 600)
    run = document["runs"][0]
    counters = run["device"]["counters"]
    assert run["in_bytes"] == (0 if direction == "out" else SIZE), run
    assert run["out_bytes"] == (0 if direction == "in" else SIZE), run
    assert counters["out_verified_bytes"] == run["out_bytes"], counters
    assert counters["in_accepted_bytes"] == run["in_bytes"], counters
    assert counters["out_faults"] == 0 and run["faults"] == [], counters
    if ack != "none":
        assert run["ack_round_trip_ns"]["count"] > 0, run["ack_round_trip_ns"]
e2e.millrace("serial", "bench", "pc:?classic", "--direction", "out", "--timeout-ms", 1000,
             expect=1).says("refused", "the classic protocol has no OUT stream")
