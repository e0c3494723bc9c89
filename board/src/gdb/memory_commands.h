// SPDX-License-Identifier: Apache-2.0
// The packets that read and write memory. Each takes what follows the packet's name and gives the
// reply.
#pragma once

#include <string>
#include <string_view>

#include "millrace/board/board.h"

namespace millrace::board::gdb {

// "E16": the packet makes no sense. "E0e": nothing there, or nothing that a debugger may touch.
// "E1c": no more of these. Numbers of errno, in hex.
inline constexpr const char* kBadPacket = "E16";
inline constexpr const char* kBadAddress = "E0e";
inline constexpr const char* kTooMany = "E1c";

std::string read_memory(Board& board, std::string_view arguments);          // m
std::string write_memory_hex(Board& board, std::string_view arguments);     // M
std::string write_memory_binary(Board& board, std::string_view arguments);  // X
std::string erase_flash(Board& board, std::string_view arguments);          // vFlashErase:
std::string write_flash(Board& board, std::string_view arguments);          // vFlashWrite:

}  // namespace millrace::board::gdb
