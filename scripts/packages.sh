#!/bin/sh
# Installs what is missing of the given groups of packages.txt.  usage: packages.sh GROUP...
# Does nothing, and needs no network and no root, when all of them are there.
set -eu
cd "$(dirname "$0")/.."
missing=
for group in "$@"; do
  for package in $(sed -n "s/^$group //p" packages.txt); do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
  done
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
if [ "$(id -u)" != 0 ]; then
  echo "error: these Debian packages are missing:$missing" >&2
  echo "       run: sudo apt-get install --no-install-recommends$missing" >&2
  exit 2
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { apt-get update && apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "error: apt-get could not install:$missing (the log is $log)" >&2
  exit 1
fi
rm -f "$log"
