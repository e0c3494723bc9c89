# SPDX-License-Identifier: Apache-2.0
# What the first process of each guest begins with. The kernel hands over unknown words of its command
# line as environment: ports of the host, which is 10.0.2.2. Every step leaves /out/NAME.txt and
# /out/NAME.code; what they must hold, the test knows that booted the guest.
HOST=10.0.2.2
VHCI=/sys/devices/platform/vhci_hcd.0
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
detach_device() { echo 0 >$VHCI/detach; }
modules() {
  for module in $(cat /modules/order); do
    insmod "/modules/$module.ko" || return 1
  done
}
network() {
  ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up
}
usbmon_start() { # NAME
  guest_usbmon /dev/usbmon0 "/out/$1.pcap" >"/out/$1.txt" 2>&1 &
  usbmon=$!
  until_true test -s "/out/$1.txt"
}
usbmon_end() { # NAME
  kill $usbmon
  wait $usbmon
  echo $? >"/out/$1.code"
}
finish() {
  dmesg >/out/dmesg.txt
  tar -c -C /out . | nc $HOST "$RESULTS_PORT"
  echo "guest: done"
  poweroff -f
}
