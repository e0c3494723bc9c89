// SPDX-License-Identifier: Apache-2.0
// Which candidates, within a budget: several methods, and the one whose result waits least.
#pragma once

#include <string>
#include <vector>

#include "place/workspace.h"

namespace millrace::placement {

struct Choice {
  Chosen chosen;
  double stall = 0;  // weight that still waits for instructions
  std::string method;
  bool is_proved = false;  // the knapsack behind it was solved exactly
};

// `may`: candidates that can be taken; `pinned`: taken first. Most weight a byte first.
Choice choose_by_density(const Workspace& work, const Chosen& may, const Chosen& pinned,
                         uint64_t budget);

// The best that is known. Never worse than choose_by_density() by its own measure, stall().
Choice choose_best(const Workspace& work, const Chosen& may, const Chosen& pinned, uint64_t budget);

// All that may move, in the order in which it is worth taking, by what each adds.
std::vector<uint32_t> worth_order(const Workspace& work, const Chosen& may, const Chosen& pinned);

}  // namespace millrace::placement
