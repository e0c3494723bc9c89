#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first and only process of the guest that measures the echo device. INTERFACES has for each
# adapter in turn NAME:ADDRESS of the device; echo_guest.py knows what must come of it.
. /guest_lib.sh

names() { for pair in $(echo "$INTERFACES" | tr , ' '); do echo "${pair%%:*}"; done; }
all_there() { for each in $(names); do [ -e "/sys/class/net/$each" ] || return 1; done; }
none_there() { for each in $(names); do [ ! -e "/sys/class/net/$each" ] || return 1; done; }
attach() { guest_attach $HOST "$USBIP_PORT" 1-1 && until_true all_there; }
detach() { detach_device && until_true none_there; }
carrier() { [ "$(cat "/sys/class/net/$1/carrier")" = 1 ]; }
interface() { # NAME
  echo "driver $(basename "$(readlink "/sys/class/net/$1/device/driver")")"
  echo "address $(cat "/sys/class/net/$1/address")"
  echo "mtu $(cat "/sys/class/net/$1/mtu")"
  for file in /sys/class/net/"$1"/cdc_ncm/*; do
    [ ! -f "$file" ] || echo "$(basename "$file") $(cat "$file")"
  done
}
# The address comes from the device.
lease() { # NAME
  ip link set "$1" up && until_true carrier "$1" && udhcpc -i "$1" -n -q -s /bin/guest_lease &&
    ip addr show "$1"
}
bench() { # RESULT ADDRESS OPTION...
  result=$1
  shift
  millrace udp bench "$@" --passes 1 --step-ms 500 --late-ms 20000 --json "/out/$result.json"
}
turnaround() { # RESULT ADDRESS
  millrace turnaround usbmon0 --ping 20 --to "$2" --json "/out/$1.json" --save "/out/$1.pcapng"
}
pair() { # NAME ADDRESS
  step "interface_$1" interface "$1"
  step "lease_$1" lease "$1"
  step "ping_$1" ping -c 20 -i 0.02 -s 1400 "$2"
  step "udp_$1" guest_udp "$2"
  step "closed_$1" bench "closed_$1" "$2" --in-flight 4
  step "ladder_$1" bench "ladder_$1" "$2" --first 50 --width 50 --top 100
  step "turnaround_$1" turnaround "turnaround_$1" "$2"
}

step modules modules
step network network
echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range
printf '#!/bin/sh\n[ "$1" = bound ] || exit 0\nip addr add "$ip/$mask" dev "$interface"\n' >/bin/guest_lease
printf 'env >/out/lease_env_$interface.txt\n' >>/bin/guest_lease
chmod +x /bin/guest_lease
step attach attach
for pair in $(echo "$INTERFACES" | tr , ' '); do pair "${pair%%:*}" "${pair#*:}"; done
step detach detach
step reattach attach
first=${INTERFACES%%,*}
step lease_again lease "${first%%:*}"
step udp_again guest_udp "${first#*:}"
finish
