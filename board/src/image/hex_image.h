// SPDX-License-Identifier: Apache-2.0
// Intel HEX (Intel, Hexadecimal Object File Format Specification, revision A, 1988).
#pragma once

#include <string>
#include <string_view>

#include "millrace/board/image.h"

namespace millrace::board {

// True if the first line that is not blank is `:` and an even number of hex digits, enough for a
// record. Its checksum may be wrong: that is for parse_hex() to say.
bool is_hex(std::string_view text);

// Returns an empty string and fills segments, entry and notes, or one sentence that names the line.
// Data anywhere in the 32-bit address space is kept: who loads it decides.
std::string parse_hex(const std::string& path, std::string_view text, Image* out);

}  // namespace millrace::board
