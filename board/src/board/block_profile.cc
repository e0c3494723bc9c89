// SPDX-License-Identifier: Apache-2.0
#include "board/block_profile.h"

#include <algorithm>
#include <utility>

namespace millrace::board {

// Blocks start at halfwords of memories of at most 24 MB, and the block cache drops its blocks long
// before the table is large: firmware cannot make it grow without end, only with the code it has.
void BlockProfile::grow() {
  std::vector<ProfileEntry> old = std::exchange(table_, std::vector<ProfileEntry>());
  table_.resize(old.size() * 2);
  for (const ProfileEntry& entry : old) {
    if (entry.executions == 0) continue;
    size_t i = hash(entry.address);
    while (table_[i].executions != 0) i = (i + 1) & (table_.size() - 1);
    table_[i] = entry;
  }
}

std::vector<ProfileEntry> BlockProfile::entries() const {
  std::vector<ProfileEntry> out;
  std::copy_if(table_.begin(), table_.end(), std::back_inserter(out),
               [](const ProfileEntry& entry) { return entry.executions != 0; });
  std::sort(out.begin(), out.end(),
            [](const ProfileEntry& a, const ProfileEntry& b) { return a.address < b.address; });
  return out;
}

}  // namespace millrace::board
