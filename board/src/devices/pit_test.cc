// SPDX-License-Identifier: Apache-2.0
// PERCLK is 24 MHz and the core 600 MHz: 25 cycles a tick.
#include "devices/pit.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kMcr = 0, kLtmr64h = 0xE0, kLtmr64l = 0xE4;
constexpr uint32_t ldval(unsigned n) { return 0x100 + 16 * n; }
constexpr uint32_t cval(unsigned n) { return 0x104 + 16 * n; }
constexpr uint32_t tctrl(unsigned n) { return 0x108 + 16 * n; }
constexpr uint32_t tflg(unsigned n) { return 0x10C + 16 * n; }
constexpr uint32_t kTen = 1, kTie = 2, kChn = 4;
constexpr unsigned kIrq = 122;
constexpr Cycles kTick = 25;

class PitTest : public testing::DeviceFixture {
 protected:
  std::vector<std::pair<unsigned, Cycles>> triggers;
  Pit pit{host, clocks, [this](unsigned channel, Cycles when) {
            triggers.push_back({channel, when});
          }};
};

TEST_F(PitTest, ResetLeavesTheModuleDisabled) {
  EXPECT_EQ(get(pit, kMcr), 2u);
  put(pit, ldval(0), 3);
  put(pit, tctrl(0), kTen);
  run_to(100 * kTick);
  EXPECT_EQ(get(pit, cval(0)), 3u);
}

TEST_F(PitTest, CountsDownAndReloadsOneTickAfterZero) {
  put(pit, kMcr, 0);
  put(pit, ldval(0), 3);
  put(pit, tctrl(0), kTen);
  const uint32_t expected[] = {3, 2, 1, 0, 3, 2, 1, 0, 3};
  for (unsigned t = 0; t < 9; ++t) {
    run_to(t * kTick);
    EXPECT_EQ(get(pit, cval(0)), expected[t]) << t;
    EXPECT_EQ(get(pit, tflg(0)), t >= 4 ? 1u : 0u) << t;
  }
  EXPECT_EQ(host.queue.size(), 0u);  // nobody would see an event
}

