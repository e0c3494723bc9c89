#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first and only process of the guest with a serial port; linux_guest.py knows what must come of
# it.
TTY=/dev/ttyACM0
. /guest_lib.sh

no_tty() { [ ! -e $TTY ]; }
attach() { guest_attach $HOST "$USBIP_PORT" 1-1 && until_true test -c $TTY; }
detach() { detach_device && until_true no_tty; }
device() ( # a process of its own: it goes elsewhere
  cd "$(readlink -f /sys/class/tty/ttyACM0/device)/.." || exit 1
  for file in idVendor idProduct speed manufacturer product bNumInterfaces bConfigurationValue; do
    echo "$file $(cat $file)"
  done
  for interface in *:*; do
    echo "driver $(basename "$(readlink "$interface/driver")")"
  done
)
bench() { millrace serial bench $TTY --json "/out/$1.json" --frames "$2" --direction "$3" --timeout-ms 60000; }

step modules modules
step network network
usbmon_start usbmon
millrace turnaround usbmon0 --json /out/turnaround.json --csv /out/pairs.csv \
  --save /out/live.pcapng >/out/turnaround.txt 2>&1 &
turnaround=$!
until_true test -s /out/live.pcapng
step attach attach
step device device
step doctor millrace doctor $TTY
step bench_in bench bench_in 1Ki in
kill -INT $turnaround
wait $turnaround
echo $? >/out/turnaround.code
usbmon_end usbmon
step bench_out bench bench_out 256 out
step detach detach
step reattach attach
step bench_again bench bench_again 256 in
finish
