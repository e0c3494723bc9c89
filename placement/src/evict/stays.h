// SPDX-License-Identifier: Apache-2.0
// Which code must not leave fast memory, whatever it costs there.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/placement/units.h"
#include "millrace/profile/call_graph.h"

namespace millrace::placement {

struct Stays {
  std::vector<bool> units;
  uint64_t for_interrupts = 0;    // units: handlers and what they call directly
  uint64_t for_controller = 0;    // others: what runs while the slow memory cannot be read
  std::vector<uint32_t> drivers;  // functions that drive the controller themselves
};

// `to`: the memory that code would leave `region` for; null: not known.
Stays find_stays(const ElfIndex& index, const Units& units, const profile::CallGraph& graph,
                 const profile::Target& target, const profile::TargetRegion& region,
                 const profile::TargetRegion* to);

}  // namespace millrace::placement
