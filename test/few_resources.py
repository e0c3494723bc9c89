# SPDX-License-Identifier: Apache-2.0
"""Too little memory for a thread, too few descriptors: one sentence and an exit code, no abort."""
import pathlib
import resource
import subprocess

import e2e

MIB = 1 << 20
# A sanitizer's runtime maps terabytes before main(), and needs descriptors of its own.
sanitized = b"__asan_init" in pathlib.Path(e2e.MILLRACE).read_bytes()
said = 0
# From what the loader and an exception need to enough; in fine steps where threads and stacks begin to fit.
limits = [*range(13, 20), *(20 + i / 16 for i in range(48)), *range(24, 72, 4)]
for limit in limits if not sanitized else ():
    outcome = e2e.millrace(
        "serial", "bench", "pc:", "--frames", 64, expect=tuple(range(0, 128)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (int(limit * MIB),) * 2))
    said += outcome.err.count("millrace: ") == 1 and "ulimit -v" in outcome.err
assert said > 0 or sanitized

for limit in range(3, 16):
    outcome = e2e.millrace(
        "serial", "bench", "pc:", "--frames", 64, expect=(0, 1, 127),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    if outcome.code == 1 and not sanitized:
        assert outcome.err.count("\n") == 1 and "ulimit -n" in outcome.err, outcome
assert outcome.code == 0, outcome

# A program in C over the library: an error with a sentence, no abort.
client = pathlib.Path(e2e.MILLRACE).parent / "test/link_receive"
said = 0
with e2e.PcDevice("--protocol", "link") as device, e2e.temporary_folder() as folder:
    for limit in range(8, 40, 2) if not sanitized else ():
        done = subprocess.run(
            [client, device.path, pathlib.Path(folder) / "got", "source 3000000"],
            capture_output=True, text=True, timeout=e2e.DEADLINE_S,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * MIB, limit * MIB)))
        assert 0 <= done.returncode < 128, done
        said += "(end other programs)" in done.stderr
assert said > 0 or sanitized
