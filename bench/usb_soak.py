# SPDX-License-Identifier: Apache-2.0
"""What does a long run on the virtual board cost, and does its memory stay bounded?

1,048,576 frames of 512 bytes from firmware on the virtual board to a host that takes all that fits
(host=ideal), every byte compared by `serial bench`. The rate is simulated; time is that of the whole
process. Peak memory stands beside that of a run of one 64th: what grows with the run would show.

usage: usb_soak.py MILLRACE [-n RUNS] [IMAGE...]      IMAGE: firmware with the nine-byte handshake
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

FRAME, FRAMES = 512, 1 << 20
IMAGE = pathlib.Path(__file__).parents[1] / "build/arm/firmware/ports/rt1062/usb_stream_itcm.hex"


def peak_kib(pid):
    """The most resident memory so far; 0 once it has ended."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def run(millrace, image, frames):
    """(simulated bytes a second, CPU s, wall s, peak KiB) of one verified run."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"
        process = subprocess.Popen(
            [millrace, "serial", "bench", f"board:{image}?host=ideal", "--protocol", "classic",
             "--frame-size", str(FRAME), "--frames", str(frames), "--json", result],
            stdout=subprocess.DEVNULL)
        begun = time.monotonic()
        peak, pid = 0, 0
        while pid == 0:
            # Not ru_maxrss: that of a child includes what this interpreter had at fork().
            peak = peak_kib(process.pid) or peak
            time.sleep(0.02)
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        wall = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{image}: serial bench ended with {process.returncode}")
        bench = json.loads(result.read_text())["runs"][0]
    if bench["in_bytes"] != FRAME * frames or bench["faults"]:
        sys.exit(f"{image}: bytes are missing or wrong")
    return bench["bytes_per_s"], usage.ru_utime + usage.ru_stime, wall, peak


parser = argparse.ArgumentParser()
parser.add_argument("millrace")
parser.add_argument("-n", type=int, default=5)
parser.add_argument("images", nargs="*", default=[IMAGE])
options = parser.parse_intermixed_args()
print(f"usb_soak: {FRAMES:,} frames of {FRAME} B, in, host=ideal, every byte compared, "
      f"{options.n} runs; ceiling 53.248 MB/s")
for image in options.images:
    short = run(options.millrace, image, FRAMES // 64)
    runs = [run(options.millrace, image, FRAMES) for _ in range(options.n)]
    cpu = sorted(row[1] for row in runs)
    print(f"  {pathlib.Path(image).name}: {runs[0][0] / 1e6:.2f} MB/s simulated; CPU "
          f"{statistics.median(cpu):.1f} s ({cpu[0]:.1f} to {cpu[-1]:.1f}), wall "
          f"{statistics.median(row[2] for row in runs):.1f} s; peak memory "
          f"{max(row[3] for row in runs) / 1024:.1f} MiB, of {FRAMES // 64:,} frames "
          f"{short[3] / 1024:.1f} MiB")
