// SPDX-License-Identifier: Apache-2.0
// A placement list as the input of a build: Zephyr, GNU ld, lld, Teensyduino.
#pragma once

#include <string>
#include <vector>

#include "millrace/placement/list.h"
#include "millrace/placement/units.h"
#include "millrace/profile/attribution.h"
#include "millrace/profile/call_graph.h"

namespace millrace::placement {

// Input section patterns of an entry, for a linker script: `*(.text.f .text.f.part.* ...)`. Clones
// go along; a name that only begins like it does not.
std::string section_patterns(const Entry& entry);

// For an output section of that memory, before what takes all of .text.
std::string gnu_ld_fragment(const PlacementList& list, const std::string& memory = "fast memory");

// zephyr_code_relocate() calls, one a source file, with anchored filters (Zephyr 4.1 and later).
// Entries whose source file is not known are in comments at the end, with what takes them instead.
std::string zephyr_cmake(const PlacementList& list, ElfIndex* index, const std::string& region);
// For zephyr_linker_sources(ITCM_SECTION file) (Zephyr 4.3 and later). Also takes library members.
std::string zephyr_snippet(const PlacementList& list);

// What to write where in an Arduino sketch and its libraries: FASTRUN or FLASHMEM before functions,
// by file and line.
std::string attribute_list(const PlacementList& list, ElfIndex* index, const std::string& macro);

// The order in which code that stays in flash is best linked: callers beside callees, busy code
// together. `moved`: by unit, what leaves. Units without a name are left out.
std::vector<uint32_t> flash_order(const profile::Profile& profile, const Units& units,
                                  const profile::CallGraph& graph, const std::vector<bool>& moved);
// lld --symbol-ordering-file: a symbol a line.
std::string symbol_order_file(const std::vector<Entry>& order);
// Patterns for the front of the output section that takes .text from flash, in a GNU ld script.
std::string gnu_ld_order(const std::vector<Entry>& order);

}  // namespace millrace::placement
