# SPDX-License-Identifier: Apache-2.0
"""Every option out of range: one sentence that names it and says what would be right, exit 2."""
import e2e

BENCH = ("serial", "bench", "pc:")
BAD = {
    "--frame-size": ("0", "16777217", "-1", "4KB", "", "1e3", "99999999999999999999"),
    "--frames": ("0", "4294967296", "x", "-5"),
    "--ack": ("always", "window:0", "window:65536", "window:"),
    "--direction": ("sideways", ""),
    "--seed": ("-1", "4294967296", "0xg"),
    "--repeat": ("0", "10001"),
    "--timeout-ms": ("0", "3600001", "1.5"),
    "--protocol": ("modern",),
    "--read-size": ("0", "17M"),
    "--counters-ms": ("-1", "3600001"),
    "--discard-after-ms": ("0",),
    "--dtr": ("up", "1"),
    "--rts": ("maybe",),
    "--follow-ms": ("3600001",),
    "--json": ("",),
}
for option, values in BAD.items():
    for value in values:
        e2e.fails(*BENCH, option, value, expect=2, says=(option, "must"))
    e2e.fails(*BENCH, option, expect=2, says=(option, "needs a value"))
for option, value in (("--frame-sizes", "128,,256"), ("--frame-sizes", "4K,4096"),
                      ("--acks", "each,window:1"), ("--acks", "none,all"), ("--bytes", "0"),
                      ("--ack-frames", "0")):
    e2e.fails("serial", "sweep", "pc:", option, value, expect=2, says=(option, "must"))
e2e.fails("serial", "soak", "pc:", "--phase", "wait", expect=2, says=("--phase wait", "replug"))
e2e.fails(*BENCH, "--frmes", "3", expect=2, says="did you mean --frames?")
e2e.fails(*BENCH[:2], "--", "pc:", "--frames", "3", expect=2, says=("--frames", "behind --"))
e2e.fails("ports", "--", "x", expect=2, says="unknown argument x")
e2e.millrace(*BENCH[:2], "--frames", "3", "--", "pc:")
e2e.fails("serial", "bench", expect=2, says="needs PORT")
e2e.fails("serial", expect=2, says="bench, sweep or soak")
e2e.fails(expect=2, says="needs a command")
e2e.fails("serial", "bnech", expect=2, says="did you mean bench?")
e2e.fails("device", "pc", "--faults", "drop=x", expect=2, says="drop")
e2e.fails("completion", "tcsh", expect=2, says="bash, zsh or fish")
for option in ("--seed", "--frames", "--json", "--timeout-ms"):
    e2e.fails(*BENCH, option, "1", option, "2", expect=2, says=(option, "only once"))
e2e.fails(*BENCH, "--json", "/no/such/folder/x.json", expect=1, says="/no/such/folder/x.json")
e2e.fails("serial", "sweep", "pc:", "--json", "-", "--csv", "-", expect=2, says="only one of")
