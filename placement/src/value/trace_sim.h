// SPDX-License-Identifier: Apache-2.0
// The instruction cache, run over the blocks of a trace with some units in fast memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "millrace/placement/units.h"
#include "millrace/profile/call_graph.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

class TraceSim {
 public:
  // Keeps the last kMaxVisits blocks of the trace. All but `trace` must outlive this.
  TraceSim(std::span<const uint8_t> trace, const Units& units, const ElfIndex& index,
           const profile::Target& target, const profile::CallGraph& graph);
  size_t visits() const { return visits_.size(); }
  // Cycles waited for instructions, scaled to the whole trace.
  double stall(const std::vector<bool>& moved) const;

  static constexpr size_t kMaxVisits = size_t{3} << 20;

 private:
  struct Block {
    uint32_t address = 0, end = 0, unit = 0;
    bool is_cached = false, is_fast = false, is_entry = false;  // of a function
  };
  double simulate(const std::vector<bool>& moved) const;

  const Units& units_;
  const ElfIndex& index_;
  const profile::Target& target_;
  const profile::CallGraph& graph_;
  profile::TargetCache cache_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> visits_;  // blocks; repeats in a row are one
  double cost_[2] = {};           // cycles of a miss; [1]: of the line behind the last one
  double scale_ = 1;
};

}  // namespace millrace::placement
