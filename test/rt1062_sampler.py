# SPDX-License-Identifier: Apache-2.0
"""The sampler on the virtual board: `profile record` over UDP and serial, what it writes, what it
refuses; code behind BASEPRI has its share of the samples, code behind PRIMASK has none."""
import json
import os
import re
import signal
import struct
import subprocess
import time

import e2e
from e2e import SOURCE, fails, measure, millrace, temporary_folder

IMAGES = SOURCE / "build/arm/firmware/ports/rt1062"
HEAVY = f"{IMAGES}/usb_echo_heavy_ecm_flash.elf"
SHORT = ("--interval", "10", "--samples", "3000")
# Chi-square of 1 degree of freedom is above 23.93 with probability 1e-6.
LIMIT = 23.93


def rows(text):
    out = {}
    for line in text.splitlines():
        match = re.match(r"([a-zA-Z ]+?) +(\d+)(?: +(\d+))?$", line)
        if match:
            out.setdefault(match[1], []).append([int(n) for n in match.groups()[1:] if n])
    return out


def check_locks(variant):
    got = rows(millrace("board", "run", f"{IMAGES}/sampler_locks_{variant}.elf", "--seconds", "1").out)
    (masked,) = got["behind PRIMASK"]
    for i, name in enumerate(("behind BASEPRI", "own stack")):
        open_row, (other,) = got["open"][i], got[name]
        samples, cycles = open_row[1] + other[1], open_row[0] + other[0]
        chi_square = sum((part[1] - samples * part[0] / cycles) ** 2 / (samples * part[0] / cycles)
                         for part in (open_row, other))
        print(f"{variant}: {name} {other[1]} of {samples} samples, chi-square {chi_square:.2f}")
        assert samples > 800 and chi_square < LIMIT, got
        assert got["overruns"][i] == [0], got
    # 100 times 3,000 rounds of 5 or more cycles: five and more intervals of 3,000 cycles each.
    assert masked[1] == 0 and got["overruns"][2][0] >= 100 * 3, got
    assert got["elsewhere"][2][0] >= 90, got  # what lets interrupts in again is charged for it


def header(data):
    magic, size = data[:8], struct.unpack_from("<I", data, 8)[0]
    assert magic == b"MRSAMPL\x01" and size == 128
    names = ("mode", "khz", "interval", "jitter", "records", "lost", "run", "handler", "events",
             "kind", "bytes")
    return dict(zip(names, struct.unpack_from("<IIIIQQQQQII", data, 16)))


for variant in ("flash", "itcm", "mixed"):
    check_locks(variant)

