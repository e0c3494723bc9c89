// SPDX-License-Identifier: Apache-2.0
// The USB device of a program: made once, given its functions, started. What a function needs in
// memory is linked in only with programs that add it.
#pragma once

#include <cstdint>

#include "firmware/ports/rt1062/usb/usb_chip.h"
#include "firmware/ports/rt1062/usb/usb_device.h"

namespace millrace::rt1062 {

struct UsbBoard {
  UsbChip& chip;
  UsbDevice& device;
};

// Call once. `identity` must stay.
UsbBoard make_usb_board(const UsbIdentity& identity);
// On the bus, with the functions added so far.
void start_usb_board(const UsbBoard& board);

// OCOTP_MAC0 and OCOTP_MAC1: what makes this board's numbers its own.
struct BoardFuses {
  uint32_t mac0;
  uint32_t mac1;
};
BoardFuses read_board_fuses();

}  // namespace millrace::rt1062
