// SPDX-License-Identifier: Apache-2.0
// The blocks of a trace in their order, each with what it waited for its code.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "millrace/profile/trace_reader.h"

namespace millrace::placement {

struct CodeWait {
  uint32_t line = 0;     // address / 32
  uint64_t stall = 0;    // cycles
  bool is_miss = false;  // else for the rest of a line that is on its way, or past the cache
};

struct Visit {
  uint32_t block = 0;               // index in blocks()
  std::span<const CodeWait> waits;  // in their order
};

class TraceVisits {
 public:
  // `trace` must outlive this.
  explicit TraceVisits(std::span<const uint8_t> trace);
  const std::vector<profile::TraceBlock>& blocks() const { return blocks_; }
  // Reads it from its start. Waiting for data and sleep are not in it.
  void each(const std::function<void(const Visit&)>& visit) const;

 private:
  std::span<const uint8_t> trace_;
  std::vector<profile::TraceBlock> blocks_;
};

}  // namespace millrace::placement
