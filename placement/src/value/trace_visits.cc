// SPDX-License-Identifier: Apache-2.0
// A miss record holds the wait for the first word of a line. The words behind it arrive later: a
// block that follows waits again, with no record of its own (on the virtual board 11 % of all
// cycles of a program in flash, beside 74 % with records). So what a block waits is its time beyond
// the shortest that it ever took without a miss, or beyond its issue cycles if it always missed.
#include "value/trace_visits.h"

#include <algorithm>

namespace millrace::placement {
namespace {

// Of one miss, or of the rest of a line. What takes longer waits for something else: a trace holds
// one round only of a loop that polls.
constexpr uint64_t kLongestWait = 2000;

using profile::TraceAccess;
using profile::TraceEvent;
using profile::TraceReader;
using profile::TraceRecord;

// Calls f(block, cycles, data stall, recorded fetch stall, lines) at the end of each block's visit.
template <class F>
void walk(std::span<const uint8_t> trace, std::vector<profile::TraceBlock>* blocks, F f) {
  TraceReader reader(trace);
  TraceRecord record;
  bool is_open = false;
  uint32_t block = 0;
  uint64_t cycles = 0, data = 0, fetch = 0;
  std::vector<uint32_t> lines;
  const auto close = [&] {
    if (is_open) f(block, cycles, data, fetch, lines);
    is_open = false;
  };
  while (reader.next(&record)) {
    cycles += record.delta;
    if (record.kind == TraceRecord::Kind::miss) {
      if (record.access == static_cast<uint8_t>(TraceAccess::fetch)) {
        lines.push_back(record.line);
        fetch += record.stall;
      } else {
        data += record.stall;
      }
      continue;
    }
    const bool is_clock = record.kind == TraceRecord::Kind::event &&
                          record.event == static_cast<uint64_t>(TraceEvent::core_clock);
    if (is_clock) continue;
    close();
    if (record.kind != TraceRecord::Kind::block) continue;
    is_open = true;
    block = record.block;
    cycles = data = fetch = 0;
    lines.clear();
  }
  close();
  if (blocks != nullptr) *blocks = reader.blocks();
}

}  // namespace

TraceVisits::TraceVisits(std::span<const uint8_t> trace) : trace_(trace) {
  std::vector<uint64_t> least;
  walk(trace, &blocks_,
       [&](uint32_t block, uint64_t cycles, uint64_t data, uint64_t,
           const std::vector<uint32_t>& lines) {
         if (block >= least.size()) least.resize(block + 1, UINT64_MAX);
         if (!lines.empty()) return;
         least[block] = std::min(least[block], cycles - std::min(cycles, data));
       });
  least.resize(blocks_.size(), UINT64_MAX);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    base_.push_back(least[i] == UINT64_MAX ? blocks_[i].issue
                                           : std::max(least[i], blocks_[i].issue));
  }
}

void TraceVisits::each(const std::function<void(const Visit&)>& visit) const {
  uint64_t age = UINT64_MAX / 2;  // cycles since the last miss
  walk(trace_, nullptr,
       [&](uint32_t block, uint64_t cycles, uint64_t data, uint64_t fetch,
           const std::vector<uint32_t>& lines) {
         const uint64_t busy = base_[block] + data;
         uint64_t stall = cycles - std::min(cycles, busy);
         if (stall > (lines.size() + 1) * kLongestWait) stall = fetch;
         // The rest of a line comes soon behind its first word; else a device was waited for.
         if (lines.empty() && age > kLongestWait) stall = 0;
         age = lines.empty() ? age + cycles : 0;
         visit({block, stall, lines.data(), static_cast<uint32_t>(lines.size())});
       });
}

}  // namespace millrace::placement
