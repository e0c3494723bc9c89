# SPDX-License-Identifier: Apache-2.0
"""A sweep: every cell, failures marked, the same figures in text, JSON, CSV and Markdown."""
import csv
import json
import pathlib

import e2e

SMALL = ("--bytes", "256K", "--ack-frames", 64, "--repeat", 2)
with e2e.temporary_folder() as name:
    folder = pathlib.Path(name)
    files = {kind: folder / ("sweep." + kind) for kind in ("json", "csv", "markdown")}
    outputs = [word for kind, path in files.items() for word in ("--" + kind, path)]
    whole = e2e.millrace("serial", "sweep", "pc:", *SMALL, *outputs)
    document = e2e.validate(json.loads(files["json"].read_text()))
    sizes = (128, 256, 512, 1024, 2048, 4096)
    assert [(c["frame_size"], c["ack"]) for c in document["cells"]] == [
        (size, ack) for size in sizes for ack in ("none", "each")], document["cells"]
    assert all(len(c["runs"]) == 2 and c["failed"] == 0 for c in document["cells"])
    assert whole.out.splitlines()[2].split() == ["frame", "B", "ack", "none", "MB/s", "ack",
                                                 "each", "MB/s"], whole.out
    whole.says("not USB", "+- SD", "0/2 (0 %)")
    rows = list(csv.DictReader(files["csv"].open()))
    for row, cell in zip(rows, document["cells"], strict=True):
        assert float(row["mean_bytes_per_s"]) == round(cell["bytes_per_s"]["mean"]), (row, cell)
    assert files["markdown"].read_text().startswith("| frame B | ack none MB/s | ack each MB/s |")

# A drop beyond 64 KiB harms only cells that send as much: 256 KiB does, 64 frames of 128 B do not.
outcome, document = e2e.measure("serial", "sweep", "pc:?drop=512@65536", *SMALL, "--frame-sizes",
                                "128", expect=1)
none, each = document["cells"]
assert none["failure_rate"] == 1 and each["failure_rate"] == 0, document["cells"]
assert none["runs"][0]["first_faults"][0].startswith("lost 512 bytes at offset 65,536"), none
outcome.says("2/2 (100 %)", "* a run failed, - none passed", "1 whole 512-byte packet")
assert outcome.out.splitlines()[4].split()[:2] == ["128", "-"], outcome.out
