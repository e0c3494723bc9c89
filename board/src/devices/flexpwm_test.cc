// SPDX-License-Identifier: Apache-2.0
// The IPG clock is 150 MHz: 4 core cycles a tick.
#include "devices/flexpwm.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <vector>

#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t sm(unsigned submodule, uint32_t offset) { return 0x60 * submodule + offset; }
constexpr uint32_t kCnt = 0x00, kInit = 0x02, kCtrl2 = 0x04, kCtrl = 0x06, kVal0 = 0x0A,
                   kVal1 = 0x0E, kVal2 = 0x12, kVal3 = 0x16, kSts = 0x24, kInten = 0x26,
                   kDmaen = 0x28, kTctrl = 0x2A, kMctrl = 0x188, kFsts0 = 0x18E;
constexpr uint32_t kFull = 0x400, kRf = 0x1000, kRef = 0x2000, kRuf = 0x4000;
constexpr Cycles kTick = 4;

class FlexpwmTest : public testing::DeviceFixture {
 protected:
  uint32_t at(unsigned submodule, uint32_t offset) { return get(pwm, sm(submodule, offset), 2); }
  void set(unsigned submodule, uint32_t offset, uint32_t value) {
    put(pwm, sm(submodule, offset), value, 2);
  }
  void run(unsigned submodule, uint32_t init, uint32_t last, uint32_t control = kFull) {
    set(submodule, kCtrl, control);
    set(submodule, kInit, init);
    set(submodule, kVal1, last);
    put(pwm, kMctrl, get(pwm, kMctrl, 2) | 1u << submodule, 2);
    put(pwm, kMctrl, get(pwm, kMctrl, 2) | 0x100u << submodule, 2);
  }
  std::vector<std::tuple<unsigned, unsigned, Cycles>> triggers;
  std::map<unsigned, bool> dma;
  Flexpwm pwm{host, clocks, 2,
              [this](unsigned submodule, unsigned which, Cycles when) {
                triggers.emplace_back(submodule, which, when);
              },
              [this](unsigned source, bool level) { dma[source] = level; }};
};

TEST_F(FlexpwmTest, ResetValues) {
  EXPECT_EQ(pwm.base(), 0x403E0000u);
  EXPECT_EQ(at(3, kCtrl), 0x400u);
  EXPECT_EQ(at(0, 0x2C), 0xFFFFu);
  EXPECT_EQ(at(0, 0x30), 0x7FFu);
  EXPECT_EQ(get(pwm, kMctrl, 2), 0u);
}

TEST_F(FlexpwmTest, CountsFromInitToVal1) {
  run(1, 0xFFFE, 3);
  EXPECT_EQ(get(pwm, kMctrl, 2), 0x200u);  // LDOK has cleared itself
  const uint32_t expected[] = {0xFFFE, 0xFFFF, 0, 1, 2, 3, 0xFFFE, 0xFFFF, 0};
  for (unsigned t = 0; t < 9; ++t) {
    run_to(t * kTick);
    EXPECT_EQ(at(1, kCnt), expected[t]) << t;
    EXPECT_EQ(at(1, kSts) & kRf, t >= 6 ? kRf : 0u) << t;
  }
}

TEST_F(FlexpwmTest, ReloadInterruptAndItsFlag) {
  run(0, 0, 99);
  set(0, kInten, kRf);
  run_to(100 * kTick - 1);
  EXPECT_FALSE(host.lines[137]);
  run_to(100 * kTick);
  EXPECT_TRUE(host.lines[137]);
  set(0, kSts, kRf);
  EXPECT_FALSE(host.lines[137]);
  run_to(200 * kTick);
  EXPECT_TRUE(host.lines[137]);
}

TEST_F(FlexpwmTest, PrescalerAndReloadFrequency) {
  run(2, 0, 9, kFull | 3 << 4 | 1 << 12);  // 8 ticks a count, every second period
  run_to(8 * 20 * kTick - 1);
  EXPECT_EQ(at(2, kSts) & kRf, 0u);
  run_to(8 * 20 * kTick);
  EXPECT_EQ(at(2, kSts) & kRf, kRf);
}

TEST_F(FlexpwmTest, NewValuesWaitForLdokAndTheReload) {
  run(0, 0, 9);
  set(0, kVal1, 4);
  EXPECT_EQ(at(0, kSts) & kRuf, kRuf);
  run_to(10 * kTick);
  EXPECT_EQ(at(0, kSts) & (kRf | kRef), kRf | kRef);  // a reload without LDOK
  put(pwm, kMctrl, 0x101, 2);
  EXPECT_EQ(get(pwm, kMctrl, 2) & 1, 1u);
  set(0, kVal1, 77);  // not while LDOK is set
  EXPECT_EQ(at(0, kVal1), 4u);
  run_to(19 * kTick);
  EXPECT_EQ(at(0, kCnt), 9u);
  run_to(20 * kTick);
  EXPECT_EQ(get(pwm, kMctrl, 2), 0x100u);
  EXPECT_EQ(at(0, kSts) & kRuf, 0u);
  run_to(25 * kTick);
  EXPECT_EQ(at(0, kCnt), 0u);  // a period of 5
  put(pwm, kMctrl, 0x101, 2);
  put(pwm, kMctrl, 0x110, 2);  // CLDOK
  EXPECT_EQ(get(pwm, kMctrl, 2), 0x100u);
}

