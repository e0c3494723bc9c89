// SPDX-License-Identifier: Apache-2.0
// The symbol table as functions, data objects and values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "elf/elf_file.h"

namespace millrace::profile {

// An address range that belongs to one function; ranges do not overlap.
struct CodeRange {
  uint32_t start = 0, end = 0;
  uint32_t function = kNone;  // index
};

// From `address` on, within its section, there is data or code ($d, or $t, $a and $x).
struct MappingSymbol {
  uint32_t address = 0;
  bool is_data = false;
};

struct SymbolTable {
  std::vector<Function> functions;  // sorted by start
  std::vector<CodeRange> ranges;    // sorted by start
  std::vector<DataObject> objects;  // sorted by address
  std::map<std::string, uint32_t> values;
  std::vector<MappingSymbol> mapping;  // sorted by address
  bool is_present = false;
};

// An empty string, or what is wrong. `sections`: those of file.sections().
std::string read_symbols(const ElfFile& file, const std::vector<Section>& sections,
                         SymbolTable* out);

// Sorts the functions, gives each unsized one its extent and computes `ranges` anew: after
// functions were added.
void arrange_functions(const std::vector<Section>& sections, SymbolTable* table);

// The range that holds `address`, or null.
const CodeRange* find_range(const std::vector<CodeRange>& ranges, uint32_t address);

// The section that holds `address`, or kNone. Of overlapping ones the last that starts below it;
// the search goes back over 32 sections, which is far more than ever overlap.
uint32_t find_section(const std::vector<Section>& sections, uint32_t address);

}  // namespace millrace::profile
