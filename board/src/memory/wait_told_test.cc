// SPDX-License-Identifier: Apache-2.0
// What the memory system tells of waits: all of each, and what was waited for. Lengths are those
// that the access itself returns; parameters as in store_timing_test.cc.
#include <map>
#include <random>

#include "memory/testing/test_memory.h"

namespace millrace::board {
namespace {

using Access = MemoryWait::Access;
using Cause = MemoryWait::Cause;
using CacheOp = MemorySystem::CacheOp;

MemoryOptions with_psram() {
  MemoryOptions options;
  options.psram_bytes = 8u << 20;
  return options;
}

struct WaitTold : ::testing::Test, TestMemory {
  WaitTold() : TestMemory(with_psram()) {
    memory.set_wait_listener([this](const MemoryWait& wait) { told.push_back(wait); });
    caches(true);
  }
  void caches(bool on) {
    memory.enable_dcache(on);
    memory.enable_icache(on);
  }
  // Since the last call.
  uint64_t told_stall(Cycles from, Cycles to) {
    uint64_t sum = 0;
    for (const MemoryWait& wait : told) {
      EXPECT_GE(wait.at, from);
      EXPECT_LE(wait.at + wait.stall, to);
      EXPECT_EQ(wait.line % 32, 0u);
      sum += wait.stall;
    }
    told.clear();
    return sum;
  }
  std::vector<MemoryWait> told;
};

// Every access, of every kind, in any order: what is told is what it took, to the cycle.
TEST_F(WaitTold, WaitsOfAnyAccessAddUpToItsStall) {
  std::mt19937 engine(1);
  const auto random = [&engine] { return static_cast<uint32_t>(engine()); };
  constexpr uint32_t kBases[] = {kOcram, kFlash, kPsram};
  std::map<std::pair<Access, Cause>, uint64_t> seen;
  for (uint32_t i = 0; i < 40000; ++i) {
    if (i % 5000 == 4999) caches(random() % 2 == 0);
    // Near one another, so that lines are found on their way, and far, so that they are evicted.
    const uint32_t reach = random() % 4 == 0 ? 0x20000 : 0x100;
    const uint32_t address = kBases[random() % 3] + random() % reach;
    const unsigned size = 1u << random() % 3;
    const bool is_flash = address < kPsram && address >= kFlash;
    const Cycles from = now;
    // Two pieces of an access over the end of a line take a cycle more between them.
    const uint32_t split = address % 32 + size > 32 ? 1 : 0;
    uint64_t expected = 0;
    switch (random() % 8) {
      case 0:
        expected = execute(address & ~3u, std::min(address | 15u, address | 31u));
        break;
      case 1:
      case 2:
        if (is_flash) continue;
        store(address, i, size);
        expected = stall - split;
        break;
      case 3:
        if (random() % 4 != 0) continue;
        expected = memory.drain_stores(now);
        now += expected;
        break;
      case 4: {
        if (random() % 4 != 0) continue;
        const uint32_t took = memory.cache_op(CacheOp::dcache_clean_invalidate_line, address, now);
        now += took;
        expected = took - 1;  // the operation itself
        break;
      }
      case 5:
        idle(random() % 300);
        break;
      default:
        load(address, size);
        expected = stall - split;
        break;
    }
    for (const MemoryWait& wait : told) {
      if (wait.stall > 0) ++seen[{wait.access, wait.cause}];
    }
    ASSERT_EQ(told_stall(from, now), expected) << i;
  }
  // The run had each kind of wait that there is.
  for (const Cause cause : {Cause::miss, Cause::fill, Cause::uncached, Cause::queue}) {
    EXPECT_GT((seen[{Access::load, cause}]), 0u) << static_cast<int>(cause);
    if (cause == Cause::queue) continue;
    EXPECT_GT((seen[{Access::fetch, cause}]), 0u) << static_cast<int>(cause);
  }
  EXPECT_GT((seen[{Access::store, Cause::queue}]), 0u);
}

TEST_F(WaitTold, WordsOfALineOnItsWayAreWaitedForOneByOne) {
  load(kFlash);
  told.clear();
  load(kFlash + 8);  // the next beat: 16 serial clocks of 6 cycles later, less the load's one
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].cause, Cause::fill);
  EXPECT_EQ(told[0].line, kFlash);
  EXPECT_EQ(told[0].stall, 16 * 6 - 1u);
  told.clear();
  load(kFlash + 12);  // came with it
  EXPECT_TRUE(told.empty());
}

TEST_F(WaitTold, AFullStoreBufferIsChargedToWhatStandsInIt) {
  caches(false);
  for (uint32_t i = 0; i < 4; ++i) store(kPsram + 64 * i, i);
  EXPECT_TRUE(told.empty());
  store(kOcram, 1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].cause, Cause::queue);
  EXPECT_EQ(told[0].memory, Memory::psram);
  EXPECT_EQ(told[0].line, kPsram);
  EXPECT_EQ(told[0].stall, stall);
}

TEST_F(WaitTold, ABarrierIsChargedToEachStoreThatDrains) {
  caches(false);
  store(kOcram, 1);
  store(kOcram + 64, 2);
  told.clear();
  const uint32_t waited = memory.drain_stores(now);
  ASSERT_EQ(told.size(), 2u);
  // From 1002 on, 8 cycles each; it is 1002.
  EXPECT_EQ(now, 1002u);
  EXPECT_EQ(told[0].line, kOcram);
  EXPECT_EQ(told[0].stall, 8u);
  EXPECT_EQ(told[1].line, kOcram + 64);
  EXPECT_EQ(told[1].stall, 8u);
  EXPECT_EQ(waited, 16u);
}

TEST_F(WaitTold, ALoadBehindTwoFillsWaitsForTheFirstOfThem) {
  store(kPsram, 1);
  store(kPsram + 32, 2);
  idle(3);  // both stores have left the buffer and fill their lines
  told.clear();
  load(kOcram);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].cause, Cause::queue);
  EXPECT_EQ(told[0].line, kPsram);
  EXPECT_EQ(told[1].cause, Cause::miss);
  EXPECT_EQ(told[1].line, kOcram);
  EXPECT_EQ(told[0].at + told[0].stall, told[1].at);
}

TEST_F(WaitTold, FastMemoryAndDevicesAreNotWaitsForMemory) {
  caches(false);
  load(kDtcm);
  store(kDtcm, 1);
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace millrace::board
