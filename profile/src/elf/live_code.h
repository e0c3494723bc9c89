// SPDX-License-Identifier: Apache-2.0
// Which of the functions and line sequences of DWARF are in the program.
#pragma once

#include <cstdint>
#include <vector>

#include "elf/dwarf_functions.h"
#include "elf/dwarf_lines.h"
#include "elf/symbols.h"

namespace millrace::profile {

struct LiveRange {
  uint32_t low = 0, high = 0;
  uint32_t function = 0;  // in DwarfFunctions::functions
};

struct LiveCode {
  std::vector<LiveRange> ranges;        // sorted by low, each low once
  std::vector<LineSequence> sequences;  // the same
  size_t dropped_functions = 0;         // described, but not in the program
  size_t dropped_sequences = 0;
};

LiveCode find_live_code(const std::vector<Section>& sections, const SymbolTable& symbols,
                        const DwarfUnits& units, const DwarfFunctions& functions,
                        const LineTables& lines);

}  // namespace millrace::profile
