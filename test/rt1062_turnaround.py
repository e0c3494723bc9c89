# SPDX-License-Identifier: Apache-2.0
"""The virtual board's own capture: our pairs are those that tshark's fields give, to the nanosecond
of its time stamps, and twice the same."""
import csv
import pathlib

import e2e
from captures import pairs_by_tshark
from e2e import SOURCE, measure, millrace

IMAGE = SOURCE / "build/arm/firmware/ports/rt1062/usb_stream_itcm.hex"


with e2e.temporary_folder() as name:
    folder = pathlib.Path(name)
    results = []
    for run in ("a", "b"):
        capture, pairs = folder / f"{run}.pcapng", folder / f"{run}.csv"
        millrace("serial", "bench", f"board:{IMAGE}?pcap={capture}", "--frames", "100", "--ack",
                 "each", "--frame-size", "512")
        outcome, result = measure("turnaround", capture, "--csv", pairs)
        outcome.says("OUT 3 to IN 4 of device 1.1, 16c0:0483, cdc_acm", "NAKs, microframes")
        results.append((pairs.read_text(), result["devices"]))
    assert results[0] == results[1], "two runs differ"
    rows = [row for row in csv.DictReader(results[0][0].splitlines())
            if int(row["in_end_ns"]) >= int(row["out_end_ns"])]
    ours = [(int(row["out_end_ns"]), int(row["in_end_ns"])) for row in rows]
    theirs = pairs_by_tshark(folder / "a.pcapng")
    assert len(ours) >= 100 and set(ours) <= set(theirs), (len(ours), len(theirs))
    assert len(theirs) - len(ours) <= 2, (len(ours), len(theirs))
