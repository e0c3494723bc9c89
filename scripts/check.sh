#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What CI checks besides tests: format, includes, clang-tidy on what changed.
# MILLRACE_TIDY_BASE: the commit to compare with (default: 5 commits back, or everything).
set -eu
cd "$(dirname "$0")/.."

git ls-files '*.cc' '*.h' | xargs clang-format-14 --dry-run -Werror
echo "format: ok"
python3 scripts/check_includes.py

base=${MILLRACE_TIDY_BASE:-$(git rev-parse -q --verify HEAD~5 || git hash-object -t tree /dev/null)}
cmake --preset release >/dev/null
python3 scripts/check_names.py build/release
cmake --build build/release -j "$(nproc)" --target benches
cmake --preset dev >/dev/null  # files one by one, for clang-tidy
# Windows sources and microcontroller sources are compiled by the cross builds alone; of tests the
# sanitizers say more than clang-tidy, at a third of its time.
files=$(git diff --name-only --diff-filter=d "$base" -- '*.cc' |
  grep -v -e '_test\.cc$' -e '/testing/' -e '/windows/' -e 'ports/teensyduino/' -e 'ports/template/' \
    -e 'ports/rt1062/[^/]*$' -e 'ports/rt1062/programs/' -e 'link/src/arm64/' -e 'link/src/cortex_m7/' \
    -e 'link/src/portable/' -e '/usb_\(chip\|serial\|board\|ncm\|ecm\)\.cc$' \
    -e '/sampler_chip\.cc$' -e '^zephyr/' -e '/fake_[a-z_]*\.cc$' ||
  true)
if [ -n "$files" ]; then
  echo "$files" | xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build/dev --quiet 2>/dev/null
  echo "clang-tidy: $(echo "$files" | wc -l) files ok"
fi
