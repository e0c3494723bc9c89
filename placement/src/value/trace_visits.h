// SPDX-License-Identifier: Apache-2.0
// The blocks of a trace in their order, each with what it waited for its code.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "millrace/profile/trace_reader.h"

namespace millrace::placement {

struct Visit {
  uint32_t block = 0;               // index in blocks()
  uint64_t stall = 0;               // cycles beyond what the block takes when it waits for nothing
  const uint32_t* lines = nullptr;  // that missed, line address / 32
  uint32_t misses = 0;
};

class TraceVisits {
 public:
  // `trace` must outlive this. Reads it once, for what each block takes at least.
  explicit TraceVisits(std::span<const uint8_t> trace);
  const std::vector<profile::TraceBlock>& blocks() const { return blocks_; }
  // Reads it again. Waiting for data and sleep are not in it.
  void each(const std::function<void(const Visit&)>& visit) const;

 private:
  std::span<const uint8_t> trace_;
  std::vector<profile::TraceBlock> blocks_;
  std::vector<uint64_t> base_;  // by block: cycles with everything in the cache
};

}  // namespace millrace::placement
