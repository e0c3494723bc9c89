// SPDX-License-Identifier: Apache-2.0
// Text out of LPUART6 (Serial1 of the Teensy: pin 1), 115200 baud, 8N1. Each call waits until the
// transmitter has taken everything. Not reentrant.
#pragma once

#include <cstdint>

namespace millrace::rt1062 {

void set_up_console();

void print_char(char c);
void print(const char* text);
// Decimal, right-aligned in `width` columns.
void print_decimal(uint32_t value, unsigned width = 0);
void print_signed(int32_t value, unsigned width = 0);
// value / 10^decimals: print_fixed(1234, 2) prints 12.34.
void print_fixed(uint32_t value, unsigned decimals, unsigned width = 0);
// Eight digits, no prefix.
void print_hex(uint32_t value);
// Text, then spaces up to `width` columns.
void print_padded(const char* text, unsigned width);

// Returns when the last stop bit has left.
void flush_console();

}  // namespace millrace::rt1062
