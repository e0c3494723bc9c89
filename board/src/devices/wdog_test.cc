// SPDX-License-Identifier: Apache-2.0
// Times in cycles of the boot's 396 MHz; half a second is 198,000,000.
#include "devices/wdog.h"

#include <gtest/gtest.h>

#include <vector>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr Cycles kHalfSecond = 198'000'000;
constexpr uint32_t kWcr = 0, kWsr = 2, kWrsr = 4, kWicr = 6, kWmcr = 8;

class WdogTest : public ::testing::Test {
 protected:
  WdogTest() {
    wdog.on_reset_request([this](Cycles now) { resets.push_back(now); });
  }
  uint32_t peek(uint32_t offset) { return wdog.read(offset, 2, host.queue.now()); }
  void poke(uint32_t offset, uint32_t value) { wdog.write(offset, 2, value, host.queue.now()); }

  testing::FakeHost host;
  Clocks clocks;
  Wdog wdog{host, clocks, 1};
  std::vector<Cycles> resets;
};

TEST_F(WdogTest, StartsDisabledAfterPowerOn) {
  EXPECT_EQ(peek(kWcr), 0x0030u);
  EXPECT_EQ(peek(kWrsr), 0x0010u);
  EXPECT_EQ(peek(kWmcr), 1u);
  poke(kWmcr, 0);
  EXPECT_EQ(peek(kWmcr), 0u);
  host.run_to(1000 * kHalfSecond);
  EXPECT_TRUE(resets.empty());
}

TEST_F(WdogTest, TimesOutAfterWtPlusOneHalfSeconds) {
  poke(kWcr, 0x0134);
  host.run_to(2 * kHalfSecond - 1);
  EXPECT_TRUE(resets.empty());
  host.run_to(10 * kHalfSecond);
  EXPECT_EQ(resets, std::vector<Cycles>{2 * kHalfSecond});
  wdog.reset();
  EXPECT_EQ(peek(kWrsr), 0x0002u);
  EXPECT_EQ(peek(kWcr), 0x0030u);
}

TEST_F(WdogTest, ServiceSequenceReloadsAndDisablingIsRefused) {
  poke(kWcr, 0x0034);
  host.run_to(kHalfSecond - 10);
  poke(kWsr, 0x5555);
  poke(kWsr, 0xAAAA);
  poke(kWcr, 0x0030);
  EXPECT_EQ(peek(kWcr), 0x0034u);
  host.run_to(2 * kHalfSecond - 20);
  poke(kWsr, 0xAAAA);  // without the first word
  EXPECT_TRUE(resets.empty());
  host.run_to(2 * kHalfSecond);
  EXPECT_EQ(resets, std::vector<Cycles>{2 * kHalfSecond - 10});
}

TEST_F(WdogTest, WarnsBeforeTheTimeOut) {
  poke(kWicr, 0x8002);
  poke(kWcr, 0x0434);  // 5 half seconds, the warning at 3
  host.run_to(3 * kHalfSecond - 1);
  EXPECT_FALSE(host.lines[Wdog::kIrq1]);
  host.run_to(3 * kHalfSecond);
  EXPECT_TRUE(host.lines[Wdog::kIrq1]);
  poke(kWicr, 0xC002);
  EXPECT_FALSE(host.lines[Wdog::kIrq1]);
  host.run_to(5 * kHalfSecond);
  EXPECT_EQ(resets.size(), 1u);
}

TEST_F(WdogTest, ClearingSrsResetsAtOnce) {
  wdog.write(kWcr + 1, 1, 0xFF, 0);  // the upper byte alone does not
  EXPECT_TRUE(resets.empty());
  poke(kWcr, 0x0020);
  EXPECT_EQ(resets.size(), 1u);
  EXPECT_EQ(peek(kWcr) & 0x10, 0x10u);
  wdog.reset();
  EXPECT_EQ(peek(kWrsr), 1u);
}

TEST_F(WdogTest, SnapshotKeepsTheTimeLeft) {
  poke(kWcr, 0x0134);
  host.run_to(kHalfSecond);
  Snapshot saved;
  wdog.snapshot(saved);
  wdog.reset();
  Snapshot restored(saved.take());
  wdog.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  host.run_to(3 * kHalfSecond);
  EXPECT_EQ(resets, std::vector<Cycles>{2 * kHalfSecond});
}

constexpr uint32_t kCs = 0, kCnt = 4, kToval = 8, kWin = 12;
constexpr uint32_t kUnlock = 0xD928C520, kRefresh = 0xB480A602;

