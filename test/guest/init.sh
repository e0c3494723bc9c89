#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first and only process of the guest. The kernel hands over unknown words of its command line
# as environment: USBIP_PORT and RESULTS_PORT of the host, which is 10.0.2.2. Every step leaves
# /out/NAME.txt and /out/NAME.code; what they must hold, linux_guest.py knows.
HOST=10.0.2.2
VHCI=/sys/devices/platform/vhci_hcd.0
TTY=/dev/ttyACM0
export PATH=/bin

/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /out /tmp

step() { # NAME COMMAND...
  name=$1
  shift
  echo "guest: $name"
  "$@" >"/out/$name.txt" 2>&1
  echo $? >"/out/$name.code"
}

# until COMMAND... holds, 60 s at most
until_true() {
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ $tries -le 600 ] || return 1
    sleep 0.1
  done
}
no_tty() { [ ! -e $TTY ]; }
attach() { guest_attach $HOST "$USBIP_PORT" 1-1 && until_true test -c $TTY; }
detach() { echo 0 >$VHCI/detach && until_true no_tty; }
modules() {
  for module in $(cat /modules/order); do
    insmod "/modules/$module.ko" || return 1
  done
}
network() {
  ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up
}
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
guest_usbmon /dev/usbmon0 /out/usbmon.pcap >/out/usbmon.txt 2>&1 &
usbmon=$!
until_true test -s /out/usbmon.txt
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
kill $usbmon
wait $usbmon
echo $? >/out/usbmon.code
step bench_out bench bench_out 256 out
step detach detach
step reattach attach
step bench_again bench bench_again 256 in
dmesg >/out/dmesg.txt
tar -c -C /out . | nc $HOST "$RESULTS_PORT"
echo "guest: done"
poweroff -f
