// SPDX-License-Identifier: Apache-2.0
// Who calls whom, from the linked Thumb code: BL, BLX, and branches that leave a function (tail
// calls), through veneers; and whose address is taken, so that calls nobody can see may reach it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/profile/elf_index.h"

namespace millrace::placement {

struct Call {
  uint32_t site = 0;    // address of the instruction
  uint32_t callee = 0;  // index in index.functions(); never a veneer, if its target is known
  uint32_t veneer = profile::kNone;  // the veneer that it goes through
  bool is_tail = false;              // a branch: the callee returns to the caller's caller
};

struct CallGraph {
  // By function, as index.functions(); each sorted by site.
  std::vector<std::vector<Call>> calls;
  std::vector<uint32_t> indirect_calls;      // BLX/BX through a register other than LR: how many
  std::vector<bool> is_address_taken;        // stands in data, a table or a literal pool
  std::vector<std::vector<uint32_t>> takes;  // functions whose address this one loads
  bool is_known = false;                     // false: no Thumb code (RISC-V)
};

// Calls are found by decoding each function from its start; where a literal pool could have put
// that out of step, a BL is believed at any halfword if it goes to the start of a function. So a
// call may be listed that is data, which errs on the safe side; none of a direct call is missed.
CallGraph read_call_graph(const profile::ElfIndex& index);

// Everything reachable from `roots` through direct calls, the roots included, each with the
// function that it was reached from first (kNone for a root; kNone - 1: not reached).
inline constexpr uint32_t kNotReached = profile::kNone - 1;
std::vector<uint32_t> reachable(const CallGraph& graph, const std::vector<uint32_t>& roots);

}  // namespace millrace::placement
