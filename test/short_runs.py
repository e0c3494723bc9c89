# SPDX-License-Identifier: Apache-2.0
"""Runs that are over before a thread has begun: what it takes to begin and to end makes no share of a
core larger than 1 (spec/result.md)."""
import e2e

_, document = e2e.measure("serial", "bench", "pc:", "--frames", 8, "--frame-size", 64, "--repeat",
                          50)
runs = document["runs"]
assert len(runs) == 50
for run in runs:
    assert 0 <= run["cpu"]["read"] <= 1 and 0 <= run["cpu"]["verify"] <= 1, run["cpu"]
