# SPDX-License-Identifier: Apache-2.0
"""Each kind of damage to the stream is named and located, in the text and in the result file."""
import e2e

FRAMES = ("--frame-size", 2048, "--frames", 1024)  # 2 MiB
# fault, its kind, offset, length, verdict, what the text says
CASES = (
    ("drop=1536@1048576", "lost", 1048576, 1536, "lost_behind_device",
     "lost 1,536 bytes at offset 1,048,576 (frame 512, word 0) = 3 whole 512-byte packets at a "
     "2,048-byte boundary"),
    ("drop=1024@513024", "lost", 513024, 1024, "lost_behind_device",
     "(frame 250, word 256) = 1 whole 1,024-byte URB at a 1,024-byte boundary"),
    ("drop=4096@4096", "lost", 4096, 4096, "lost_behind_device",
     "(frame 2, word 0) = 2 whole 2,048-byte buffers at a 2,048-byte boundary"),
    ("drop=7@1001", "lost", 1001, 7, "lost_behind_device", "lost 7 bytes at offset 1,001"),
    ("dup=512@65536", "duplicated", 66048, 512, "duplicated",
     "duplicated 512 bytes (first seen at offset 65,536)"),
    ("flip=1@100000", "flipped", 100000, 1, "bit_errors",
     "flipped 1 bit in 1 byte at offset 100,000 (frame 48, word 424)"),
    ("insert=AT@200000", "inserted", 200000, 2, "foreign_writer", "41 54"),
    ("insert=hex:000102030405060708090a0b0c@0", "inserted", 0, 13, "foreign_writer",
     "00 01 02 03 04 05 06 07 08 09 0a 0b 0c"),
    ("stale=2@65536:1024", "stale_lines", 65536, 64, "cache_coherency",
     "2 cache lines of 32 bytes hold data from offset 64,512"),
)

for fault, kind, offset, length, verdict, text in CASES:
    outcome, document = e2e.measure("serial", "bench", "pc:?" + fault, *FRAMES, expect=1)
    run = document["runs"][0]
    assert [f["kind"] for f in run["faults"]] == [kind], (fault, run["faults"])
    found = run["faults"][0]
    assert (found["stream_offset"], found["length_bytes"]) == (offset, length), (fault, found)
    assert document["verdict"]["kind"] == verdict, (fault, document["verdict"])
    assert run["totals"]["faults_of_kind"][kind] == 1, (fault, run["totals"])
    assert run["end"] == "complete", (fault, run["end"])
    outcome.says(text, f"1 {kind}", document["verdict"]["sentence"])
