# SPDX-License-Identifier: Apache-2.0
"""A soak: every phase is a row; a fault fails its phases and is named; phases can be chosen."""
import e2e

outcome, document = e2e.measure("serial", "soak", "pc:", "--quick")
phases = {phase["name"]: phase for phase in document["phases"]}
assert list(phases) == ["long", "burst", "boundary", "reopen", "replug"], list(phases)
assert all(phase["status"] == "passed" for phase in phases.values()), phases
assert phases["boundary"]["runs"] == 9 * 4, phases["boundary"]  # sizes x in, out x none, each
outcome.says("all phases that ran passed", "replugged")

outcome, document = e2e.measure("serial", "soak", "pc:?drop=512@100000", "--quick", "--phase",
                                "long", "--phase", "reopen", expect=1)
status = {phase["name"]: phase["status"] for phase in document["phases"]}
# 64 frames of 512 bytes end before byte 100,000.
assert status == {"long": "failed", "reopen": "passed"}, status
outcome.says("lost 512 bytes at offset 100,000", "FAILED")

# Nobody sits at this terminal: the replug of a real port is left out, and says so.
with e2e.PcDevice() as device:
    e2e.millrace("serial", "soak", device.path, "--quick", "--phase", "replug").says(
        "not run", "run it from a terminal")
