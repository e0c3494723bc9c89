// SPDX-License-Identifier: Apache-2.0
#include "value/trace_visits.h"

namespace millrace::placement {

using profile::TraceEvent;
using profile::TraceReader;
using profile::TraceRecord;

TraceVisits::TraceVisits(std::span<const uint8_t> trace) : trace_(trace) {
  TraceReader reader(trace);
  TraceRecord record;
  while (reader.next(&record)) {
  }
  blocks_ = reader.blocks();
}

void TraceVisits::each(const std::function<void(const Visit&)>& visit) const {
  TraceReader reader(trace_);
  TraceRecord record;
  bool is_open = false;
  uint32_t block = 0;
  std::vector<CodeWait> waits;
  const auto close = [&] {
    if (is_open) visit({block, waits});
    is_open = false;
    waits.clear();
  };
  while (reader.next(&record)) {
    if (record.kind == TraceRecord::Kind::wait) {
      if (record.is_fetch()) waits.push_back({record.line, record.stall, record.is_miss()});
      continue;
    }
    const bool is_clock = record.kind == TraceRecord::Kind::event &&
                          record.event == static_cast<uint64_t>(TraceEvent::core_clock);
    if (is_clock) continue;
    close();
    is_open = record.kind == TraceRecord::Kind::block;
    block = record.block;
  }
  close();
}

}  // namespace millrace::placement
