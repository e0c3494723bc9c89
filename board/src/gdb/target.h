// SPDX-License-Identifier: Apache-2.0
// What the board is, in gdb's words: registers, their description, the memory map.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/board/board.h"

namespace millrace::board::gdb {

// Numbers of the description below: 0 to 23 as in board.h, then d0 to d15.
inline constexpr unsigned kFirstDouble = 24;
inline constexpr unsigned kRegisters = 40;

// Text for qXfer:features:read:target.xml (manual, G.5.1 "ARM Features").
const std::string& target_xml();
// Text for qXfer:memory-map:read. gdb asks for nothing outside of it: peripherals are left out,
// since looking at them could change them.
const std::string& memory_map_xml();

// Value as hex digits in the core's byte order. REQUIRES: number < kRegisters.
std::string register_hex(const Board& board, unsigned number);
// All of them, the reply to `g`.
std::string registers_hex(const Board& board);
// False: the digits are not those of one register. REQUIRES: number < kRegisters.
bool set_register(Board& board, unsigned number, std::string_view digits);
// `G`. False, and nothing was changed: not the digits of all registers.
bool set_registers(Board& board, std::string_view digits);

// Flash is written with vFlash packets, a sector at a time (W25Q64 data sheet: 4 KB).
inline constexpr uint32_t kFlashSector = 4096;
// The range lies in the flash.
bool in_flash(uint32_t address, uint32_t size);

}  // namespace millrace::board::gdb
