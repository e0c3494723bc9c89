// SPDX-License-Identifier: Apache-2.0
// What waiting for instructions is left when some units stand in fast memory: a model of the
// instruction cache's sets, and how the code that stays moves together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "value/fetch_input.h"

namespace millrace::placement {

// Share of visits that miss, of `lines` lines that are visited in turn in a set of `ways` with
// random replacement: the fixed point of m = 1 - (1 - 1/ways)^(m (lines - 1)).
double miss_share(double lines, uint32_t ways);

// Where each unit stands when others have gone: by unit, how many bytes it moves down.
std::vector<uint32_t> shifts_of(const Units& units, const std::vector<uint32_t>& group,
                                const std::vector<bool>& moved);
// The output section of each unit; only code follows what is taken out before it.
std::vector<uint32_t> groups_of(const Units& units, const ElfIndex& index);

class FetchModel {
 public:
  // `cache`: none: every line is waited for every time. All must outlive this.
  FetchModel(const Units& units, const ElfIndex& index,
             const std::optional<profile::TargetCache>& cache, const FetchInput& input);

  // Expected stall, in the unit of the input, with these units in fast memory.
  double stall(const std::vector<bool>& moved) const;
  // By unit: what moving it as well would save, its own stalls and those that it causes others,
  // with everything else where it is.
  std::vector<double> marginal(const std::vector<bool>& moved) const;
  // By unit: mean number of lines in the sets that its lines are in.
  double pressure(uint32_t unit) const { return pressure_[unit]; }
  uint32_t lines(uint32_t unit) const { return lines_[unit]; }
  // Of what stays: lines, and how many of them their sets cannot hold.
  void remaining(const std::vector<bool>& moved, uint64_t* lines, uint64_t* over) const;

 private:
  struct Line {
    uint32_t line = 0;
    uint32_t first = 0, end = 0;  // spots
  };
  // Lines of what stays, sorted; how many in each set.
  void place(const std::vector<bool>& moved, bool relayout, std::vector<uint32_t>* line_of_spot,
             std::vector<uint32_t>* in_set) const;
  double miss(uint32_t lines) const;

  const Units& units_;
  const FetchInput& input_;
  std::optional<profile::TargetCache> cache_;
  std::vector<uint32_t> group_;
  std::vector<double> always_;  // by spot: its stall if its line missed at every visit
  std::vector<double> table_;   // miss share by lines of a set
  std::vector<double> pressure_;
  std::vector<uint32_t> lines_;
};

}  // namespace millrace::placement
