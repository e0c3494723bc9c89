// SPDX-License-Identifier: Apache-2.0
// The converters run from the IPG clock of 150 MHz / 2 / 8: 64 core cycles an ADCK. A conversion of
// 12 bits with ADSTS 0 takes 4 + 25 + 3 = 32 ADCK and 2 bus cycles of 4: 2056.
#include "devices/adc_etc.h"

#include <gtest/gtest.h>

#include <map>

#include "devices/testing/device_fixture.h"
#include "devices/xbara.h"

namespace millrace::board {
namespace {

constexpr uint32_t kCtrl = 0x00, kDone01 = 0x04, kDone2Err = 0x08, kDmaCtrl = 0x0C;
constexpr uint32_t trig(unsigned n, uint32_t offset) { return 0x10 + 0x28 * n + offset; }
constexpr uint32_t kTrigCtrl = 0x00, kCounter = 0x04, kChain10 = 0x08, kResult10 = 0x18;
constexpr uint32_t kHc0 = 0x00, kCfg = 0x44;
constexpr Cycles kConversion = 2056, kTick = 4;

class AdcEtcTest : public testing::DeviceFixture {
 protected:
  AdcEtcTest() {
    for (Adc* adc : {&adc1, &adc2}) {
      put(*adc, kCfg, 1u << 13 | 3 << 5 | 2 << 2 | 1);  // ADTRG, ADIV 8, 12 bits, IPG / 2
      for (uint32_t i = 0; i < 8; ++i) put(*adc, kHc0 + 4 * i, 16);
    }
    put(etc, kCtrl, 0xFF);
  }
  // Channel n gives n / 4096 of the reference on ADC1, 100 more on ADC2.
  static double volts(unsigned adc, unsigned channel) {
    return 3.3 / 4096 * (channel + (adc == 2 ? 100 : 0));
  }
  std::map<unsigned, bool> dma;
  Adc adc1{host, clocks, 1, [](unsigned a, unsigned c, double) { return volts(a, c); }};
  Adc adc2{host, clocks, 2, [](unsigned a, unsigned c, double) { return volts(a, c); }};
  AdcEtc etc{host, clocks, adc1, adc2, [this](unsigned n, bool level) { dma[n] = level; }};
};

TEST_F(AdcEtcTest, ResetHoldsEverything) {
  etc.reset();
  EXPECT_EQ(get(etc, kCtrl), 0xC0000000u);
  etc.trigger(0, 0);
  EXPECT_EQ(host.queue.size(), 0u);
}

TEST_F(AdcEtcTest, ATriggerConvertsAfterItsDelay) {
  put(etc, trig(1, kCounter), 9);
  put(etc, trig(1, kChain10), 1 << 13 | 1 << 4 | 5);  // DONE0, HC0, channel 5
  etc.trigger(1, 0);
  const Cycles end = 10 * kTick + kConversion;
  run_to(end - 1);
  EXPECT_FALSE(host.lines[118]);
  run_to(end);
  EXPECT_TRUE(host.lines[118]);
  EXPECT_EQ(get(etc, kDone01), 2u);
  EXPECT_EQ(get(etc, trig(1, kResult10)), 5u);
  put(etc, kDone01, 2);
  EXPECT_FALSE(host.lines[118]);
}

TEST_F(AdcEtcTest, AChainGoesThroughItsSegments) {
  put(etc, trig(4, kTrigCtrl), 2 << 8);  // three segments
  put(etc, trig(4, kCounter), 99 << 16);
  // Channel 1 in HC0, back to back; channel 2 in HC1, then the interval; channel 3 in HC2, DONE1.
  put(etc, trig(4, kChain10), (2u << 4 | 2) << 16 | (1 << 12 | 1 << 4 | 1));
  put(etc, trig(4, kChain10 + 4), 2 << 13 | 4 << 4 | 3);
  put(etc, kCtrl, 0xFF);  // TSC_BYPASS 0
  etc.trigger(4, 0);
  const Cycles end = kTick + 2 * kConversion + 100 * kTick + kConversion;
  run_to(end - kTick);
  EXPECT_FALSE(host.lines[119]);
  run_to(end);
  EXPECT_TRUE(host.lines[119]);
  EXPECT_EQ(get(etc, trig(4, kResult10)), 102u << 16 | 101);
  EXPECT_EQ(get(etc, trig(4, kResult10 + 4)), 103u);
}

TEST_F(AdcEtcTest, SoftwareTriggersNeedTheirMode) {
  put(etc, trig(0, kChain10), 3 << 13 | 1 << 4 | 7);
  put(etc, trig(0, kTrigCtrl), 1);
  EXPECT_EQ(host.queue.size(), 0u);
  put(etc, trig(0, kTrigCtrl), 1 | 1 << 4);
  EXPECT_EQ(get(etc, trig(0, kTrigCtrl)), 1u << 4);
  run_to(5000);
  EXPECT_TRUE(host.lines[120]);
  EXPECT_EQ(get(etc, trig(0, kResult10)), 7u);
}

TEST_F(AdcEtcTest, ASecondTriggerTooSoonIsAnError) {
  put(etc, trig(0, kChain10), 1 << 4);
  etc.trigger(0, 0);
  etc.trigger(0, 0);
  EXPECT_TRUE(host.lines[121]);
  EXPECT_EQ(get(etc, kDone2Err), 0x10000u);
}

TEST_F(AdcEtcTest, SyncModeStartsBothConverters) {
  put(etc, trig(2, kTrigCtrl), 1 << 16);
  put(etc, trig(2, kChain10), 1 << 4 | 1);
  put(etc, trig(6, kChain10), 1 << 4 | 2);
  etc.trigger(2, 0);
  run_to(kTick + kConversion);
  EXPECT_EQ(get(etc, trig(2, kResult10)), 1u);
  EXPECT_EQ(get(etc, trig(6, kResult10)), 102u);
}

TEST_F(AdcEtcTest, PrioritiesOrderWhatWaits) {
  for (unsigned i = 0; i < 3; ++i) {
    put(etc, trig(i, kTrigCtrl), i << 12);
    put(etc, trig(i, kChain10), 1 << 13 | 1 << 4 | i);
  }
  for (unsigned i = 0; i < 3; ++i) etc.trigger(i, 0);
  run_to(kTick + kConversion);
  EXPECT_EQ(get(etc, kDone01), 4u);
  run_to(kTick + 2 * kConversion);
  EXPECT_EQ(get(etc, kDone01), 6u);
  run_to(kTick + 3 * kConversion);
  EXPECT_EQ(get(etc, kDone01), 7u);
}

TEST_F(AdcEtcTest, DmaIsRequestedByAFinishedChain) {
  put(etc, trig(0, kChain10), 1 << 4);
  put(etc, kDmaCtrl, 1);
  etc.trigger(0, 0);
  run_to(5000);
  EXPECT_TRUE(dma[23]);
  put(etc, kDmaCtrl, 0x10001);
  EXPECT_FALSE(dma[23]);
}

TEST_F(AdcEtcTest, TheTouchScreenIsReported) {
  put(etc, kCtrl, 1 << 8);
  EXPECT_EQ(host.unknown.size(), 1u);
}

TEST_F(AdcEtcTest, TheCrossbarLeadsTimersHere) {
  Xbara xbar(host, {.watch = {},
                    .output =
                        [&](unsigned output, bool level, Cycles when) {
                          if (output >= Xbara::kOutAdcEtc && level) {
                            etc.trigger(output - Xbara::kOutAdcEtc, when);
                          }
                        },
                    .dma = {}});
  put(etc, trig(0, kChain10), 1 << 13 | 1 << 4 | 9);
  put(xbar, Xbara::kOutAdcEtc, Xbara::kInPit + 1, 1);
  xbar.pulse(Xbara::kInPit + 1, 0);
  run_to(5000);
  EXPECT_EQ(get(etc, trig(0, kResult10)), 9u);
}

TEST_F(AdcEtcTest, ASnapshotKeepsAWaitingTrigger) {
  put(etc, trig(1, kCounter), 999);
  put(etc, trig(1, kChain10), 1 << 13 | 1 << 4 | 5);
  etc.trigger(1, 0);
  run_to(100);
  Adc other1(host, clocks, 1, {}), other2(host, clocks, 2, {});
  AdcEtc other(host, clocks, other1, other2);
  ASSERT_TRUE(copy_state(adc1, other1));
  ASSERT_TRUE(copy_state(etc, other));
  run_to(10'000);
  EXPECT_EQ(get(other, kDone01), 2u);
}

}  // namespace
}  // namespace millrace::board
