# SPDX-License-Identifier: Apache-2.0
"""link bench: verified both ways under damage; gaps are counted; a reset is an error."""
import e2e

for direction in ("in", "out"):
    outcome, document = e2e.measure("link", "bench", "pc:link", "--bytes", "1M", "--direction",
                                    direction)
    run = document["runs"][0]
    assert run["bytes"] == 1 << 20 and run["wrong_bytes"] == 0, run
    assert run["wire_ratio"] < 1.012 and run["ack_ratio"] < 0.01, run
    assert run["port"]["is_pty"] and run["ceiling_bytes_per_s"] == 0, run
    outcome.says("not USB: no ceiling", "port /dev/pts/", "0 bytes wrong")
    assert max(map(len, outcome.out.splitlines())) <= 100, outcome
# Too little for ratios.
outcome = e2e.millrace("link", "bench", "pc:link", "--bytes", "12")
outcome.says("received 12 bytes", "on the wire ")
assert " %" not in outcome.out and "MB/s" not in outcome.out, outcome

outcome, document = e2e.measure("link", "bench", "pc:link", "--bytes", "2M", "--table")
assert [run["wrong_bytes"] for run in document["runs"]] == [0] * 6
assert document["runs"][2]["statistics"]["damaged_frames"] >= 20, document["runs"][2]

# A producer at 200 MB/s that does not wait, on a link of 2 MB/s.
outcome, document = e2e.measure("link", "bench", "pc:link?rate=2000000", "--bytes", "4M", "--rate",
                                "200000000", "--drop", expect=1)
assert document["failed"]
run = document["runs"][0]
assert run["statistics"]["gap_bytes"] > 0 and run["wrong_bytes"] == 0, run
assert run["bytes"] + run["statistics"]["gap_bytes"] == 4 << 20, run

e2e.measure("link", "bench", "pc:link?unplug=100@500000", "--bytes", "1M")[0].says("replugs 1")
# Far enough in for the reading thread, which the port is taken away from.
e2e.measure("link", "bench", "pc:link?unplug=10@9000000", "--bytes", "20M")[0].says(
    "replugs 1", "0 bytes wrong")
outcome = e2e.millrace("link", "bench", "pc:link?reset=100@500000", "--bytes", "10M", expect=3)
outcome.says("the device has started anew")
outcome = e2e.millrace("link", "bench", "pc:link?reset_silent=@500000", "--bytes", "10M", expect=3)
outcome.says("the device has started anew")

# Peers that do not speak it.
e2e.fails("link", "bench", "pc:?garbage", "--timeout-ms", "300", expect=1, says="sends text: ERROR")
e2e.fails("link", "bench", "pc:?mute", "--timeout-ms", "300", expect=1, says="no answer")
e2e.fails("link", "bench", "pc:", "--timeout-ms", "300", expect=1,
          says="speaks the measuring protocol (use `millrace serial`")
e2e.fails("link", "bench", "pc:", "--timeout-ms", "300", "--table", expect=2, says="--table needs")
e2e.fails("link", "receive", "pc:link", expect=2, says="--output FILE")
