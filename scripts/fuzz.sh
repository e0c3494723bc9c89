#!/bin/sh
# Builds every fuzz target with libFuzzer and runs each for SECONDS, starting from its corpus.
# usage: fuzz.sh SECONDS   New inputs and crashes stay in build/fuzz/found/.
set -eu
seconds=${1:?usage: fuzz.sh SECONDS}
case $seconds in
  '' | *[!0-9]*) echo "error: SECONDS is a number, not '$seconds'" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
cmake --preset fuzz >/dev/null
targets=$(git ls-files '*_fuzz.cc')
names=
for file in $targets; do names="$names $(basename "$file" .cc)"; done
cmake --build build/fuzz --target $names
for file in $targets; do
  name=$(basename "$file" .cc)
  program=$(find build/fuzz -name "$name" -type f -perm -u+x | head -n 1)
  found=build/fuzz/found/$name
  mkdir -p "$found"
  echo "== $name, $seconds s"
  # libFuzzer cuts inputs at max_len, those of the corpus too; so it is more than the longest there.
  status=0
  "$program" -max_total_time="$seconds" -max_len=8192 -rss_limit_mb=1024 -timeout=20 -print_final_stats=1 \
    -artifact_prefix="$found/" "$found" "${file%.cc}_corpus" >"$found.log" 2>&1 || status=$?
  grep -E '^(stat::number_of_executed|broken|SUMMARY|==[0-9]+==ERROR)|runtime error|Test unit written' \
    "$found.log" || true
  if [ "$status" -ne 0 ] || ls "$found" | grep -qE '^(crash|oom|timeout|leak)-'; then
    echo "error: $name failed; the inputs are in $found, its words in $found.log" >&2
    exit 1
  fi
done
