#!/bin/sh
# The main job with no hardware: a verified sweep, then a damaged stream that must be found out.
# usage: demo.sh MILLRACE      Writes out/demo.json and out/demo-damaged.json.
set -eu
millrace=${1:?usage: demo.sh MILLRACE}
fault='pc:?drop=1536@4194304'
mkdir -p out

echo "A sweep over frame sizes, every byte verified. The device runs on this machine behind a PTY,"
echo "so the figures say how fast this machine is, not how fast USB is."
echo
"$millrace" serial sweep pc: --json out/demo.json

echo
echo "The same device loses 1,536 bytes at offset 4,194,304. What is said of it:"
echo
code=0
"$millrace" serial bench "$fault" --json out/demo-damaged.json || code=$?
if [ "$code" != 1 ]; then
  echo "error: a damaged stream must end with exit code 1, this one ended with $code" >&2
  exit 1
fi
if ! grep -q '"kind": "lost"' out/demo-damaged.json; then
  echo "error: the loss is not named in out/demo-damaged.json" >&2
  exit 1
fi

echo
echo "Results: out/demo.json and out/demo-damaged.json (spec/result.md)"
echo "With a board: $millrace ports, then $millrace serial bench PORT (docs/cli.md)"
