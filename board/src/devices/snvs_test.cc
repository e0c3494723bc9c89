// SPDX-License-Identifier: Apache-2.0
// Time: 396 MHz / 32768 Hz = 12085 cycles, rounded up to the next cycle, a tick.
#include "devices/snvs.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr uint32_t kHpcr = 0x08, kHpsr = 0x14, kHprtcmr = 0x24, kHprtclr = 0x28, kHptamr = 0x2C,
                   kHptalr = 0x30, kLpcr = 0x38, kLpsr = 0x4C, kLpsrtcmr = 0x50, kLpsrtclr = 0x54,
                   kLptar = 0x58;

// The first cycle of the n-th tick after `start`.
constexpr Cycles tick(uint64_t n, Cycles start = 0) {
  return start + (n * 396'000'000 + 32767) / 32768;
}

class SnvsTest : public ::testing::Test {
 protected:
  uint32_t peek(uint32_t offset) { return snvs.read(offset, 4, host.queue.now()); }
  void poke(uint32_t offset, uint32_t value) { snvs.write(offset, 4, value, host.queue.now()); }

  testing::FakeHost host;
  Clocks clocks;
  Snvs snvs{host, clocks};
};

TEST_F(SnvsTest, CounterCountsAt32768HzWhileEnabled) {
  host.run_to(100);
  EXPECT_EQ(peek(kHprtclr), 0u);
  poke(kHpcr, 1);
  host.run_to(tick(1, 100) - 1);
  EXPECT_EQ(peek(kHprtclr), 0u);
  host.run_to(tick(1, 100));
  EXPECT_EQ(peek(kHprtclr), 1u);
  host.run_to(100 + 396'000'000);
  EXPECT_EQ(peek(kHprtclr), 32768u);
  poke(kHpcr, 0);
  host.run_to(100 + 2 * 396'000'000);
  EXPECT_EQ(peek(kHprtclr), 32768u);
}

// The Teensy core: SRTC = t << 15, started; the HP counter synchronized to it.
TEST_F(SnvsTest, TeensyStartupSetsBothCounters) {
  const uint64_t t = 1546300800;
  EXPECT_EQ(peek(kLpcr) & 1, 0u);
  poke(kLpsrtclr, static_cast<uint32_t>(t << 15));
  poke(kLpsrtcmr, static_cast<uint32_t>(t >> 17));
  poke(kLpcr, peek(kLpcr) | 1);
  poke(kHpcr, peek(kHpcr) | 0x10001);
  EXPECT_EQ(peek(kHpcr), 1u);
  host.run_to(3 * 396'000'000);
  EXPECT_EQ((uint64_t{peek(kHprtcmr)} << 17) | peek(kHprtclr) >> 15, t + 3);
  EXPECT_EQ((uint64_t{peek(kLpsrtcmr)} << 17) | peek(kLpsrtclr) >> 15, t + 3);
}

TEST_F(SnvsTest, RunningCounterIgnoresWrites) {
  poke(kHprtclr, 5);
  poke(kHpcr, 1);
  poke(kHprtclr, 1000);
  EXPECT_EQ(peek(kHprtclr), 5u);
}

TEST_F(SnvsTest, AlarmsFireAtTheirValue) {
  poke(kHprtclr, 0xFFFFFFFF);
  poke(kHptamr, 1);
  poke(kHptalr, 1);
  poke(kHpcr, 3);
  host.run_to(tick(2) - 1);
  EXPECT_FALSE(host.lines[Snvs::kIrq]);
  host.run_to(tick(2));
  EXPECT_TRUE(host.lines[Snvs::kIrq]);
  EXPECT_EQ(peek(kHpsr) & 3, 1u);
  poke(kHpsr, 1);
  EXPECT_FALSE(host.lines[Snvs::kIrq]);

  poke(kLpsrtclr, (7u << 15) - 3);
  poke(kLptar, 7);
  const Cycles start = host.queue.now();
  poke(kLpcr, peek(kLpcr) | 3);
  host.run_to(tick(3, start) - 1);
  EXPECT_FALSE(host.lines[Snvs::kIrq]);
  host.run_to(tick(3, start));
  EXPECT_TRUE(host.lines[Snvs::kIrq]);
  EXPECT_EQ(peek(kLpsr) & 1, 1u);
}

TEST_F(SnvsTest, PeriodicInterruptFollowsABitOfTheCounter) {
  poke(kHpcr, 1 | 8 | 2 << 4);  // bit 2: every 4 ticks
  int interrupts = 0;
  for (uint64_t n = 1; n <= 20; ++n) {
    host.run_to(tick(n));
    if (host.lines[Snvs::kIrq]) {
      EXPECT_EQ(n % 4, 0u);
      ++interrupts;
      poke(kHpsr, 2);
    }
  }
  EXPECT_EQ(interrupts, 5);
}

TEST_F(SnvsTest, KeepsTimeAcrossAChangeOfTheCoreClock) {
  poke(kHpcr, 1);
  host.run_to(396'000'000);
  Clocks::Rates rates = clocks.rates();
  rates[static_cast<size_t>(Clock::core)] = 600'000'000;
  clocks.set(rates, host.queue.now());
  host.run_to(396'000'000 + 600'000'000);
  EXPECT_EQ(peek(kHprtclr), 65536u);
}

TEST_F(SnvsTest, GeneralPurposeRegistersHaveThreePlacesAndOutliveAReset) {
  poke(0x100, 0x11111111);
  EXPECT_EQ(peek(0x68), 0x11111111u);
  poke(0x9C, 0x44444444);
  EXPECT_EQ(peek(0x10C), 0x44444444u);
  poke(kLpcr, 0x21);
  poke(kHpcr, 1);
  host.run_to(tick(10));
  snvs.reset();
  EXPECT_EQ(peek(0x10C), 0x44444444u);
  EXPECT_EQ(peek(kHprtclr), 0u);
  EXPECT_EQ(peek(kLpsrtclr), 10u);
  EXPECT_TRUE(host.unknown.empty());
}

TEST_F(SnvsTest, TurningOffIsPassedOn) {
  int offs = 0;
  snvs.on_power_off([&offs](Cycles) { ++offs; });
  poke(kLpcr, 0x40);
  EXPECT_EQ(offs, 0);
  poke(kLpcr, 0x60);
  EXPECT_EQ(offs, 1);
}

TEST_F(SnvsTest, SnapshotRestoresTheAlarm) {
  poke(kHptalr, 5);
  poke(kHpcr, 3);
  host.run_to(tick(2));
  Snapshot saved;
  snvs.snapshot(saved);
  host.run_to(tick(3));
  snvs.reset();
  Snapshot restored(saved.take());
  snvs.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  host.run_to(tick(5));
  EXPECT_TRUE(host.lines[Snvs::kIrq]);
  EXPECT_EQ(peek(kHprtclr), 5u);
}

// No values may make an event come again and again at one time.
TEST_F(SnvsTest, AnyWritesLeaveTimeMoving) {
  uint64_t random = 3;
  for (int i = 0; i < 5000; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const uint32_t offset = static_cast<uint32_t>(random >> 8) & 0x7C;
    poke(offset, static_cast<uint32_t>(random >> 32) >> (random & 31));
    host.run_to(host.queue.now() + (random >> 20 & 0xFFFFF));
  }
}

}  // namespace
}  // namespace millrace::board
