// SPDX-License-Identifier: Apache-2.0
// What raw mode is: one table, used to set a port, to verify it, and by the doctor to say what a
// port would do to the data.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

namespace millrace::host {

// `found` made 8-bit clean: no translation, echo, signals or flow control in either direction, 8N1,
// VMIN 1, VTIME 0. HUPCL stays as found. The baud rate stays if it is 115200 or more, else it
// becomes 115200: a CDC-ACM device ignores it, but 134 baud reboots a Teensy into its boot loader
// and 1200 baud many other boards.
termios raw_settings(const termios& found);

struct TermiosDifference {
  std::string flag;    // `ICRNL on`, `CS7`
  std::string effect;  // `0x0d arrives as 0x0a`
};

// How read() waits: for 1 byte, without a time limit.
bool has_raw_read_limits(const termios& settings);
void set_raw_read_limits(termios* settings);

// What in `settings` keeps the port from being 8-bit clean; empty: raw.
std::vector<TermiosDifference> differences_from_raw(const termios& settings);

// Bits per second; 0 for a rate without a constant of its own.
unsigned baud_rate(const termios& settings);

}  // namespace millrace::host
