#!/bin/sh
# The main job with no hardware: a verified sweep, a damaged stream that must be found out, one
# program on the virtual board from two memories, the USB of firmware on it under two hosts, and how
# long it takes to answer.
# usage: demo.sh MILLRACE      Writes out/demo*.json.
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
echo "A line that loses 200 bytes in every 100,000, raw and with the link protocol on top:"
echo
loss='drop=200@5000+100000'
"$millrace" serial bench "pc:?$loss" --frames 4Ki --json out/demo-raw.json >/dev/null && exit 1
"$millrace" link bench "pc:link?$loss" --bytes 8M --json out/demo-link.json >/dev/null
python3 scripts/demo_link.py out/demo-raw.json out/demo-link.json

echo
echo "One program on the virtual Teensy 4.1, once with its code in flash and once in ITCM. It fits into"
echo "the instruction cache, so flash costs it little, and the copy to ITCM at the start costs more:"
echo
programs=build/arm/firmware/ports/rt1062
for variant in flash itcm; do
  "$millrace" board run "$programs/kernels_$variant.hex" --stats --until "done" \
    --json "out/demo-board-$variant.json" >/dev/null
done
python3 scripts/demo_board.py flash=out/demo-board-flash.json ITCM=out/demo-board-itcm.json

echo
echo "Our measuring firmware on the virtual Teensy 4.1, every byte verified, as two hosts would see it."
echo "These figures are predictions of USB (docs/validation.md says how good they are):"
for host in xhci-desktop windows-serial; do
  echo
  "$millrace" serial sweep "board:$programs/usb_stream_itcm.hex?host=$host" \
    --frame-sizes 512,2K --acks none,each --bytes 1M --ack-frames 256 --repeat 1 \
    --json "out/demo-usb-$host.json"
done

echo
echo "How long that firmware takes to answer, from a capture of its USB (docs/turnaround.md): a frame"
echo "is acknowledged and the next one comes. Predicted, as the two above."
echo
"$millrace" serial bench "board:$programs/usb_stream_itcm.hex?pcap=out/demo-usb.pcapng" \
  --frame-size 512 --frames 1k --ack each >/dev/null
"$millrace" turnaround out/demo-usb.pcapng --json out/demo-turnaround.json

# How many UDP echoes a second, from which memory, and how long each takes. Predicted.
udp_echoes() {
  echo
  echo "UDP echoes of 32 bytes by firmware with the footprint of a real network application on"
  echo "the virtual board (docs/udp.md), its code in flash, then in ITCM. Predicted, as above:"
  for ladder in flash:1000:4000 itcm:4000:20000; do
    variant=${ladder%%:*} rates=${ladder#*:}
    echo
    "$millrace" udp bench "board:$programs/usb_echo_heavy_ecm_$variant.elf" --first "${rates%:*}" \
      --width "${rates%:*}" --top "${rates#*:}" --step-ms 200 --json "out/demo-udp-$variant.json"
  done
  echo
  echo "Its turnaround in ITCM, from a capture of 300 requests, the end of each to the end of its reply:"
  echo
  "$millrace" udp bench "board:$programs/usb_echo_heavy_ecm_itcm.elf?pcap=out/demo-udp.pcapng" \
    --first 300 --top 300 --step-ms 1000 --no-aftermath >/dev/null
  "$millrace" turnaround out/demo-udp.pcapng --json out/demo-udp-turnaround.json
}
udp_echoes

# The whole loop: which code should stand in fast memory, what that would give, what it gives.
placement() {
  echo
  echo "The same firmware tuned (docs/placement.md): a trace of it in flash says what to move to 32 KB of"
  echo "ITCM; it is rebuilt with that list, checked and measured. Cycles are core cycles an echo:"
  echo
  "$millrace" tune board:build/arm --budget 32K --work out/demo-tune --json out/demo-tune.json
}
placement

echo
echo "Results (spec/result.md): out/demo.json, demo-damaged.json, demo-raw.json, demo-link.json,"
echo "demo-board-*.json, demo-usb-*.json, demo-turnaround.json, demo-udp-*.json,"
echo "demo-tune.json"
echo "With a board: $millrace ports, then $millrace serial bench PORT (docs/cli.md)"
