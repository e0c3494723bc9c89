// SPDX-License-Identifier: Apache-2.0
// Walks over the code that runs before a copy has ended.
#pragma once

#include <unordered_map>
#include <vector>

#include "code/function_code.h"
#include "millrace/profile/boot_copy.h"

namespace millrace::profile {

// Decoded functions, each once.
class CodeStore {
 public:
  explicit CodeStore(const ElfIndex& index) : index_(index) {}
  const std::vector<Instruction>& of(uint32_t function);

 private:
  const ElfIndex& index_;
  std::unordered_map<uint32_t, std::vector<Instruction>> code_;
};

// Addresses of a function's instructions, `last` included; behind it the copy has ended.
struct CopyRegion {
  uint32_t first = 0, last = 0;
  bool holds(uint32_t address) const { return address >= first && address <= last; }
};

// One function on the way from the entry to the copy, and where in it that goes on.
struct PathStep {
  uint32_t function = kNone;
  CopyRegion region;
  uint32_t next = kNone;  // the function called in `region` that is itself on the path
};

// What runs on the way: fills `before` and `unknown` of *out. `unknown` has every address that is
// made of code in its section. `whole`: a function of which everything runs; kNone: none.
void walk_to_copy(const ElfIndex& index, const CallGraph& graph, CodeStore* code,
                  const std::vector<PathStep>& path, uint32_t whole, CopiedSection* out);

// The shortest way of calls from `entry`, as functions; empty: there is none.
std::vector<uint32_t> shortest_path(const CallGraph& graph, size_t functions, uint32_t entry,
                                    uint32_t to);

// Grows `region` to the loops of `code` around it.
CopyRegion with_loops_around(const std::vector<Instruction>& code, CopyRegion region);

}  // namespace millrace::profile
