// SPDX-License-Identifier: Apache-2.0
// The USB serial port of a program: one call makes it.
#pragma once

#include <cstdint>

#include "firmware/ports/rt1062/usb/bulk_in.h"
#include "firmware/ports/rt1062/usb/bulk_out.h"
#include "firmware/ports/rt1062/usb/cdc_acm.h"
#include "firmware/ports/rt1062/usb/usb_board.h"
#include "firmware/ports/rt1062/usb/usb_device.h"
#include "firmware/ports/rt1062/usb/usb_port.h"

namespace millrace::rt1062 {

struct UsbSerial {
  UsbDevice& device;
  CdcAcm& line;
  BulkIn& in;
  BulkOut& out;
  UsbPort& port;
};

// A serial function. Call once, before the board is started. `other_work`: UsbPortOptions.
UsbSerial add_usb_serial(const UsbBoard& board, bool (*other_work)());
// The device that a Teensy 4.1 with serial only shows, on the bus. Call once.
UsbSerial start_usb_serial();

}  // namespace millrace::rt1062
