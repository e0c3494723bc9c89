// SPDX-License-Identifier: Apache-2.0
// The reliable stream of spec/link_protocol.md over our own USB driver: `millrace link` on the
// host.
#include "firmware/app/link_device.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/usb/usb_serial.h"

namespace millrace::rt1062 {
namespace {

// Bridges a stall of 3.7 ms at the link's ceiling, of 49 ms at 4 MB/s.
firmware::LinkMemory<48 * (4096 + 20), 128> memory{};

}  // namespace

void run_program() {
  print("Millrace link on i.MX RT1062\n");
  UsbSerial usb = start_usb_serial();
  static firmware::LinkDevice device(usb.port, link_options(memory));
  while (true) {
    if (usb.port.take_link_lost()) device.link_lost();
    device.poll();
  }
}

}  // namespace millrace::rt1062
