// SPDX-License-Identifier: Apache-2.0
// Gives back every byte of the serial port, as the first program of many a sketch does: for trying
// a host, a cable or a terminal program with something that keeps no protocol.
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/usb/usb_serial.h"

namespace millrace::rt1062 {
namespace {

constexpr size_t kBytes = 4096;
constexpr uint32_t kIdleUs = 10'000;

}  // namespace

void run_program() {
  print("Millrace USB serial echo on i.MX RT1062\n");
  UsbSerial usb = start_usb_serial();
  static uint8_t bytes[kBytes];
  size_t begin = 0, end = 0;
  while (true) {
    if (usb.port.take_link_lost()) begin = end = 0;
    if (begin == end) {
      begin = 0;
      end = usb.port.read(bytes, kBytes);
    }
    begin += usb.port.write(bytes + begin, end - begin);
    if (begin != end) continue;
    // The host may be waiting for the last of them: whatever came together goes back together.
    if (end != 0) {
      usb.port.flush();
    } else {
      usb.port.idle(kIdleUs);
    }
  }
}

}  // namespace millrace::rt1062
