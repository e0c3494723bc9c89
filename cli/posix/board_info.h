// SPDX-License-Identifier: Apache-2.0
// What `millrace board info` says about an image.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json.h"
#include "millrace/board/boot_rom.h"
#include "millrace/board/image.h"

namespace millrace::cli {

// Bytes of an image in one memory.
struct MemoryUse {
  std::string_view name;
  uint32_t base = 0;
  uint32_t size = 0;    // of the memory, at most
  uint64_t runs = 0;    // sections that are there while the program runs, zero-filled ones too
  uint64_t stored = 0;  // what is loaded there
};

// One a memory of the board, in order of address.
std::vector<MemoryUse> memory_use(const board::Image& image);
// ITCM, flash, ...; "-": no memory there.
std::string memory_name(uint32_t address);
// The function that holds `address`; empty: none known.
std::string function_at(const board::Image& image, uint32_t address);

const char* kind_name(board::Image::Kind kind);  // elf, hex, binary
const char* start_name(board::StartKind start);  // as in the result file

// The report, several lines of at most 100 columns.
std::string board_report(const board::Image& image, const board::BootPlan& plan);

// The members of the result file (spec/result.md).
void add_board_json(Json* document, const board::Image& image, const board::BootPlan& plan);

}  // namespace millrace::cli
