// SPDX-License-Identifier: Apache-2.0
// The execution trace of spec/trace.md: what a board tells, and its file form both ways.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace millrace::board {

struct TracedBlock {
  uint32_t address = 0;
  uint32_t halfwords = 0;
  uint32_t instructions = 0;
  uint32_t issue_cycles = 0;
  friend auto operator<=>(const TracedBlock&, const TracedBlock&) = default;
};

enum class TracedMemory : uint8_t { flash = 1, ocram = 2, psram = 3, other = 4 };
enum class TracedAccess : uint8_t { fetch = 0, load = 1, store = 2 };
enum class TracedCause : uint8_t { miss = 0, fill = 1, uncached = 2, queue = 3 };
// What the core waited for, and how long; a miss without a stall was not waited for.
struct TracedWait {
  TracedMemory memory = TracedMemory::other;
  TracedAccess access = TracedAccess::fetch;
  TracedCause cause = TracedCause::miss;
  uint32_t line = 0;     // address
  uint32_t stall = 0;    // core cycles
  uint32_t evicted = 0;  // of a miss: line that left the cache for it; `line`: none had to
};
enum class TraceEvent : uint8_t {
  exception_taken = 1,
  exception_return = 2,
  sleep = 3,
  wake = 4,
  core_clock = 5,
  reset = 6,
};

// Called in the order of time. `at`: core cycles since power-on.
class TraceSink {
 public:
  virtual void block(const TracedBlock& block, uint64_t at) = 0;
  virtual void wait(const TracedWait& wait, uint64_t at) = 0;
  virtual void event(TraceEvent event, uint32_t argument, uint64_t at) = 0;

 protected:
  ~TraceSink() = default;
};

struct TraceHeader {
  uint32_t core_khz = 0;
  uint64_t base = 0;
  std::array<uint8_t, 32> build_id{};
};

// Encodes. Hands the bytes on in pieces of some 64 KB; call finish() at the end.
class TraceWriter final : public TraceSink {
 public:
  using Output = std::function<void(std::span<const uint8_t> bytes)>;
  TraceWriter(const TraceHeader& header, Output output);
  void block(const TracedBlock& block, uint64_t at) override;
  void wait(const TracedWait& wait, uint64_t at) override;
  void event(TraceEvent event, uint32_t argument, uint64_t at) override;
  void finish();

 private:
  // Blocks seen lately, by address: most repeats are found without the map.
  static constexpr size_t kRecent = 4096;
  struct Recent {
    TracedBlock block;
    uint64_t number = UINT64_MAX;
  };
  void put(uint64_t number);
  void put_lines(uint32_t to, uint32_t from);
  void put_delta(uint64_t at);
  void flush_if_full();

  Output output_;
  std::vector<uint8_t> bytes_;
  uint64_t last_ = 0;
  uint32_t last_line_ = 0;
  std::map<TracedBlock, uint64_t> numbers_;
  std::vector<Recent> recent_;
};

// Decodes a whole trace. Empty string, or one sentence: what is wrong and at which byte; a record
// that is cut off at the end is told through `*cut_off` and is no error.
std::string read_trace(std::span<const uint8_t> bytes, TraceHeader* header, TraceSink& sink,
                       bool* cut_off);

}  // namespace millrace::board
