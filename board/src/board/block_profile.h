// SPDX-License-Identifier: Apache-2.0
// Where time goes, by block of code: an open hash table that the trace callback updates.
#pragma once

#include <cstdint>
#include <vector>

#include "core/event_queue.h"
#include "millrace/board/board.h"

namespace millrace::board {

class BlockProfile {
 public:
  BlockProfile() : table_(1u << 12) {}
  // A block begins at `at`; the time since the last call belongs to the block before.
  void begin(uint32_t address, uint32_t instructions, uint32_t cycles, Cycles at) {
    finish(at);
    current_ = slot(address);
    ProfileEntry& entry = table_[current_];
    ++entry.executions;
    entry.instructions += instructions;
    issue_ = cycles;
    begun_ = at;
    running_ = true;
  }
  // The core leaves the block, or time passes that belongs to no block.
  void finish(Cycles at) {
    if (!running_) return;
    const uint64_t passed = at - begun_;
    ProfileEntry& entry = table_[current_];
    entry.cycles += passed;
    if (passed > issue_) entry.stalls += passed - issue_;
    running_ = false;
  }
  std::vector<ProfileEntry> entries() const;  // by address

 private:
  size_t slot(uint32_t address) {
    for (size_t i = hash(address);; i = (i + 1) & (table_.size() - 1)) {
      if (table_[i].executions == 0) {
        if (2 * ++used_ > table_.size()) {
          grow();
          --used_;
          return slot(address);
        }
        table_[i].address = address;
        return i;
      }
      if (table_[i].address == address) return i;
    }
  }
  size_t hash(uint32_t address) const { return (address * 0x9E3779B1u >> 8) & (table_.size() - 1); }
  void grow();

  std::vector<ProfileEntry> table_;  // executions == 0: free
  size_t used_ = 0;
  size_t current_ = 0;
  uint32_t issue_ = 0;
  Cycles begun_ = 0;
  bool running_ = false;
};

}  // namespace millrace::board
