# SPDX-License-Identifier: Apache-2.0
"""stdout and stderr that are closed or full: a sentence or silence, never a crash."""
import subprocess

import e2e

BENCH = "serial bench pc: --frames 100"


def shell(words, code, said=None):
    done = subprocess.run(["bash", "-c", f'"$0" {words}', e2e.MILLRACE], timeout=e2e.DEADLINE_S,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == code, (words, done)
    if said is not None:
        assert done.stderr.count("\n") == 1 and said in done.stderr, (words, done)


for full in (">/dev/full", ">&-"):
    for words in (BENCH, "completion bash", "ports", "--help", "--version", "serial bench --help",
                  "device pc"):
        shell(f"{words} {full}", 1, "millrace: write stdout: ")
for stderr in ("2>/dev/full", "2>&-"):
    shell(f"serial bench /dev/nope {stderr}", 3)
    shell(f"serial bench --nope {stderr}", 2)
    shell(f"{BENCH} {stderr}", 0)
    shell(f"{BENCH} --json - {stderr}", 0)
    shell(f"{BENCH} >/dev/full {stderr}", 1)
    shell(f"{BENCH} <&- >&- {stderr}", 1)

# The measurement is not lost with the report.
with e2e.temporary_folder() as folder:
    shell(f"{BENCH} --json {folder}/run.json >/dev/full", 1, "write stdout")
    e2e.validate(e2e.json.loads(open(f"{folder}/run.json").read()))

# With stdout closed the port must not become descriptor 1: the device would get the report.
with e2e.PcDevice("--faults", "classic") as device:
    shell(f"serial bench {device.path} --protocol classic --frames 16 --repeat 2 <&- >&- 2>&-", 1)
    shell(f"serial bench {device.path} --protocol classic --frames 16", 0)
