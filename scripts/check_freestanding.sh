#!/bin/sh
# Fails if link/ built for the microcontroller needs a symbol it must not need.
# usage: check_freestanding.sh BUILD_DIR   (after: cmake --preset arm; cmake --build build/arm)
set -eu
archive=$1/link/libmillrace_link.a
[ -f "$archive" ] || { echo "error: no $archive (build the preset arm first)" >&2; exit 2; }
nm=${NM:-arm-none-eabi-nm}
defined=$(mktemp)
trap 'rm -f "$defined"' EXIT
{
  "$nm" --defined-only "$archive" | awk 'NF == 3 {print $3}'
  printf '%s\n' memcpy memmove memset memcmp
} | sort -u >"$defined"
extra=$("$nm" -u "$archive" | awk '$1 == "U" {print $2}' | sort -u | comm -23 - "$defined")
if [ -n "$extra" ]; then
  echo "error: link/ is freestanding but needs:" >&2
  echo "$extra" | c++filt >&2
  exit 1
fi
# Data that can change would be shared by all verifiers of a device.
mutable=$("$nm" "$archive" | awk 'NF == 3 && $2 ~ /^[dDbBcC]$/ {print $3}')
if [ -n "$mutable" ]; then
  echo "error: link/ has mutable globals:" >&2
  echo "$mutable" | c++filt >&2
  exit 1
fi
echo "link/ needs memcpy, memmove, memset, memcmp and nothing else"
