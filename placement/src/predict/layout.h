// SPDX-License-Identifier: Apache-2.0
// Where code stands when some of it has gone to fast memory: the rest moves together, behind the
// copy that is kept of what has gone.
#pragma once

#include <vector>

#include "millrace/placement/units.h"
#include "millrace/profile/call_graph.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

class Layout {
 public:
  // `moved`: by unit.
  Layout(const ElfIndex& index, const profile::Target& target, const Units& units,
         const std::vector<bool>& moved, const profile::CallGraph& graph);

  // Of an address of the program as it is; `unit` is that of the address, or kNone.
  uint32_t place(uint32_t address, uint32_t unit) const {
    return unit == profile::kNone ? address : address + by_unit_[unit];
  }
  bool is_moved(uint32_t unit) const { return unit != profile::kNone && moved_[unit]; }
  // Where the linker puts its veneers: behind the code of the output section that holds `unit`.
  uint32_t veneers_behind(uint32_t unit) const { return ends_[section_[unit]]; }
  uint64_t moved_bytes() const { return moved_bytes_; }

 private:
  std::vector<bool> moved_;
  std::vector<uint32_t> by_unit_;  // what is added to its addresses, modulo 2^32
  std::vector<uint32_t> section_;  // of each unit
  std::vector<uint32_t> ends_;     // of each section, by its new place
  uint64_t moved_bytes_ = 0;
};

// The unit of an address; kNone: none holds it.
uint32_t unit_of(const Units& units, uint32_t address);

}  // namespace millrace::placement
