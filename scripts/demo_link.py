#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One damaged line, raw and with the link protocol, side by side, from the JSON of `serial bench` and of
`link bench`. Exit code 1 unless the raw one lost bytes and the other one none.
usage: demo_link.py RAW LINK"""
import json
import sys

raw, link = (json.load(open(path, encoding="utf-8"))["runs"][0] for path in sys.argv[1:])
totals, statistics = raw["totals"], link["statistics"]
rows = [("", "raw", "link protocol"),
        ("bytes that arrived right", f"{raw['in_bytes']:,}", f"{link['bytes'] - link['wrong_bytes']:,}"),
        ("bytes lost", f"{totals['lost_bytes']:,}", f"{statistics['gap_bytes']:,}"),
        ("places that were damaged", f"{totals['faults']:,}", f"{statistics['damaged_frames']:,}"),
        ("MB/s", f"{raw['bytes_per_s'] / 1e6:.1f}", f"{link['bytes_per_s'] / 1e6:.1f}"),
        ("wire bytes a byte", "1.0000", f"{link['wire_ratio']:.4f}")]
for text, left, right in rows:
    print(f"{text:28}{left:>16}{right:>16}")
intact = link["wrong_bytes"] == 0 and statistics["gap_bytes"] == 0 and not link["error"]
sys.exit(0 if totals["lost_bytes"] > 0 and intact else 1)
