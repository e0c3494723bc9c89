// SPDX-License-Identifier: Apache-2.0
// Data to the PC without losing a byte silently, under Zephyr: `millrace link bench`, `receive`,
// `send` on the host. The demonstration device answers; an application of its own sets
// LinkDeviceOptions::demo to false and writes to device.data() (docs/link.md).
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "firmware/app/link_device.h"
#include "firmware/ports/zephyr/uart_port.h"
#include "usb_serial.h"

namespace {

using namespace millrace::firmware;

// Bridges a stall of 23 ms at 4 MB/s.
LinkMemory<23 * (4096 + 20), 64> memory;
uint8_t tx_memory[8192], rx_memory[8192];

UartPort& port() {
  static UartPort port([] {
    UartPortOptions o;
    o.uart = usb_serial_uart();
    o.tx_memory = tx_memory;
    o.tx_bytes = sizeof(tx_memory);
    o.rx_memory = rx_memory;
    o.rx_bytes = sizeof(rx_memory);
    o.board = CONFIG_BOARD;
    o.usb_speed_mbit = 480;
    return o;
  }());
  return port;
}

}  // namespace

int main() {
  static LinkDevice device(port(), link_options(memory));
  int error = port().start();
  if (error == 0) error = usb_serial_start([] { port().set_link_lost(); });
  if (error != 0) {
    printk("USB serial port: error %d\n", error);
    return 0;
  }
  while (true) {
    if (port().take_link_lost()) device.link_lost();
    device.poll();
  }
}