class RtwdogTest : public ::testing::Test {
 protected:
  RtwdogTest() {
    rtwdog.on_reset_request([this](Cycles now) { resets.push_back(now); });
  }
  uint32_t peek(uint32_t offset) { return rtwdog.read(offset, 4, host.queue.now()); }
  void poke(uint32_t offset, uint32_t value) { rtwdog.write(offset, 4, value, host.queue.now()); }
  void start(uint32_t cs, uint32_t toval, uint32_t win = 0) {
    poke(kCnt, kUnlock);
    poke(kToval, toval);
    poke(kWin, win);
    poke(kCs, cs);
  }
  // 396 MHz / 32768 Hz, rounded up as Ticks does.
  static Cycles tick(uint64_t n) { return (n * 396'000'000 + 32767) / 32768; }

  testing::FakeHost host;
  Clocks clocks;
  Rtwdog rtwdog{host, clocks};
  std::vector<Cycles> resets;
};

// NXP's SystemInit and SDK driver poll ULK and RCS.
TEST_F(RtwdogTest, IsReconfiguredBehindTheUnlockKey) {
  EXPECT_EQ(peek(kCs) & 0x80, 0u);
  poke(kCnt, kUnlock);
  EXPECT_EQ(peek(kCs) & 0xC00, 0x800u);
  poke(kToval, 100);
  poke(kCs, 0x21A0);
  EXPECT_EQ(peek(kCs), 0x25A0u);
  EXPECT_EQ(peek(kToval), 100u);
  poke(kToval, 5);  // closed again
  EXPECT_EQ(peek(kToval), 100u);
  EXPECT_EQ(host.unknown.size(), 1u);
}

TEST_F(RtwdogTest, WindowClosesAndUpdateCanBeLocked) {
  poke(kCnt, kUnlock);
  host.run_to(256 * 3);  // bus clock = core / 3
  EXPECT_EQ(peek(kCs) & 0x800, 0u);
  start(0x2100, 100);  // without UPDATE
  poke(kCnt, kUnlock);
  EXPECT_EQ(peek(kCs) & 0x800, 0u);
}

TEST_F(RtwdogTest, KeysMayComeInHalves) {
  rtwdog.write(kCnt, 2, kUnlock & 0xFFFF, 0);
  rtwdog.write(kCnt, 2, kUnlock >> 16, 0);
  EXPECT_EQ(peek(kCs) & 0x800, 0x800u);
}

TEST_F(RtwdogTest, TimesOutUnlessRefreshed) {
  start(0x21A0, 100);
  host.run_to(tick(50));
  EXPECT_EQ(peek(kCnt), 50u);
  poke(kCnt, kRefresh);
  EXPECT_EQ(peek(kCnt), 0u);
  host.run_to(tick(50) + tick(100) - 1);
  EXPECT_TRUE(resets.empty());
  host.run_to(tick(300));
  EXPECT_EQ(resets, std::vector<Cycles>{tick(50) + tick(100)});
}

TEST_F(RtwdogTest, InterruptComesBeforeTheReset) {
  start(0x21E0, 10);
  host.run_to(tick(10));
  EXPECT_TRUE(host.lines[Rtwdog::kIrq]);
  EXPECT_EQ(peek(kCs) & 0x4000, 0x4000u);
  EXPECT_TRUE(resets.empty());
  host.run_to(tick(10) + 255 * 3);
  EXPECT_EQ(resets, std::vector<Cycles>{tick(10) + 255 * 3});
}

TEST_F(RtwdogTest, EarlyRefreshAndWrongKeysReset) {
  start(0xA1A0, 100, 50);
  host.run_to(tick(49));
  poke(kCnt, kRefresh);
  EXPECT_EQ(resets.size(), 1u);
  rtwdog.reset();
  start(0x21A0, 100);
  poke(kCnt, 0x12345678);
  EXPECT_EQ(resets.size(), 2u);
}

TEST_F(RtwdogTest, PrescalerCountsBy256) {
  start(0x31A0, 2);
  host.run_to(tick(511));
  EXPECT_EQ(peek(kCnt), 1u);
  EXPECT_TRUE(resets.empty());
  host.run_to(tick(512));
  EXPECT_EQ(resets.size(), 1u);
}

TEST_F(RtwdogTest, SnapshotKeepsTheTimeLeft) {
  start(0x21A0, 100);
  host.run_to(tick(40));
  Snapshot saved;
  rtwdog.snapshot(saved);
  rtwdog.reset();
  Snapshot restored(saved.take());
  rtwdog.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  host.run_to(tick(200));
  EXPECT_EQ(resets, std::vector<Cycles>{tick(100)});
}

}  // namespace
}  // namespace millrace::board
