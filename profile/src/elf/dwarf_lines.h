// SPDX-License-Identifier: Apache-2.0
// Line tables by sequence. A sequence is what one DW_LNE_set_address starts: with
// -ffunction-sections, one function.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "elf/dwarf_units.h"

namespace millrace::profile {

struct LineRow {
  uint32_t address = 0;
  uint32_t file = kNone;  // index in LineTables::files
  uint32_t line = 0;
};

struct LineSequence {
  uint32_t low = 0, high = 0;
  uint64_t table = 0;  // offset in .debug_line
  uint32_t first_row = 0, rows = 0;
};

struct LineTables {
  std::vector<std::string> files;  // each once, full paths
  std::vector<LineRow> rows;       // of a sequence: in the order of addresses
  std::vector<LineSequence> sequences;
  // By table: the table's file numbers as indices in `files`.
  std::unordered_map<uint64_t, std::vector<uint32_t>> file_numbers;

  // kNone if the table has no such file.
  uint32_t file(uint64_t table, uint32_t number) const;
};

// Reads the table of every unit once. An empty string, or what is damaged; what was read before is
// kept.
std::string read_lines(const DwarfUnits& units, LineTables* out);

}  // namespace millrace::profile
