// SPDX-License-Identifier: Apache-2.0
// Which function of a program calls which, from the instructions. ARM (Thumb) only: on other
// machines there are no edges and is_known() is false.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/profile/elf_index.h"

namespace millrace::profile {

enum class EdgeKind : uint8_t {
  call,           // BL, or BLX with an address made just before
  jump,           // a tail call: B to another function
  falls_through,  // the function ends without a jump, and the next begins
  address,        // it makes the other's address, perhaps to call it later
};

struct CallEdge {
  uint32_t from = kNone, to = kNone;  // functions; veneers are looked through
  uint32_t site = 0;                  // the instruction
  uint32_t veneer = kNone;            // the function of the veneer between them
  EdgeKind kind = EdgeKind::call;
};

class CallGraph {
 public:
  static CallGraph build(const ElfIndex& index);

  bool is_known() const { return is_known_; }
  const std::vector<CallEdge>& edges() const { return edges_; }  // by `from`, then by `site`
  std::span<const CallEdge> from(uint32_t function) const;
  // Places of a function at which it calls or jumps to an address that only the run decides.
  std::span<const uint32_t> unknown_calls(uint32_t function) const;

 private:
  bool is_known_ = false;
  std::vector<CallEdge> edges_;
  std::vector<uint32_t> first_edge_;  // of each function, and one behind the last
  std::vector<uint32_t> unknown_, first_unknown_;
};

// Where a veneer leads: the function, or kNone.
uint32_t veneer_target(const ElfIndex& index, uint32_t veneer);

// Addresses and other constants that a function's instructions make, each once, ascending.
std::vector<uint32_t> constants_made(const ElfIndex& index, uint32_t function);

}  // namespace millrace::profile
