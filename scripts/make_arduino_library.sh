#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Assembles the self-contained Arduino library: the Teensyduino port with link/ and firmware/app.
# usage: make_arduino_library.sh [--check] [FOLDER]     FOLDER: out/arduino/MillraceStream
# --check also compiles all of it with arm-none-eabi-g++ against the stub headers.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
check=
if [ "${1:-}" = --check ]; then check=1; shift; fi
to=${1:-$root/out/arduino/MillraceStream}
case $to in
  */MillraceStream) ;;
  *) echo "error: $to: the folder must be called MillraceStream, as the library is" >&2; exit 2 ;;
esac
port=$root/firmware/ports/teensyduino
rm -rf "$to"
mkdir -p "$to/src/firmware/app/sampler" "$to/src/firmware/port" "$to/src/link"
cp "$port/library.properties" "$port/library.json" "$root/LICENSE" "$to/"
cp -R "$port/examples" "$to/"
cp -R "$root/link/include/millrace" "$to/src/"

# Arduino compiles *.cpp, not *.cc; tests and their doubles stay behind.
copy_sources() {
  for file in "$1"/*.cc; do
    case $file in *_test.cc | *_bench.cc | *_fuzz.cc) continue ;; esac
    cp "$file" "$2/$(basename "$file" .cc).cpp"
  done
  for file in "$1"/*.h; do
    case $file in */fake_*.h | */device_fixture.h | */test_*.h) continue ;; esac
    if [ -e "$file" ]; then cp "$file" "$2/"; fi
  done
}
copy_sources "$root/link/src" "$to/src/link"
copy_sources "$root/link/src/cortex_m7" "$to/src/link"
copy_sources "$root/firmware/app" "$to/src/firmware/app"
copy_sources "$root/firmware/app/sampler" "$to/src/firmware/app/sampler"
copy_sources "$port/src" "$to/src"
cp "$root/firmware/port/port.h" "$root/firmware/port/sampler_port.h" "$to/src/firmware/port/"

if [ -n "$check" ]; then
  # The flags of Teensyduino for Teensy 4.1 that matter to a compiler.
  flags="-c -O2 -std=gnu++17 -mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16
         -fno-exceptions -fno-rtti -fno-threadsafe-statics -felide-constructors -Wall -Werror"
  objects=$(mktemp -d)
  trap 'rm -rf "$objects"' EXIT
  find "$to/src" -name '*.cpp' | while read -r file; do
    arm-none-eabi-g++ $flags -I"$port/stubs" -I"$to/src" "$file" -o "$objects/out.o"
  done
  for sketch in "$to"/examples/*/*.ino; do
    arm-none-eabi-g++ $flags -I"$port/stubs" -I"$to/src" -x c++ -include Arduino.h "$sketch" \
      -o "$objects/out.o"
  done
fi
echo "$to"
