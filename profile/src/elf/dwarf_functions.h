// SPDX-License-Identifier: Apache-2.0
// The functions and inlined calls that .debug_info describes, those that the linker threw away
// included: which of them live is for elf/live_code.h to decide.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "elf/dwarf_units.h"

namespace millrace::profile {

// A call that was inlined. Nodes are stored in preorder: the children of node i are i + 1 up to
// (not with) subtree_end.
struct InlineNode {
  uint32_t first_range = 0, ranges = 0;   // in DwarfFunctions::ranges
  uint64_t origin = UINT64_MAX;           // DIE of what was inlined
  uint32_t call_file = 0, call_line = 0;  // in the unit's line table
  uint32_t subtree_end = 0;
};

struct DwarfFunction {
  uint32_t unit = 0;
  uint64_t die = 0;
  uint32_t first_range = 0, ranges = 0;
  uint32_t first_inline = 0, end_inline = 0;
};

// What a DIE says about itself, its origin and its specification together.
struct DwarfName {
  std::string_view name, linkage_name;
  uint32_t file = 0, line = 0;  // of the declaration, in `unit`'s line table
  const Unit* unit = nullptr;
};

struct DwarfFunctions {
  std::vector<DwarfFunction> functions;
  std::vector<InlineNode> inlines;
  std::vector<AddressRange> ranges;
};

// An empty string, or what is damaged; what was read before is kept.
std::string read_functions(const DwarfUnits& units, DwarfFunctions* out);

// Follows abstract_origin and specification, also into other units (link-time optimisation).
DwarfName name_of_die(const DwarfUnits& units, uint64_t die);

}  // namespace millrace::profile
