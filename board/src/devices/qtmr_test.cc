// SPDX-License-Identifier: Apache-2.0
// The IPG clock is 150 MHz: 4 core cycles a tick.
#include "devices/qtmr.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <vector>

#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t reg(unsigned channel, uint32_t offset) { return 0x20 * channel + offset; }
constexpr uint32_t kComp1 = 0x00, kComp2 = 0x02, kLoad = 0x06, kHold = 0x08, kCntr = 0x0A,
                   kCtrl = 0x0C, kSctrl = 0x0E, kCmpld1 = 0x10, kCmpld2 = 0x12, kCsctrl = 0x14,
                   kDma = 0x18, kEnbl = 0x1E;
constexpr uint32_t kLength = 0x20, kDir = 0x10, kOnce = 0x40;
constexpr uint32_t kTcf = 0x8000, kTcfie = 0x4000, kTof = 0x2000, kTofie = 0x1000;
constexpr Cycles kTick = 4;
constexpr unsigned kIrq = 134;

constexpr uint32_t rising(uint32_t source) { return 1u << 13 | source << 9; }

class QtmrTest : public testing::DeviceFixture {
 protected:
  uint32_t at(unsigned channel, uint32_t offset) { return get(timer, reg(channel, offset), 2); }
  void set(unsigned channel, uint32_t offset, uint32_t value) {
    put(timer, reg(channel, offset), value, 2);
  }
  using Edge = std::tuple<unsigned, bool, Cycles>;
  std::vector<Edge> edges;
  std::map<unsigned, bool> dma;
  Qtmr timer{host, clocks, 2,
             [this](unsigned channel, bool level, Cycles when) {
               edges.emplace_back(channel, level, when);
             },
             [this](unsigned source, bool level) { dma[source] = level; }};
};

TEST_F(QtmrTest, ResetValues) {
  EXPECT_EQ(timer.base(), 0x401E0000u);
  EXPECT_EQ(at(0, kEnbl), 0xFu);
  EXPECT_EQ(at(3, kCtrl), 0u);
  EXPECT_TRUE(host.unknown.empty());
  EXPECT_EQ(at(1, kEnbl), 0u);  // only channel 0 has it
  EXPECT_EQ(host.unknown.size(), 1u);
}

TEST_F(QtmrTest, CountsTheIpgClockAndRollsOver) {
  set(0, kCtrl, rising(8));
  run_to(1000 * kTick);
  EXPECT_EQ(at(0, kCntr), 1000u);
  run_to(65535 * kTick);
  EXPECT_EQ(at(0, kSctrl) & kTof, 0u);
  run_to(65536 * kTick);
  EXPECT_EQ(at(0, kCntr), 0u);
  EXPECT_EQ(at(0, kSctrl) & kTof, kTof);
  set(0, kSctrl, 0);
  EXPECT_EQ(at(0, kSctrl), 0u);
}

TEST_F(QtmrTest, PrescalersDivide) {
  for (unsigned i = 0; i < 4; ++i) set(i, kCtrl, rising(8 + 2 * i));
  run_to(6400 * kTick);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(at(i, kCntr), 6400u >> (2 * i));
  EXPECT_EQ(at(2, kHold), 400u);  // the last read of a counter held them all
}

TEST_F(QtmrTest, WithLengthTheCountAfterTheCompareLoads) {
  set(1, kComp1, 4);
  set(1, kLoad, 2);
  set(1, kSctrl, kTcfie);
  set(1, kCtrl, rising(8) | kLength);
  const uint32_t expected[] = {0, 1, 2, 3, 4, 2, 3, 4, 2};
  for (unsigned t = 0; t < 9; ++t) {
    run_to(t * kTick);
    EXPECT_EQ(at(1, kCntr), expected[t]) << t;
    EXPECT_EQ(host.lines[kIrq], t >= 4) << t;
  }
  set(1, kSctrl, kTcfie);  // clears TCF
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(10 * kTick);
  EXPECT_TRUE(host.lines[kIrq]);
}

TEST_F(QtmrTest, CountsDownToComp2) {
  set(0, kLoad, 9);
  set(0, kCntr, 9);
  set(0, kComp2, 7);
  set(0, kCsctrl, 1 << 7);  // TCF2EN
  set(0, kCtrl, rising(8) | kLength | kDir);
  run_to(2 * kTick);
  EXPECT_EQ(at(0, kCntr), 7u);
  EXPECT_TRUE(host.lines[kIrq]);
  EXPECT_EQ(at(0, kCsctrl), 0xA0u);  // TCF2, and UP is 0
  set(0, kCsctrl, 1 << 7);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(3 * kTick);
  EXPECT_EQ(at(0, kCntr), 9u);
}

TEST_F(QtmrTest, OnceStopsAtTheCompare) {
  set(0, kComp1, 10);
  set(0, kCtrl, rising(8) | kOnce);
  run_to(100 * kTick);
  EXPECT_EQ(at(0, kCntr), 10u);
  EXPECT_EQ(at(0, kSctrl) & kTcf, kTcf);
  set(0, kCtrl, rising(8) | kOnce);
  run_to(105 * kTick);
  EXPECT_EQ(at(0, kCntr), 15u);
}

