#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first and only process of the guest with serial ports that echo. PORTS has the USB/IP port of
# each image in turn, KILLED and AFTER those of two boards that stream, of which the first is killed
# when this asks for it; serial_guest.py knows what must come of it.
. /guest_lib.sh

first_tty() { [ -c /dev/ttyACM0 ]; }
no_tty() { ! ls /dev/ttyACM* >/dev/null 2>&1; }
device() { ls -d /sys/bus/usb/devices/1-1; }
no_device() { ! device >/dev/null 2>&1; }
attach() { guest_attach $HOST "$1" 1-1 && until_true configured; }
configured() { [ "$(cat /sys/bus/usb/devices/1-1/bConfigurationValue 2>/dev/null)" = 1 ]; }
interfaces() (
  cd /sys/bus/usb/devices/1-1 || exit 1
  echo "idProduct $(cat idProduct)"
  for interface in *:*; do
    driver=none
    [ ! -e "$interface/driver" ] || driver=$(basename "$(readlink "$interface/driver")")
    echo "interface $(cat "$interface/bInterfaceClass") $driver"
  done
)
echoes() {
  for tty in /dev/ttyACM*; do
    [ -c "$tty" ] || continue
    echo "$tty"
    guest_tty "$tty" || return 1
  done
}
in_use() { # PROCESS
  ls -l "/proc/$1/fd" | grep -q ttyACM0
}
# The board's program is killed while the port is in use: it must go, and so must its user.
killed() {
  attach "$KILLED" && until_true first_tty || return 100
  millrace serial bench /dev/ttyACM0 --frames 100Mi --timeout-ms 60000 --follow-ms 0 &
  bench=$!
  until_true in_use $bench || return 101
  sleep 1
  echo "guest: kill it" >/dev/console
  wait $bench
  code=$?
  until_true no_tty && until_true no_device || return 102
  return $code
}
again() {
  attach "$AFTER" && until_true first_tty &&
    millrace serial bench /dev/ttyACM0 --frames 256 --timeout-ms 60000 --json /out/again.json
}

step modules modules
step network network
number=0
for port in $(echo "$PORTS" | tr , ' '); do
  step "attach_$number" attach "$port"
  step "interfaces_$number" interfaces
  step "echo_$number" echoes
  step "detach_$number" detach_device
  until_true no_tty
  until_true no_device
  number=$((number + 1))
done
if [ -n "$KILLED" ]; then
  step killed killed
  step again again
fi
finish
