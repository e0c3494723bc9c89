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
bench() ( # NAME OPTIONS...
  name=$1
  shift
  millrace serial bench $TTY --json "/out/$name.json" --timeout-ms 60000 "$@"
)
turnaround_start() { # NAME
  millrace turnaround usbmon0 --json "/out/$1.json" --csv "/out/$1.csv" --save "/out/$1.pcapng" \
    >"/out/$1.txt" 2>&1 &
  turnaround=$!
  until_true test -s "/out/$1.pcapng"
}
turnaround_end() { # NAME
  kill -INT $turnaround
  wait $turnaround
  echo $? >"/out/$1.code"
}

step modules modules
step network network
# All the traffic of this part fits into the kernel's ring: nothing can be dropped, however slow.
usbmon_start usbmon
turnaround_start dialogue
step attach attach
step device device
step doctor millrace doctor $TTY
step bench_ack bench bench_ack --frames 64 --ack each
turnaround_end dialogue
usbmon_end usbmon
# Here much may be, if this machine is busy.
turnaround_start stream
step bench_in bench bench_in --frames 1Ki --direction in
turnaround_end stream
step bench_out bench bench_out --frames 256 --direction out
step detach detach
step reattach attach
step bench_again bench bench_again --frames 256 --direction in
finish
