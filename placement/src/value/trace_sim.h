// SPDX-License-Identifier: Apache-2.0
// What is still waited for when some units stand in fast memory, by running the blocks of a trace.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "millrace/placement/units.h"
#include "millrace/profile/call_graph.h"
#include "millrace/profile/target.h"
#include "predict/code_run.h"

namespace millrace::placement {

class TraceSim {
 public:
  // Keeps the last kMaxVisits blocks of the trace. All but `trace` must outlive this.
  TraceSim(std::span<const uint8_t> trace, const Units& units, const ElfIndex& index,
           const profile::Target& target, const profile::CallGraph& graph);
  size_t visits() const { return recording_.visits.size(); }
  // Cycles of the whole trace: waited for instructions and for data that stands in code (literal
  // pools), and spent in veneers.
  double stall(const std::vector<bool>& moved) const;
  // Of these, for data in this unit's code.
  double data_stall(uint32_t unit) const { return data_[unit]; }

  static constexpr size_t kMaxVisits = size_t{1} << 19;

 private:
  const Units& units_;
  const ElfIndex& index_;
  const profile::Target& target_;
  const profile::CallGraph& graph_;
  Recording recording_;
  std::unique_ptr<const CodeRun> run_;  // null: no target with a cache, or nothing to run
  std::vector<double> data_;            // by unit
  double scale_ = 1;                    // from the model's waits to the trace's
  double repeats_ = 1;                  // the whole trace by what was kept of it
};

}  // namespace millrace::placement
