// SPDX-License-Identifier: Apache-2.0
// The records of an execution trace (spec/trace.md), one after another.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/profile/samples.h"

namespace millrace::profile {

// A straight piece of code, as a record of kind 1 defines it.
struct TraceBlock {
  uint32_t address = 0;
  uint32_t halfwords = 1;
  uint64_t instructions = 0;
  uint64_t issue = 0;  // cycles, with nothing to wait for
  uint32_t end() const { return address + 2 * halfwords; }
};

enum class TraceMemory : uint8_t { flash = 1, ocram = 2, psram = 3, other = 4 };
enum class TraceAccess : uint8_t { fetch = 0, load = 1, store = 2 };
enum class TraceCause : uint8_t { miss = 0, fill = 1, uncached = 2, queue = 3 };
enum class TraceEvent : uint8_t {
  exception_taken = 1,
  exception_return = 2,
  sleep = 3,
  wake = 4,
  core_clock = 5,
  reset = 6,
};

struct TraceRecord {
  enum class Kind : uint8_t { block, wait, event };
  Kind kind = Kind::block;
  uint64_t delta = 0;    // core cycles since the record before
  uint32_t block = 0;    // kind block: its number, new or not
  uint8_t memory = 0;    // kind wait: TraceMemory, or a number that is not known yet
  uint8_t access = 0;    // TraceAccess
  uint8_t cause = 0;     // TraceCause, or a number that is not known yet
  uint32_t line = 0;     // line address / 32: what was waited for
  uint32_t evicted = 0;  // of a miss: line address / 32 of what left the cache; `line`: nothing
  uint64_t stall = 0;    // cycles
  uint64_t event = 0;    // TraceEvent, or a number that is not known yet
  uint64_t argument = 0;
  bool is_fetch() const { return access == static_cast<uint8_t>(TraceAccess::fetch); }
  bool is_miss() const { return cause == static_cast<uint8_t>(TraceCause::miss); }
};

// Reads `bytes`, which must outlive it, once from start to end.
class TraceReader {
 public:
  explicit TraceReader(std::span<const uint8_t> bytes);

  uint32_t core_khz() const { return core_khz_; }  // when the trace began
  const Identity& identity() const { return identity_; }
  // False at the end, at a record that is cut off, and at one that is wrong; all times together are
  // at most 2^53 cycles.
  bool next(TraceRecord* out);
  const std::vector<TraceBlock>& blocks() const { return blocks_; }
  size_t offset() const { return at_; }  // of the next record, or the one that next() refused
  bool is_cut_off() const { return is_cut_off_; }
  // What is wrong, with the offset; empty: nothing.
  const std::string& problem() const { return problem_; }

 private:
  bool varint(uint64_t* out);
  bool record(TraceRecord* out);
  bool wait(uint64_t value, TraceRecord* out);
  bool fail(std::string problem);

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  uint32_t core_khz_ = 0;
  Identity identity_;
  std::vector<TraceBlock> blocks_;
  uint32_t last_line_ = 0;
  uint64_t cycles_ = 0;  // since the base
  bool is_cut_off_ = false;
  std::string problem_;
};

}  // namespace millrace::profile
