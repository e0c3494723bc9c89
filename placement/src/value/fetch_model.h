// SPDX-License-Identifier: Apache-2.0
// What waiting for instructions is left when some units stand in fast memory: a model of the
// instruction cache's sets, and how the code that stays moves together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/profile/call_graph.h"
#include "millrace/profile/target.h"
#include "value/fetch_input.h"

namespace millrace::placement {

// Share of visits that miss, of `lines` lines that are visited in turn in a set of `ways` with
// random replacement, by simulation (repeatable).
double miss_share(uint32_t lines, uint32_t ways);

class FetchModel {
 public:
  // Of a target without a cache every line is waited for every time. All must outlive this.
  FetchModel(const Units& units, const ElfIndex& index, const profile::Target& target,
             const profile::CallGraph& graph, const FetchInput& input);

  // Expected stall, in the unit of the input, with these units in fast memory.
  double stall(const std::vector<bool>& moved) const;
  // The two ends that it lies between: what stays waits as it did, or as its sets are relieved.
  struct Stall {
    double as_before = 0, relieved = 0;
    double share = 0;     // of the way from `relieved` to `as_before`: stall()
    double doubtful = 0;  // of what has moved: what waited for lines that seem to be resident
  };
  Stall stall_parts(const std::vector<bool>& moved) const;
  // By unit: what moving it as well would save, its own stalls and those that it causes others,
  // with everything else where it is.
  std::vector<double> marginal(const std::vector<bool>& moved) const;
  // By unit: mean number of lines in the sets that its lines are in.
  double pressure(uint32_t unit) const { return pressure_[unit]; }
  uint32_t lines(uint32_t unit) const { return lines_[unit]; }
  // Of what stays: lines, and how many of them their sets cannot hold.
  void remaining(const std::vector<bool>& moved, uint64_t* lines, uint64_t* over) const;

 private:
  // What stands in a set: lines that run for certain, and those that may, by the sum of chances.
  struct Crowd {
    uint32_t lines = 0;
    double more = 0;
  };
  struct Lines {
    std::vector<uint32_t> of_spot;  // line; kNone: its unit has moved
    std::vector<Crowd> in_set;
  };
  // What stays, in its old places or, with `relayout`, in those of the next link.
  Lines place(const std::vector<bool>& moved, bool relayout) const;
  // Share of visits that miss in such a set, of a line that is certain (then it is one of them) or
  // has this chance. `weighed`: of a line that is known to miss: such lines are in fuller sets.
  double miss(const Crowd& crowd, double chance, bool weighed = false) const;
  // Of the program as it is, so that no selection is worth more for leaving little behind.
  void judge_residence(const Lines& lines);
  void judge_measured(const Lines& lines);
  void judge_counted(const Lines& lines);
  template <class F>
  void each_line(const Lines& lines, F f) const;

  const Units& units_;
  const ElfIndex& index_;
  const profile::Target& target_;
  const profile::CallGraph& graph_;
  const FetchInput& input_;
  const std::optional<profile::TargetCache>& cache_;
  std::vector<double> always_;           // by spot: its stall if its line missed at every visit
  std::vector<bool> doubtful_;           // by spot
  std::vector<double> table_, weighed_;  // miss shares by lines of a set, and by those in doubt
  std::vector<double> pressure_;
  std::vector<uint32_t> lines_;
  // How much of what stays waits as it did: of samples, unless all is resident with margin.
  double share_as_before_ = 0;
};

}  // namespace millrace::placement
