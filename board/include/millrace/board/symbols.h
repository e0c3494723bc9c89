// SPDX-License-Identifier: Apache-2.0
// Names of addresses.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/board/image.h"

namespace millrace::board {

// The function that holds `address`, or null. A function of size 0 (assembler) reaches to the next
// one, at most 64 KB.
const Symbol* function_at(const Image& image, uint32_t address);

// The name as written in C++, where it is mangled: `Serial::begin(unsigned int)`.
std::string readable_name(const Symbol& symbol);

// "main+0x12", or "0x60001234" where the image has no function.
std::string symbol_at(const Image& image, uint32_t address);

}  // namespace millrace::board
