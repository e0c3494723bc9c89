// SPDX-License-Identifier: Apache-2.0
#include "millrace/board/timing_table.h"

#include "core/timing.h"

namespace millrace::board {

std::vector<TimingEntry> timing_table() {
  const Timing defaults;
  std::vector<TimingEntry> table;
  for (const TimingParameter& p : timing_parameters()) {
    table.push_back({p.name, defaults.*p.member, p.unit, p.grade, p.source});
  }
  return table;
}

}  // namespace millrace::board
