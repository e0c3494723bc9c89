#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first and only process of the guest with network interfaces: one after the other of the words
# NCM_PORT and ECM_PORT; net_guest.py knows what must come of it.
. /guest_lib.sh

DEVICE=192.168.7.1
ADDRESS=192.168.7.2
# cdc_ncm and cdc_ether call an interface usb0 whose address is locally administered.
NET=usb0

no_net() { [ ! -e /sys/class/net/$NET ]; }
connected() { [ "$(cat /sys/class/net/$NET/carrier)" = 1 ]; }
attach() { guest_attach $HOST "$1" 1-1 && until_true test -e /sys/class/net/$NET; }
detach() { detach_device && until_true no_net; }
interface() {
  echo "driver $(basename "$(readlink /sys/class/net/$NET/device/driver)")"
  echo "mac $(cat /sys/class/net/$NET/address)"
  echo "mtu $(cat /sys/class/net/$NET/mtu)"
}
up() { ip link set $NET up && until_true connected; }
# The device is the server; the script is called with what it gave.
dhcp() {
  # shellcheck disable=SC2016
  echo '#!/bin/sh
[ "$1" = bound ] && ip addr add "$ip/$mask" dev "$interface"
exit 0' >/tmp/dhcp.sh
  chmod +x /tmp/dhcp.sh
  udhcpc -i $NET -n -q -t 20 -s /tmp/dhcp.sh && ip addr show dev $NET | grep -F "inet $ADDRESS/24"
}
all_of() { # NAME PORT
  usbmon_start "$1_usbmon"
  step "$1_attach" attach "$2"
  step "$1_interface" interface
  step "$1_up" up
  step "$1_dhcp" dhcp
  step "$1_ping" ping -c 5 -W 60 $DEVICE
  step "$1_echo" guest_echo $DEVICE 7 50
  step "$1_counts" cat /sys/class/net/$NET/statistics/rx_errors /sys/class/net/$NET/statistics/tx_errors
  step "$1_detach" detach
  usbmon_end "$1_usbmon"
}

step modules modules
step network network
all_of ncm "$NCM_PORT"
all_of ecm "$ECM_PORT"
finish
