// SPDX-License-Identifier: Apache-2.0
// The numbers of the timing model as a table to show.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace::board {

struct TimingEntry {
  std::string_view name;  // as a profile gives it
  uint32_t value = 0;     // without a profile
  std::string_view unit;
  char grade = 0;  // A, B, C, I: core/timing.h
  std::string_view source;
};

std::vector<TimingEntry> timing_table();

}  // namespace millrace::board
