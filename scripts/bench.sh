#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every benchmark of a build folder, one after the other: the figures of docs/benchmarking.md.
# usage: scripts/bench.sh [BUILD_FOLDER] [ROUNDS]
set -eu
build=${1:-build/release}
rounds=${2:-5}
if [ ! -x "$build/bench/verify_speed" ]; then
  echo "bench: $build/bench holds no benchmarks: run make bench" >&2
  exit 2
fi
echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg 2>/dev/null || echo unknown)"
"$build/bench/verify_speed"
"$build/bench/crc_speed"
"$build/bench/serial_clients" "$rounds"
"$build/bench/memory_speed"
"$build/bench/board_speed" "$rounds"
"$build/bench/board_image_speed" "$rounds"
"$build/bench/usb_ceiling" -n "$rounds"
"$build/bench/echo_cycles"
/usr/bin/python3 -B "$(dirname "$0")/../bench/usb_soak.py" "$build/millrace" -n "$rounds"
/usr/bin/python3 -B "$(dirname "$0")/../bench/udp_table.py" "$build/millrace"
"$build/bench/capture_speed" 300 "$rounds"
if [ "$(id -u)" = 0 ]; then "$build/bench/udp_rate" -n "$rounds"; else echo "udp_rate: needs root"; fi
"$build/bench/symbolise" "$rounds"
/usr/bin/python3 -B "$(dirname "$0")/../bench/placement_quality.py" "$build" --small
python3 bench/link_goodput.py "$build/millrace" --repeat "$rounds"
