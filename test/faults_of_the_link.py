# SPDX-License-Identifier: Apache-2.0
"""What happens to the port as a whole: mangling, replug, reset, discard, stalls, odd reads."""
import e2e


def bench(fault, *options, expect=1, frames=1024):  # 2 MiB
    outcome, document = e2e.measure("serial", "bench", "pc:?" + fault, "--frame-size", 2048,
                                    "--frames", frames, *options, expect=expect)
    return outcome, document["runs"][0], document["verdict"]["kind"]


for fault, flag in (("mangle=igncr", "0x0d"), ("mangle=ixon", "0x11"), ("cooked", "0x0d")):
    outcome, run, verdict = bench(fault)
    assert verdict == "tty_mangling", (fault, verdict)
    outcome.says("not raw", flag)

outcome, run, verdict = bench("unplug=100@1048576", expect=3)
assert verdict == "replugged" and run["in_bytes"] == 1048576, run
assert run["replug"]["path"] != run["port"]["path"], run["replug"]
outcome.says("back as " + run["replug"]["path"])

outcome, run, verdict = bench("unplug=600000@1048576", "--follow-ms", 0, expect=3)
assert verdict == "device_gone" and run["in_bytes"] == 1048576, run

# 3 whenever the port went away: a script has to look for the device again.
for fault, code in (("reset=100@1048576", 3), ("reset_silent=@1048576", 1)):
    # The silent one is found by the silence; the other ends by itself.
    outcome, run, verdict = bench(fault, "--timeout-ms", 4000, expect=code)
    assert verdict == "device_reset" and run["end"] == "reset", (fault, run["end"])
    outcome.says("boot counter 1 before, 2 now")

# Odd pieces and a stall that is bridged harm nothing.
for fault in ("split=1&rate=200000000", "split=13", "split=511", "stall=150@524288"):
    outcome, run, verdict = bench(fault, expect=0, frames=64)
    assert run["in_bytes"] == 64 * 2048 and run["faults"] == [], (fault, run)
assert run["reads"]["longest_silence_ns"] == 0 or run["bridge_buffer_bytes"] > 0, run["reads"]
outcome.says("longest", "would bridge it")
