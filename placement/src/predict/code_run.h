// SPDX-License-Identifier: Apache-2.0
// The blocks of a trace, run through the instruction cache with the code in other places.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/placement/units.h"
#include "millrace/profile/target.h"
#include "predict/layout.h"
#include "predict/recording.h"

namespace millrace::placement {

inline constexpr uint32_t kVeneerCycles = 4;  // LDR pc: a load and a branch

class CodeRun {
 public:
  struct Sums {
    double fetch = 0;    // cycles waited for instructions
    double misses = 0;   // number
    double veneers = 0;  // calls between the memories
  };

  // REQUIRES: the target has a cache. All must outlive this.
  CodeRun(const ElfIndex& index, const profile::Target& target, const Units& units,
          const Recording& recording);
  // `seed`: of the pseudo-random replacement.
  Sums run(const Layout& layout, uint32_t seed) const;
  uint64_t lines(const Layout& layout) const;  // distinct, cached

 private:
  struct Block {
    uint32_t address = 0, bytes = 0, unit = profile::kNone;
    bool is_fast = false, is_cached = false, is_entry = false;
  };
  struct Place {
    uint32_t first = 1, last = 0;  // lines; none of what is not cached
    uint32_t veneer = 0;           // line; 0: none
    float share = 0;               // of a visit's time that is one line's
    bool is_fast = false, is_entry = false;
  };
  std::vector<Place> places(const Layout& layout) const;

  const profile::TargetCache cache_;
  const Recording& recording_;
  std::vector<Block> blocks_;
};

}  // namespace millrace::placement