TEST_F(QtmrTest, TheTeensyCoresPwmHasItsPeriodAndDuty) {
  // quadtimerWrite: low 30, high 20 of a period of 50; CL1 1, OUTMODE 6, output inverted.
  timer.watch(0, true);
  set(0, kSctrl, 1 | 2 | 8 | 4);
  edges.clear();
  set(0, kCsctrl, 1 | 1 << 12);
  set(0, kLoad, 65537 - 30);
  set(0, kComp1, 20);
  set(0, kCmpld1, 20);
  set(0, kCtrl, rising(8) | kLength | 6);
  run_to(200 * kTick);
  // OFLAG is set at the compare and cleared at the rollover, the pin the other way round: high 29
  // ticks later, when 65507 has come to 0, until 20 more have passed.
  const std::vector<Edge> expected = {{0, true, 50 * kTick},  {0, false, 70 * kTick},
                                      {0, true, 100 * kTick}, {0, false, 120 * kTick},
                                      {0, true, 150 * kTick}, {0, false, 170 * kTick},
                                      {0, true, 200 * kTick}};
  EXPECT_EQ(edges, expected);
}

TEST_F(QtmrTest, AlternatingComparesToggleTheOutput) {
  timer.watch(2, true);
  set(2, kComp1, 2);
  set(2, kComp2, 5);
  set(2, kCtrl, rising(8) | kLength | 4);
  run_to(20 * kTick);
  const std::vector<Edge> expected = {{2, true, 2 * kTick},
                                      {2, false, 8 * kTick},
                                      {2, true, 11 * kTick},
                                      {2, false, 17 * kTick},
                                      {2, true, 20 * kTick}};
  EXPECT_EQ(edges, expected);
}

TEST_F(QtmrTest, CascadedCountersCountCompares) {
  set(0, kComp1, 9);
  set(1, kComp1, 99);
  set(1, kSctrl, kTcfie);
  set(1, kCtrl, 7u << 13 | 4 << 9 | kLength);
  set(0, kCtrl, rising(8) | kLength);
  run_to(9 * kTick);
  EXPECT_EQ(at(1, kCntr), 1u);
  run_to((9 + 97 * 10) * kTick);
  EXPECT_EQ(at(1, kCntr), 98u);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to((9 + 98 * 10) * kTick);
  EXPECT_TRUE(host.lines[kIrq]);
}

TEST_F(QtmrTest, ACounterCountsTheOutputOfAnother) {
  set(0, kComp1, 9);
  set(0, kCtrl, rising(8) | kLength | 3);  // toggles every 10
  set(3, kCtrl, rising(4));
  run_to(100 * kTick);
  EXPECT_EQ(at(3, kCntr), 5u);  // rising at 9, 29, 49, 69, 89
}

TEST_F(QtmrTest, NobodyLooksForALongTimeAndNothingIsLost) {
  // Two periods of 7 and 11 * 4 ticks and a cascade: 600 s are 9e10 ticks.
  set(0, kComp1, 6);
  set(0, kCtrl, rising(8) | kLength | 3);
  set(1, kComp1, 10);
  set(1, kCtrl, rising(10) | kLength);
  set(2, kComp1, 9);
  set(2, kCtrl, 7u << 13 | 4 << 9 | kLength);
  EXPECT_EQ(host.queue.size(), 0u);
  const uint64_t ticks = 90'000'000'000;
  run_to(ticks * kTick);
  EXPECT_EQ(at(0, kCntr), ticks % 7);
  EXPECT_EQ(at(1, kCntr), ticks / 4 % 11);
  EXPECT_EQ(at(2, kCntr), ((ticks - 6) / 7 + 1) % 10);
}

TEST_F(QtmrTest, PreloadsRequestDma) {
  set(0, kComp1, 9);
  set(0, kCmpld1, 4);
  set(0, kCsctrl, 1);
  set(0, kDma, 2);
  set(0, kCtrl, rising(8) | kLength);
  run_to(9 * kTick);
  EXPECT_TRUE(dma[116]);
  EXPECT_EQ(at(0, kComp1), 4u);
  set(0, kCmpld1, 7);
  EXPECT_FALSE(dma[116]);
  run_to(14 * kTick);  // a period of 5
  EXPECT_TRUE(dma[116]);
  EXPECT_EQ(at(0, kComp1), 7u);
}

TEST_F(QtmrTest, DisabledCountersStandStill) {
  set(0, kEnbl, 0);
  set(0, kCtrl, rising(8));
  set(1, kCtrl, rising(8));
  run_to(100 * kTick);
  EXPECT_EQ(at(0, kCntr), 0u);
  set(0, kEnbl, 2);
  run_to(150 * kTick);
  EXPECT_EQ(at(0, kCntr), 0u);
  EXPECT_EQ(at(1, kCntr), 50u);
}

TEST_F(QtmrTest, WideAccessesReachTwoRegisters) {
  put(timer, reg(1, kComp1), 0x00070005);
  EXPECT_EQ(at(1, kComp1), 5u);
  EXPECT_EQ(get(timer, reg(1, kComp1)), 0x00070005u);
}

TEST_F(QtmrTest, PinsAreReported) {
  set(0, kCtrl, 4u << 13);   // quadrature
  set(1, kCtrl, rising(0));  // counter 0's pin
  set(2, kSctrl, 1 << 6);    // capture
  const std::vector<testing::FakeHost::Unknown> expected = {
      {reg(0, kCtrl), true}, {reg(1, kCtrl), true}, {reg(2, kSctrl), true}};
  EXPECT_EQ(host.unknown, expected);
}

TEST_F(QtmrTest, ASnapshotGoesOn) {
  set(0, kComp1, 99);
  set(0, kSctrl, kTcfie | kTofie);
  set(0, kCtrl, rising(9) | kLength);
  run_to(77 * kTick);
  Qtmr other(host, clocks, 4);
  ASSERT_TRUE(copy_state(timer, other));
  run_to(198 * kTick - 1);
  EXPECT_FALSE(host.lines[136]);
  run_to(198 * kTick);
  EXPECT_TRUE(host.lines[136]);
}

}  // namespace
}  // namespace millrace::board
