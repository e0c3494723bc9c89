// SPDX-License-Identifier: Apache-2.0
// Whether a virtual USB host can be made, without making one.
#pragma once

#include <string>

#include "millrace/board/usb_serial.h"

namespace millrace::board {

// Empty, or what is wrong with the profile's name or its lines: as Board::create() would say it.
std::string usb_host_problem(const UsbHostOptions& options);

}  // namespace millrace::board
