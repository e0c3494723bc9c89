// SPDX-License-Identifier: Apache-2.0
// Which items, of given sizes and values, are worth the most within a budget: the 0/1 knapsack.
#pragma once

#include <cstdint>
#include <vector>

namespace millrace::placement {

struct Item {
  uint32_t bytes = 0;
  uint64_t value = 0;
};

struct Selection {
  std::vector<uint32_t> chosen;  // indices, ascending
  uint64_t bytes = 0;
  uint64_t value = 0;
  bool is_exact = false;    // no other selection is worth more
  uint64_t bound = 0;       // no selection is worth more than this
  uint64_t core_items = 0;  // items that bounds alone could not decide
};

// By value a byte, the densest first, each that still fits: the published method.
Selection select_by_density(const std::vector<Item>& items, uint64_t budget);

// The best selection. Items without value are never taken. Memory is at most some 64 MB and time a
// second or two for 20,000 items and 512 KB; when that is not enough for a proof, is_exact is false
// and `bound` says how much could be missing.
Selection select_exactly(const std::vector<Item>& items, uint64_t budget);

}  // namespace millrace::placement
