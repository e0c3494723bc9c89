// SPDX-License-Identifier: Apache-2.0
// What is still waited for data when some lines of it are in fast memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace millrace::placement {

struct LineStall {
  uint32_t line = 0;  // address / 32
  double stall = 0;   // cycles
};

class DataRun {
 public:
  explicit DataRun(std::span<const uint8_t> trace);
  // Each line that was waited for, once, as they came.
  const std::vector<LineStall>& lines() const { return lines_; }
  // Cycles that are waited for data then. `moved`: by the index of the line in lines().
  double stall(const std::vector<bool>& moved) const;

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  struct Wait {
    uint32_t line = 0;   // index in lines_
    uint32_t slot = 0;   // of a miss: where it goes, a number for each place of the cache
    uint32_t stall = 0;  // cycles
    bool is_miss = false;
    bool is_stale = false;  // a miss of a line that nothing evicted: the program invalidated it
  };
  std::vector<LineStall> lines_;
  std::vector<Wait> waits_;
  uint32_t slots_ = 0;
};

}  // namespace millrace::placement
