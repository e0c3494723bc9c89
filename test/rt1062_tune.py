# SPDX-License-Identifier: Apache-2.0
"""millrace tune on echo_heavy: it gets faster, what was predicted is within 10 % of what the rebuilt
firmware takes, the checks pass, and a firmware that does not build is a sentence."""
import fcntl
import json
import pathlib
import subprocess

from e2e import SOURCE, fails, measure, millrace, temporary_folder

FIRMWARE = SOURCE / "build/arm"

with temporary_folder() as scratch:
    work = pathlib.Path(scratch) / "tune"
    _, document = measure("tune", f"board:{FIRMWARE}", "--budget", "8K", "--rounds", "1",
                          "--step-ms", "50", "--work", work)
    stock, placed = document["tune"]["rounds"]
    assert placed["fast_bytes"] <= 8192, placed
    predicted = placed["predicted"]["predicted"]["busy"]
    assert abs(predicted / placed["cycles_per_event"] - 1) < 0.1, placed
    assert placed["predicted"]["low"] <= placed["cycles_per_event"] <= placed["predicted"]["high"]
    assert placed["cycles_per_event"] < 0.8 * stock["cycles_per_event"], document
    assert placed["check"]["status"] in ("passed", "warned"), placed["check"]

    # The same by hand: the list on the stock trace.
    image, trace, chosen = stock["image"], stock["trace"], placed["list"]
    outcome, document = measure("predict", image, trace, chosen, "--map", image[:-4] + ".map",
                                "--event", "millrace::firmware::EchoStack::echo")
    assert abs(document["predict"]["predicted"]["busy"] - predicted) < 1, outcome
    fails("predict", image, trace, chosen, "--event", "nothing", expect=2, says="has no function")
    fails("predict", image, image, chosen, expect=1, says="no trace")
    cut = pathlib.Path(scratch) / "cut.trace"
    cut.write_bytes(pathlib.Path(trace).read_bytes()[:100_000])
    fails("predict", image, cut, chosen, "--event", "millrace::firmware::EchoStack::echo",
          expect=1, says="less than twice")

    fails("tune", "pc:", "--budget", "8K", expect=2, says="give board:")
    fails("tune", f"board:{scratch}", "--budget", "8K", expect=2, says="is in no CMake build")
    fails("tune", f"board:{FIRMWARE}", "--budget", "8K", "--program", "nothing", expect=2,
          says="programs/nothing.cc")
    fails("tune", f"board:{FIRMWARE}", expect=2, says="--budget is missing")
    # What is wrong is found before anything is built: there is one line on stderr.
    for query, says in (("bogus=1", 'there is no parameter "bogus"'), ("host=nohost", "host=nohost"),
                        ("icache=maybe", "icache=maybe"), ("x", "KEY=VALUE")):
        fails("tune", f"board:{FIRMWARE}?{query}", "--budget", "8K", "--work", work, expect=2, says=says)
    for folder in ("/dev/full", "/dev/null/x", "/proc/x"):
        fails("tune", f"board:{FIRMWARE}", "--budget", "8K", "--work", folder, expect=2,
              says="that can be made and written")
    for folder in ("a;b", "a&b", "a$b", 'a"b', "a#b", "a?b"):
        fails("tune", f"board:{FIRMWARE}", "--budget", "8K", "--work", work / folder, expect=2,
              says="give a folder without it")
        assert not (work / folder).exists()
    # One at a time in a folder, and a lock that is left behind holds nobody up.
    with open(work / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fails("tune", f"board:{FIRMWARE}", "--budget", "8K", "--work", work, expect=2,
              says="another one works in it")

    # Ranked by the sampler instead: nearly as good as by the trace, and both are told.
    _, document = measure("tune", f"board:{FIRMWARE}", "--budget", "8K", "--rounds", "1", "--samples",
                          "--step-ms", "50", "--work", work)
    assert document["tune"]["ranked_by"] == "samples"
    stock, placed = document["tune"]["rounds"]
    assert pathlib.Path(stock["samples"]).read_bytes()[:7] == b"MRSAMPL"
    assert placed["fast_bytes"] <= 8192 and placed["check"]["status"] in ("passed", "warned"), placed
    assert placed["cycles_per_event"] < 0.8 * stock["cycles_per_event"], document
    assert placed["predicted_by_trace"]["predicted"]["busy"] < 0.8 * stock["cycles_per_event"], placed
