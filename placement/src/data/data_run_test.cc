// SPDX-License-Identifier: Apache-2.0
// Traces made here, of one place of the cache and of two, whose waits can be counted by hand.
#include "data/data_run.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::placement {
namespace {

constexpr uint32_t kA = 0x1000000, kB = 0x1000100, kC = 0x1000200;  // lines: addresses / 32
constexpr uint64_t kMiss = 0, kFill = 1, kQueue = 3;                // spec/trace.md

class Waits {
 public:
  Waits() {
    for (const char c : std::string("MRTRACE\x02", 8)) bytes.push_back(static_cast<uint8_t>(c));
    bytes.resize(52);
  }
  // A load that waits for a line of OCRAM; a miss for which `evicted` left the cache (`line`:
  // none).
  void miss(uint32_t line, uint32_t evicted, uint64_t stall) {
    head(kMiss, line);
    distance(evicted, line);
    number(stall);
    number(0);
  }
  void other(uint64_t cause, uint32_t line, uint64_t stall) {
    head(cause, line);
    number(stall);
    number(0);
  }
  std::vector<uint8_t> bytes;

 private:
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
    bytes.push_back(static_cast<uint8_t>(value));
  }
  void distance(uint32_t to, uint32_t from) {
    const int64_t lines = int64_t{to} - from;
    number(static_cast<uint64_t>(lines) << 1 ^ static_cast<uint64_t>(lines >> 63));
  }
  void head(uint64_t cause, uint32_t line) {
    number(((cause * 8 + 2) * 4 + 1) << 2 | 2);
    distance(line, last_);
    last_ = line;
  }
  uint32_t last_ = 0;
};

// Ten turns of A, 100 cycles, and B, 10, which throw each other out.
Waits two_in_one_place() {
  Waits out;
  out.miss(kA, kA, 100);
  out.miss(kB, kA, 10);
  for (int turn = 1; turn < 10; ++turn) {
    out.miss(kA, kB, 100);
    out.miss(kB, kA, 10);
  }
  return out;
}

TEST(DataRun, NothingMovedIsWhatTheTraceHas) {
  const DataRun run(two_in_one_place().bytes);
  ASSERT_EQ(run.lines().size(), 2u);
  EXPECT_EQ(run.lines()[0].line, kA);
  EXPECT_EQ(run.lines()[0].stall, 1000);
  EXPECT_EQ(run.lines()[1].stall, 100);
  EXPECT_EQ(run.stall({false, false}), 1100);
  EXPECT_EQ(run.stall({true, true}), 0);
}

TEST(DataRun, WhatIsLeftAloneMissesOnce) {
  const DataRun run(two_in_one_place().bytes);
  EXPECT_EQ(run.stall({false, true}), 100);
  EXPECT_EQ(run.stall({true, false}), 10);
}

TEST(DataRun, AThirdThatTakesThePlaceIsStillInTheWay) {
  Waits waits;
  waits.miss(kA, kA, 100);
  for (int turn = 0; turn < 10; ++turn) {
    waits.miss(kB, kA, 10);
    waits.miss(kC, kB, 1);
    waits.miss(kA, kC, 100);
  }
  const DataRun run(waits.bytes);
  // A and C go on throwing each other out, or B and C.
  EXPECT_EQ(run.stall({false, true, false}), 11 * 100 + 10 * 1);
  EXPECT_EQ(run.stall({true, false, false}), 10 * 10 + 10 * 1);
  EXPECT_EQ(run.stall({false, true, true}), 100);
}

TEST(DataRun, WaitsForTheRestOfALineGoWithItsMiss) {
  Waits waits = two_in_one_place();
  waits.other(kFill, kB, 7);
  waits.other(kQueue, kB, 3);
  const DataRun run(waits.bytes);
  EXPECT_EQ(run.stall({false, false}), 1110);
  EXPECT_EQ(run.stall({true, false}), 10);
  EXPECT_EQ(run.stall({false, true}), 100);
}

// A buffer of DMA: nothing evicts it, the program invalidates it and reads it again.
TEST(DataRun, WhatTheProgramInvalidatesIsWaitedForAgain) {
  Waits waits;
  waits.miss(kA, kA, 100);
  waits.miss(kB, kB, 10);
  for (int turn = 0; turn < 5; ++turn) waits.miss(kA, kA, 100);
  const DataRun run(waits.bytes);
  EXPECT_EQ(run.stall({false, false}), 610);
  EXPECT_EQ(run.stall({false, true}), 600);
}

TEST(DataRun, AnyTruncationIsRun) {
  const std::vector<uint8_t> whole = two_in_one_place().bytes;
  for (size_t size = 0; size <= whole.size(); ++size) {
    const DataRun run({whole.data(), size});
    double sum = 0;
    for (const LineStall& one : run.lines()) sum += one.stall;
    EXPECT_EQ(run.stall(std::vector<bool>(run.lines().size())), sum) << size;
  }
}

}  // namespace
}  // namespace millrace::placement
