// SPDX-License-Identifier: Apache-2.0
// What moves is not waited for. It also evicts nothing any more, so that what it would have evicted
// is there when it is wanted again, unless something else has taken its place: 20 KB of tables and
// a ring of 32 KB wait all the time for one another, and with 8 KB of the tables gone for little
// (link_cycles: 6.6 of 20 million cycles were waited for these 8 KB, 16.3 million went away). The
// trace has which line each miss evicted, so the places of the cache can be followed without
// knowing its geometry or policy: each place holds what the trace says and, beside it, what it
// would hold with lines moved. A recorded miss of a line that is still there is a hit. With nothing
// moved the two are the same and the result is what was measured.
//
// Hits are not recorded: what hit in the trace is taken to hit, which is so since every place keeps
// its line at least as long.
#include "data/data_run.h"

#include <algorithm>
#include <unordered_map>

#include "millrace/profile/trace_reader.h"

namespace millrace::placement {

using profile::TraceReader;
using profile::TraceRecord;

namespace {

constexpr size_t kMaxWaits = size_t{16} << 20;

}  // namespace

DataRun::DataRun(std::span<const uint8_t> trace) {
  std::unordered_map<uint32_t, uint32_t> numbers;  // of lines
  std::unordered_map<uint32_t, uint32_t> slot_of;  // of lines in the cache, by address / 32
  TraceReader reader(trace);
  TraceRecord record;
  while (waits_.size() < kMaxWaits && reader.next(&record)) {
    if (record.kind != TraceRecord::Kind::wait || record.is_fetch()) continue;
    if (record.stall == 0 && !record.is_miss()) continue;
    const auto [place, is_new] = numbers.emplace(record.line, static_cast<uint32_t>(lines_.size()));
    if (is_new) lines_.push_back({record.line, 0});
    Wait wait;
    wait.line = place->second;
    wait.stall = static_cast<uint32_t>(std::min<uint64_t>(record.stall, UINT32_MAX));
    wait.is_miss = record.is_miss();
    lines_[wait.line].stall += wait.stall;
    if (wait.is_miss) {
      const auto old = slot_of.find(record.line);
      wait.is_stale = old != slot_of.end();
      const auto evicted =
          record.evicted != record.line ? slot_of.find(record.evicted) : slot_of.end();
      wait.slot = evicted != slot_of.end() ? evicted->second : slots_++;
      if (evicted != slot_of.end()) slot_of.erase(evicted);
      slot_of[record.line] = wait.slot;
    }
    waits_.push_back(wait);
  }
}

double DataRun::stall(const std::vector<bool>& moved) const {
  std::vector<uint32_t> holds(slots_, kNoSlot);           // line, by slot
  std::vector<uint32_t> slot_of(lines_.size(), kNoSlot);  // by line
  std::vector<bool> is_there(lines_.size());              // its last miss would have been a hit
  double out = 0;
  for (const Wait& wait : waits_) {
    if (moved[wait.line]) continue;
    if (wait.is_miss) {
      uint32_t& slot = slot_of[wait.line];
      if (wait.is_stale && slot != kNoSlot) {
        holds[slot] = kNoSlot;
        slot = kNoSlot;
      }
      is_there[wait.line] = slot != kNoSlot;
      if (slot == kNoSlot) {
        const uint32_t out_goes = holds[wait.slot];
        if (out_goes != kNoSlot) slot_of[out_goes] = kNoSlot;
        holds[wait.slot] = wait.line;
        slot = wait.slot;
      }
    }
    if (!is_there[wait.line]) out += wait.stall;
  }
  return out;
}

}  // namespace millrace::placement
