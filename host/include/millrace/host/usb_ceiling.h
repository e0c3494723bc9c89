// SPDX-License-Identifier: Apache-2.0
// What bulk transfers carry at most (USB 2.0, tables 5-9 and 5-10): 19 packets of 64 bytes a frame
// of 1 ms at full speed, 13 of 512 bytes a microframe of 125 us at high speed.
#pragma once

namespace millrace::host {

// Bytes a second, 0 for a speed without bulk transfers or one that is not known.
constexpr double usb_ceiling_bytes_per_s(double speed_mbit) {
  if (speed_mbit == 480) return 13.0 * 512 * 8000;
  if (speed_mbit == 12) return 19.0 * 64 * 1000;
  return 0;
}

}  // namespace millrace::host
