#!/bin/sh
# The Windows program under Wine against the PC device of the Linux program.
# usage: run.sh MILLRACE_EXE MILLRACE_LINUX
# Needs wine (packages.txt, group wine). Everything is kept below build/wine, an own prefix included.
# Wine is no Windows: this proves the program, not drivers, speed or exclusive access (Wine lets a
# port be opened twice).
set -eu
exe=$(realpath "$1")
linux=$(realpath "$2")
work=$(realpath "$(dirname "$0")/../..")/build/wine
mkdir -p "$work"
cd "$work"
export WINEPREFIX="$work/prefix" WINEDEBUG=-all DISPLAY=
device=
failures=0

finish() {
  if [ -n "$device" ]; then
    kill "$device" 2>/dev/null || true
    wait "$device" 2>/dev/null || true
  fi
  wineserver -k >/dev/null 2>&1 || true
}
trap finish EXIT
trap 'exit 130' INT TERM

# run EXIT_CODE NAME ARGUMENT...: runs millrace.exe and compares its exit code.
run() {
  wanted=$1
  name=$2
  shift 2
  code=0
  timeout 120 wine "$exe" "$@" >"$name.out" 2>"$name.err" </dev/null || code=$?
  if [ "$code" != "$wanted" ]; then
    echo "FAILED $name: exit code $code, not $wanted: millrace.exe $*"
    sed 's/^/  /' "$name.out" "$name.err"
    failures=$((failures + 1))
    return 0
  fi
  echo "ok     $name"
}

# expect NAME TEXT: what the last run of that name printed holds TEXT.
expect() {
  if ! grep -q -- "$2" "$1.out" "$1.err"; then
    echo "FAILED $1: no '$2' in its output"
    sed 's/^/  /' "$1.out" "$1.err"
    failures=$((failures + 1))
  fi
}

# same NAME FILE OTHER: both files hold the same, and something.
same() {
  if [ ! -s "$2" ] || ! cmp "$2" "$3"; then
    echo "FAILED $1: $2 is not $3"
    failures=$((failures + 1))
  fi
}

# expect_json FILE EXPRESSION: EXPRESSION of Python holds for the document `d`.
expect_json() {
  if ! python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$1" "$2"; then
    echo "FAILED $1: not $2"
    failures=$((failures + 1))
  fi
}

# start_device [OPTION...]: the Linux program's PC device; `port` always leads to its PTY.
start_device() {
  rm -f device.fifo
  mkfifo device.fifo
  "$linux" device pc --link "$work/port" "$@" >device.fifo 2>device.log &
  device=$!
  exec 3<device.fifo
  read -r pty <&3  # the first line comes when the PTY is there
}

stop_device() {
  kill "$device"
  wait "$device" 2>/dev/null || true
  device=
  exec 3<&-
}

rm -f ./*.out ./*.err ./*.json
start_device
if [ ! -f "$WINEPREFIX/system.reg" ]; then
  echo "making a Wine prefix (once, about half a minute)"
  wineboot -i >wineboot.log 2>&1 || true
fi
# A hand-made link in dosdevices lasts only as long as wineserver; this entry lasts.
wine reg add 'HKLM\Software\Wine\Ports' /v COM7 /d "$work/port" /f >reg.log 2>&1
wineserver -k >/dev/null 2>&1 || true
wineserver -w >/dev/null 2>&1 || true

run 0 version --version
run 0 ports ports
expect ports COM7
run 0 ports_json ports --json ports.json
expect_json ports.json 'any(p["path"] == "COM7" for p in d["ports"])'

run 0 bench_in serial bench COM7 --frame-size 2048 --frames 2000 --json in.json
expect_json in.json 'd["command"] == "serial bench"'
run 0 bench_small serial bench COM7 --frame-size 128 --frames 8000
run 0 bench_ack serial bench COM7 --frame-size 512 --frames 200 --ack each
run 0 bench_window serial bench COM7 --frame-size 512 --frames 1000 --ack window:8
run 0 bench_out serial bench COM7 --frame-size 2048 --frames 500 --direction out
run 0 bench_both serial bench COM7 --frame-size 2048 --frames 500 --direction both
run 0 bench_name serial bench '\\.\com7' --frame-size 2048 --frames 100
run 3 absent serial bench COM99 --frames 10
expect absent COM99
expect absent COM7
run 2 bad_option serial bench COM7 --frame-size 0
run 2 bad_name serial bench usb:zzzz:1

# Damage must be found and named as on Linux.
stop_device
start_device --faults 'drop=1536@1000000'
run 1 lost serial bench COM7 --frame-size 2048 --frames 2000 --json lost.json
expect lost '1,\?536'

# A device that goes away ends the run with what was verified until then.
stop_device
start_device --faults 'unplug=60000@1000000'
run 3 gone serial bench COM7 --frame-size 2048 --frames 2000 --json gone.json
expect gone COM7

# The reliable stream over a line that loses bytes, both ways; then killed and gone on with.
stop_device
start_device --protocol link --faults 'drop=200@5000+100000'
run 0 link_bench link bench COM7 --bytes 8M --json link.json
expect_json link.json 'd["runs"][0]["wrong_bytes"] == 0 and d["runs"][0]["statistics"]["damaged_frames"] > 0'
run 0 link_receive link receive COM7 -o link.bin --command 'source 3000000'
run 0 link_send link send COM7 link.bin --command sink
expect link_send 'wrong 0'
rm -f killed.bin killed.bin.link
timeout 120 wine "$exe" link receive COM7 -o killed.bin --command 'source 3000000 rate 1000000' \
  >killed.out 2>&1 </dev/null &
for _ in $(seq 1 300); do
  [ "$(stat -c %s killed.bin 2>/dev/null || echo 0)" -lt 300000 ] || break
  sleep 0.1
done
wineserver -k >/dev/null 2>&1 || true  # as kill -9: no handler of the program runs
wineserver -w >/dev/null 2>&1 || true
wait $! 2>/dev/null || true
run 0 link_resume link receive COM7 -o killed.bin --resume
cmp link.bin killed.bin || { echo "FAILED link_resume: other bytes"; failures=$((failures + 1)); }
run 1 link_text link receive COM7 -o info.bin --command info --idle-ms 500
expect link_text 'ring bytes'
# What arrives is what the Linux program takes from a device of its own.
rm -f wanted.bin
"$linux" link receive pc:link -o wanted.bin --command 'source 3000000' >/dev/null
same link_receive link.bin wanted.bin
run 1 serial_on_link serial bench COM7 --frames 10
expect serial_on_link 'millrace link bench'

[ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
echo "all passed"
