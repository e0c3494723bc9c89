// SPDX-License-Identifier: Apache-2.0
// A CDC-ECM function of a program, with its memory.
#pragma once

#include "firmware/ports/rt1062/usb/ecm_link.h"
#include "firmware/ports/rt1062/usb/usb_board.h"

namespace millrace::rt1062 {

// Call once, before the board is started. `mac_string`: which string the host's address is.
EcmLink& add_usb_ecm(const UsbBoard& board, uint8_t mac_string);

}  // namespace millrace::rt1062