TEST_F(FlexpwmTest, CompareFlagsAndTriggers) {
  set(0, kVal0, 3);
  set(0, kVal3, 7);
  set(0, kTctrl, 1 << 0 | 1 << 3);
  pwm.watch(0, true);
  run(0, 0, 9);
  set(0, kInten, 1 << 3);
  run_to(7 * kTick - 1);
  EXPECT_FALSE(host.lines[137]);
  run_to(13 * kTick);
  EXPECT_TRUE(host.lines[137]);
  EXPECT_EQ(at(0, kSts) & 0x3F, 0x3Fu);  // VAL1 at 9; VAL2, 4, 5 are 0 and met at the reload
  const std::vector<std::tuple<unsigned, unsigned, Cycles>> expected = {
      {0, 0, 3 * kTick}, {0, 1, 7 * kTick}, {0, 0, 13 * kTick}};
  EXPECT_EQ(triggers, expected);
}

TEST_F(FlexpwmTest, DmaRequestsFollowReloads) {
  run(3, 0, 9);
  set(3, kDmaen, 1 << 9);
  run_to(10 * kTick);
  EXPECT_TRUE(dma[103]);
  pwm.dma_served(103);
  EXPECT_FALSE(dma[103]);
  run_to(20 * kTick);
  EXPECT_TRUE(dma[103]);
}

TEST_F(FlexpwmTest, NobodyLooksForALongTimeAndNothingIsLost) {
  run(0, 0, 6);
  run(1, 0, 33464, kFull | 2 << 4 | 4 << 12);  // every 5 periods of 33465 * 4 ticks
  EXPECT_EQ(host.queue.size(), 0u);
  const uint64_t ticks = 90'000'000'001;
  run_to(ticks * kTick);
  EXPECT_EQ(at(0, kCnt), ticks % 7);
  EXPECT_EQ(at(1, kCnt), ticks / 4 % 33465);
  set(1, kSts, kRf);
  const uint64_t group = 5ull * 33465 * 4;
  const Cycles next = (ticks / group + 1) * group * kTick;
  run_to(next - 1);
  EXPECT_EQ(at(1, kSts) & kRf, 0u);
  run_to(next);
  EXPECT_EQ(at(1, kSts) & kRf, kRf);
}

TEST_F(FlexpwmTest, AFlagThatCannotComeIsNotWaitedFor) {
  set(0, kVal2, 500);
  set(0, kInten, 1 << 2);
  run(0, 0, 0);  // one count a period, in which VAL2 is never met
  run_to(10 * kTick);
  EXPECT_EQ(host.events().next(), kNever);
  run_to(1'000'000'000'000);
  EXPECT_EQ(at(0, kCnt), 0u);
  EXPECT_FALSE(host.lines[137]);
  set(0, kVal1, 999);  // takes effect with the next reload, one tick from here
  put(pwm, kMctrl, 0x101, 2);
  const Cycles reload = 1'000'000'000'000 + kTick;
  run_to(reload + 500 * kTick - 1);
  EXPECT_FALSE(host.lines[137]);
  run_to(reload + 500 * kTick);
  EXPECT_TRUE(host.lines[137]);
}

TEST_F(FlexpwmTest, WithoutRunTheCounterStandsAtInit) {
  run(0, 5, 9);
  run_to(2 * kTick);
  EXPECT_EQ(at(0, kCnt), 7u);
  put(pwm, kMctrl, 0, 2);
  run_to(50 * kTick);
  EXPECT_EQ(at(0, kCnt), 5u);
}

TEST_F(FlexpwmTest, FaultFlagsAreClearedByOnes) {
  put(pwm, kFsts0, 0xF, 2);
  EXPECT_EQ(get(pwm, kFsts0, 2), 0u);
}

TEST_F(FlexpwmTest, WhatIsNotModelledIsReported) {
  set(0, kCtrl2, 2 << 8);  // master sync
  set(0, kCtrl, kFull | 1 << 11);
  set(1, 0x34, 1);  // ARMA
  get(pwm, 0x58, 2);
  const std::vector<testing::FakeHost::Unknown> expected = {
      {kCtrl2, true}, {kCtrl, true}, {sm(1, 0x34), true}, {0x58, false}};
  EXPECT_EQ(host.unknown, expected);
}

TEST_F(FlexpwmTest, ASnapshotGoesOn) {
  run(0, 0, 99);
  set(0, kInten, kRf);
  run_to(55 * kTick);
  Flexpwm other(host, clocks, 1);
  ASSERT_TRUE(copy_state(pwm, other));
  run_to(100 * kTick - 1);
  EXPECT_FALSE(host.lines[102]);
  run_to(100 * kTick);
  EXPECT_TRUE(host.lines[102]);
}

}  // namespace
}  // namespace millrace::board