with temporary_folder() as folder:
    path = f"{folder}/run.samples"
    outcome, result = measure("profile", "record", f"board:{HEAVY}", "-o", path, *SHORT)
    outcome.says("3,000 samples of board:", "interval 6,000 cycles +- 25.0 % at 600 MHz",
                 "requests answered", "program build ID ")
    recording = result["recording"]
    assert recording["lost"] == recording["overruns"] == 0, recording
    assert 0 < recording["handler_cycles"] < 0.03 * recording["run_cycles"], recording
    with open(path, "rb") as file:
        got = header(file.read())
    assert (got["mode"], got["khz"], got["interval"], got["jitter"], got["records"], got["kind"],
            got["bytes"]) == (0, 600_000, 6_000, 250, 3000, 1, 20), got
    assert got["events"] == recording["events"] > 40, got
    _, result = measure("profile", HEAVY, path)
    profile = result["profile"]
    assert profile["busy"] / profile["total"] > 0.9, profile["busy"]
    # The host's count says the same: with one request under way the core's time is divided among
    # the echoes. 30 ms hold some sixty of them, one more or less is 2 %.
    cycles = 600e6 / recording["load"]["answered_per_s"] * profile["busy"] / profile["total"]
    assert abs(profile["cycles_per_event"] / cycles - 1) < 0.05, (profile["cycles_per_event"], cycles)
    # The same seed, the same board: the same file.
    again = f"{folder}/again.samples"
    measure("profile", "record", f"board:{HEAVY}", "-o", again, "--seed", "5", *SHORT)
    measure("profile", "record", f"board:{HEAVY}", "-o", path, "--seed", "5", *SHORT)
    with open(path, "rb") as one, open(again, "rb") as other:
        assert one.read() == other.read(), "two runs differ"
    # Another program is refused.
    fails("profile", f"{IMAGES}/usb_echo_heavy_ecm_itcm.elf", path, expect=1, says="build ID")
    fails("profile", "record", f"board:{HEAVY}", "-o", again, *SHORT, "--elf",
          f"{IMAGES}/usb_echo_heavy_ecm_itcm.elf", expect=1, says="runs another program")

    # Callers, in rounds: 3 words a record, 5,461 in the buffer. A board with nothing to do is idle.
    _, result = measure("profile", "record", f"board:{IMAGES}/usb_echo_ecm_itcm.elf", "-o", path,
                        "--mode", "callers", "--samples", "6000", "--interval", "5", "--load", "none")
    assert result["recording"]["rounds"] == 2 and result["recording"]["events"] == 0, result
    _, result = measure("profile", f"{IMAGES}/usb_echo_ecm_itcm.elf", path)
    assert result["profile"]["idle"] > 0.95 * result["profile"]["total"], result["profile"]["idle"]

    # Over the serial port of an image that has no network.
    outcome, result = measure("profile", "record", f"board:{IMAGES}/usb_stream_itcm.elf", "-o", path,
                              "--mode", "callers", *SHORT)
    outcome.says("stream: ", "0 faults")
    assert result["recording"]["samples"] == 3000, result["recording"]
    _, result = measure("profile", f"{IMAGES}/usb_stream_itcm.elf", path)
    assert result["profile"]["callers"], "no callers"
    # For a time instead of a number.
    _, result = measure("profile", "record", f"board:{HEAVY}", "-o", path, "--seconds", "0.02",
                        "--interval", "10", "--load", "udp:32@1000")
    assert 1990 <= result["recording"]["samples"] <= 2100, result["recording"]
    assert result["recording"]["load"]["sent"] in (19, 20), result["recording"]

    # Bad input.
    gone = f"{folder}/none.samples"
    record = ("profile", "record")
    fails(*record, f"board:{HEAVY}", expect=2, says="--output is missing")
    fails(*record, f"board:{HEAVY}", "-o", gone, "--interval", "1", expect=2, says="give 2 to")
    fails(*record, f"board:{HEAVY}", "-o", gone, "--load", "udp:5@3", expect=2, says="32 to 1472")
    fails(*record, f"board:{HEAVY}", "-o", gone, "--load", "lots", expect=2, says="no load")
    fails(*record, f"board:{HEAVY}", "-o", gone, "--samples", "5", "--seconds", "1", expect=2,
          says="give one")
    fails(*record, f"board:{HEAVY}", "-o", f"{folder}/no/such", expect=1, says="no/such")
    fails(*record, f"board:{IMAGES}/usb_echo_ecm_unsampled_itcm.elf", "-o", gone, expect=3,
          says="no sampler answers")
    fails(*record, f"board:{IMAGES}/hello_itcm.elf", "-o", gone, expect=3, says="no USB serial port")
    fails(*record, "udp:127.0.0.1:9", "-o", gone, "--load", "none", expect=3,
          says="no sampler answers")
    fails(*record, "pc:", "-o", gone, expect=3, says="has no sampler")
    fails(*record, expect=2, says="needs TARGET")
    fails("profile", expect=2, says="needs ELF")
    assert not os.path.exists(gone)

    # Ctrl-C: what came until then is written, and is a good file.
    process = subprocess.Popen(
        [e2e.MILLRACE, *record, f"board:{HEAVY}", "-o", gone, "--samples", "4000000", "--interval",
         "10"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)  # whatever it does then is right
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=e2e.DEADLINE_S)
    assert process.returncode == 130, (process.returncode, out, err)
    if os.path.exists(gone):
        measure("profile", HEAVY, gone)