TEST_F(PitTest, InterruptComesAfterLdvalPlusOneTicksAndGoesWithTheFlag) {
  put(pit, kMcr, 0);
  put(pit, ldval(1), 23'999);  // 1 ms
  put(pit, tctrl(1), kTen | kTie);
  run_to(600'000 - 1);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(600'000);
  EXPECT_TRUE(host.lines[kIrq]);
  put(pit, tflg(1), 1);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(1'200'000);
  EXPECT_TRUE(host.lines[kIrq]);
}

TEST_F(PitTest, ANewLoadValueCountsFromTheNextExpiry) {
  put(pit, kMcr, 0);
  put(pit, ldval(0), 9);
  put(pit, tctrl(0), kTen);
  run_to(5 * kTick);
  put(pit, ldval(0), 99);
  EXPECT_EQ(get(pit, cval(0)), 4u);
  run_to(10 * kTick);
  EXPECT_EQ(get(pit, cval(0)), 99u);
}

TEST_F(PitTest, DisablingAndEnablingStartsAgain) {
  put(pit, kMcr, 0);
  put(pit, ldval(0), 9);
  put(pit, tctrl(0), kTen);
  run_to(5 * kTick);
  put(pit, tctrl(0), 0);
  run_to(50 * kTick);
  EXPECT_EQ(get(pit, cval(0)), 4u);
  put(pit, tctrl(0), kTen);
  EXPECT_EQ(get(pit, cval(0)), 9u);
}

TEST_F(PitTest, AChainedChannelCountsExpiries) {
  put(pit, kMcr, 0);
  put(pit, ldval(0), 4);
  put(pit, ldval(1), 2);
  put(pit, tctrl(1), kTen | kTie | kChn);
  put(pit, tctrl(0), kTen);
  run_to(5 * kTick);
  EXPECT_EQ(get(pit, cval(1)), 1u);
  run_to(15 * kTick - 1);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(15 * kTick);  // 5 * 3
  EXPECT_TRUE(host.lines[kIrq]);
  EXPECT_EQ(get(pit, cval(1)), 2u);
}

TEST_F(PitTest, TheLifetimeTimerReadsBothHalvesAtOneTime) {
  put(pit, kMcr, 0);
  for (unsigned i = 0; i < 2; ++i) put(pit, ldval(i), 0xFFFFFFFF);
  put(pit, tctrl(1), kTen | kChn);
  put(pit, tctrl(0), kTen);
  run_to(1000 * kTick);
  EXPECT_EQ(get(pit, kLtmr64h), 0xFFFFFFFFu);
  run_to(2000 * kTick);
  EXPECT_EQ(get(pit, kLtmr64l), 0xFFFFFFFFu - 1000);
}

TEST_F(PitTest, WatchedChannelsTriggerAtEveryExpiry) {
  put(pit, kMcr, 0);
  put(pit, ldval(2), 9);
  put(pit, tctrl(2), kTen);
  run_to(12 * kTick);
  EXPECT_TRUE(triggers.empty());
  pit.watch(2, true);
  get(pit, cval(2));
  // The access that comes late still finds every trigger, each with its own time.
  pit.read(cval(2), 4, 31 * kTick);
  const std::vector<std::pair<unsigned, Cycles>> expected = {{2, 20 * kTick}, {2, 30 * kTick}};
  EXPECT_EQ(triggers, expected);
  pit.watch(2, false);
  EXPECT_EQ(host.queue.size(), 0u);
}

TEST_F(PitTest, APeriodOfOneTickWithItsInterruptPendingNeedsNoEvents) {
  put(pit, kMcr, 0);
  put(pit, tctrl(0), kTen | kTie);
  run_to(kTick);
  EXPECT_TRUE(host.lines[kIrq]);
  EXPECT_EQ(host.queue.size(), 0u);
}

TEST_F(PitTest, AChainLongerThanTimeIsNoEvent) {
  put(pit, kMcr, 0);
  for (unsigned i = 0; i < 4; ++i) put(pit, ldval(i), 0xFFFFFFFF);
  for (unsigned i = 4; i-- > 0;) put(pit, tctrl(i), kTen | kTie | (i != 0 ? kChn : 0));
  put(pit, tctrl(0), kTen);
  put(pit, tctrl(1), kTen | kChn);
  EXPECT_EQ(host.queue.size(), 0u);
}

TEST_F(PitTest, TheCoreClockDoesNotChangeItsPace) {
  put(pit, kMcr, 0);
  put(pit, ldval(0), 9);
  put(pit, tctrl(0), kTen | kTie);
  run_to(4 * kTick);
  set_clocks(24'000'000);  // a cycle a tick
  run_to(4 * kTick + 5);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(4 * kTick + 6);
  EXPECT_TRUE(host.lines[kIrq]);
}

TEST_F(PitTest, ASnapshotGoesOn) {
  put(pit, kMcr, 0);
  put(pit, ldval(0), 9);
  put(pit, tctrl(0), kTen | kTie);
  run_to(4 * kTick + 3);
  Pit other(host, clocks);
  ASSERT_TRUE(copy_state(pit, other));
  put(pit, tctrl(0), 0);
  run_to(10 * kTick);
  EXPECT_TRUE(host.lines[kIrq]);
  EXPECT_EQ(get(other, cval(0)), 9u);
}

TEST_F(PitTest, UnknownRegistersAreReported) {
  get(pit, 0x140);
  put(pit, 0x10, 1);
  const std::vector<testing::FakeHost::Unknown> expected = {{0x140, false}, {0x10, true}};
  EXPECT_EQ(host.unknown, expected);
}

}  // namespace
}  // namespace millrace::board
