// SPDX-License-Identifier: Apache-2.0
// The asynchronous clock is 20 MHz with ADHSC: 30 cycles of the core; with ADIV 1, 60.
#include "devices/adc.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kHc0 = 0x00, kHs = 0x20, kR0 = 0x24, kCfg = 0x44, kGc = 0x48, kGs = 0x4C,
                   kCv = 0x50, kOfs = 0x54;
// As the Teensy core sets it for 10 bits: MODE 1, ADSTS 2, ADLSMP, ADIV 1, ADICLK 3, ADHSC.
constexpr uint32_t kTeensy = 1 << 2 | 2 << 8 | 1 << 4 | 1 << 5 | 3 | 1 << 10;

class AdcTest : public testing::DeviceFixture {
 protected:
  // 10 bits: 21 + 21 ADCK. First: 4 ADCK, 2 bus cycles (8), 1.5 us (900).
  static constexpr Cycles kFirst = 900 + 8 + 4 * 60, kEach = 42 * 60;

  std::map<unsigned, bool> dma;
  std::vector<std::pair<unsigned, double>> asked;  // channel, seconds
  Adc adc{host, clocks, 1, [](unsigned, unsigned, double) { return 1.65; },
          [this](unsigned source, bool level) { dma[source] = level; }};
};

TEST_F(AdcTest, ResetValues) {
  EXPECT_EQ(get(adc, kHc0), 0x1Fu);
  EXPECT_EQ(get(adc, kCfg), 0x200u);
  EXPECT_EQ(get(adc, kHs), 0u);
}

TEST_F(AdcTest, AConversionTakesItsTimeAndGivesHalfOfTheScale) {
  put(adc, kCfg, kTeensy);
  put(adc, kHc0, 7 | 1 << 7);
  EXPECT_EQ(get(adc, kGs), 1u);
  run_to(kFirst + kEach - 1);
  EXPECT_EQ(get(adc, kHs), 0u);
  EXPECT_FALSE(host.lines[67]);
  run_to(kFirst + kEach);
  EXPECT_TRUE(host.lines[67]);
  EXPECT_EQ(get(adc, kHs), 1u);
  EXPECT_EQ(get(adc, kGs), 0u);
  EXPECT_EQ(get(adc, kR0), 512u);
  EXPECT_EQ(get(adc, kHs), 0u);
  EXPECT_FALSE(host.lines[67]);
}

TEST_F(AdcTest, ResolutionRoundingAndLimits) {
  const struct {
    double volts;
    uint32_t mode;
    uint32_t code;
  } cases[] = {{1.65, 0, 128}, {1.65, 2, 2048},           {3.3, 2, 4095},           {100, 0, 255},
               {-1, 2, 0},     {3.3 / 4096 * 0.49, 2, 0}, {3.3 / 4096 * 0.51, 2, 1}};
  for (const auto& c : cases) {
    adc.set_signal([&](unsigned, unsigned, double) { return c.volts; });
    put(adc, kCfg, (kTeensy & ~0xCu) | c.mode << 2);
    put(adc, kHc0, 3);
    run_to(host.queue.now() + 20'000);
    EXPECT_EQ(get(adc, kR0), c.code) << c.volts << " in mode " << c.mode;
  }
}

TEST_F(AdcTest, TheSignalIsSampledAtTheEndOfTheSampleTime) {
  adc.set_signal([&](unsigned, unsigned channel, double seconds) {
    asked.push_back({channel, seconds});
    return 0.0;
  });
  put(adc, kCfg, kTeensy);
  put(adc, kGc, 1 << 5);  // average of 4
  put(adc, kHc0, 7);
  run_to(kFirst + 4 * kEach - 1);
  EXPECT_EQ(get(adc, kHs), 0u);
  run_to(kFirst + 4 * kEach);
  ASSERT_EQ(asked.size(), 4u);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(asked[i].first, 7u);
    const double cycles = static_cast<double>(kFirst + i * kEach + 21 * 60);
    EXPECT_NEAR(asked[i].second, cycles / 600e6, 1e-9);  // whole nanoseconds
  }
}

TEST_F(AdcTest, AveragesAreTruncated) {
  unsigned n = 0;
  adc.set_signal([&](unsigned, unsigned, double) { return ++n % 4 == 0 ? 0.0 : 3.3 / 1024 * 3; });
  put(adc, kCfg, kTeensy);
  put(adc, kGc, 1 << 5);
  put(adc, kHc0, 7);
  run_to(20'000);
  EXPECT_EQ(get(adc, kR0), 2u);  // 9 / 4
}

TEST_F(AdcTest, CalibrationClearsItself) {
  put(adc, kCfg, kTeensy);
  put(adc, kGc, 1 << 7);
  run_to(14'000 * 60 - 1);
  EXPECT_EQ(get(adc, kGc), 0x80u);
  run_to(14'000 * 60);
  EXPECT_EQ(get(adc, kGc), 0u);
  EXPECT_EQ(get(adc, kGs), 0u);
  EXPECT_EQ(get(adc, kHs), 1u);
}

TEST_F(AdcTest, AWriteSpoilsTheCalibration) {
  put(adc, kCfg, kTeensy);
  put(adc, kGc, 1 << 7);
  run_to(1000);
  put(adc, kCfg, kTeensy);
  EXPECT_EQ(get(adc, kGc), 0u);
  EXPECT_EQ(get(adc, kGs), 2u);
  put(adc, kGs, 2);
  EXPECT_EQ(get(adc, kGs), 0u);
}

TEST_F(AdcTest, ContinuousConversionsFollowWithoutAPause) {
  put(adc, kCfg, kTeensy);
  put(adc, kGc, 1 << 6 | 1);  // ADCO, the clock kept on: 248 cycles before the first
  put(adc, kHc0, 1);
  for (unsigned i = 1; i <= 3; ++i) {
    run_to(248 + i * kEach - 1);
    EXPECT_EQ(get(adc, kHs), 0u) << i;
    run_to(248 + i * kEach);
    EXPECT_EQ(get(adc, kHs), 1u) << i;
    get(adc, kR0);
  }
  put(adc, kHc0, 0x1F);
  run_to(100'000);
  EXPECT_EQ(get(adc, kHs), 0u);
}

TEST_F(AdcTest, TheCompareFunctionHidesResults) {
  put(adc, kCfg, kTeensy);
  const struct {
    uint32_t control, low, high;
    bool seen;  // of 512
  } cases[] = {{1 << 4, 513, 0, true},    {1 << 4, 512, 0, false},   {3 << 3, 512, 0, true},
               {3 << 3, 513, 0, false},   {5 << 2, 512, 600, false}, {5 << 2, 513, 600, true},
               {7 << 2, 512, 600, true},  {7 << 2, 0, 511, false},   {5 << 2, 600, 500, true},
               {5 << 2, 512, 500, false}, {7 << 2, 600, 512, true},  {7 << 2, 600, 511, false}};
  for (const auto& c : cases) {
    put(adc, kGc, c.control);
    put(adc, kCv, c.low | c.high << 16);
    put(adc, kHc0, 1);
    run_to(host.queue.now() + 10'000);
    EXPECT_EQ(get(adc, kHs), c.seen ? 1u : 0u) << c.control << " " << c.low << " " << c.high;
    get(adc, kR0);
  }
}

TEST_F(AdcTest, OffsetIsAddedOrSubtracted) {
  put(adc, kCfg, kTeensy);
  put(adc, kOfs, 12);
  put(adc, kHc0, 1);
  run_to(10'000);
  EXPECT_EQ(get(adc, kR0), 524u);
  put(adc, kOfs, 0x1000 | 600);
  put(adc, kHc0, 1);
  run_to(20'000);
  EXPECT_EQ(get(adc, kR0), 0u);
}

TEST_F(AdcTest, HardwareTriggersGoToTheListener) {
  std::vector<std::pair<unsigned, uint16_t>> done;
  adc.set_done([&](unsigned group, uint16_t value, Cycles) { done.push_back({group, value}); });
  adc.set_signal([](unsigned, unsigned channel, double) { return channel == 9 ? 3.3 : 0.0; });
  EXPECT_FALSE(adc.trigger(2, 9, 0));  // software mode
  put(adc, kCfg, kTeensy | 1 << 13);
  EXPECT_FALSE(adc.trigger(2, 9, 0));  // HC2 is off
  put(adc, kHc0 + 8, 16);
  EXPECT_TRUE(adc.trigger(2, 9, 0));
  EXPECT_FALSE(adc.trigger(2, 9, 0));  // busy
  run_to(10'000);
  const std::vector<std::pair<unsigned, uint16_t>> expected = {{2, 1023}};
  EXPECT_EQ(done, expected);
  EXPECT_EQ(get(adc, kHs), 0u);
}

TEST_F(AdcTest, DmaRequestLastsUntilTheResultIsRead) {
  put(adc, kCfg, kTeensy);
  put(adc, kGc, 1 << 1);
  put(adc, kHc0, 1);
  run_to(10'000);
  EXPECT_TRUE(dma[24]);
  get(adc, kR0);
  EXPECT_FALSE(dma[24]);
}

TEST_F(AdcTest, TheAsynchronousClockDoesNotFollowTheCore) {
  put(adc, kCfg, kTeensy);
  put(adc, kHc0, 1);
  set_clocks(300'000'000);
  run_to((kFirst + kEach) / 2 - 1);
  EXPECT_EQ(get(adc, kHs), 0u);
  run_to((kFirst + kEach) / 2);
  EXPECT_EQ(get(adc, kHs), 1u);
}

TEST_F(AdcTest, ASnapshotGoesOn) {
  put(adc, kCfg, kTeensy);
  put(adc, kHc0, 1);
  run_to(kFirst);
  Adc other(host, clocks, 1, [](unsigned, unsigned, double) { return 3.3; });
  ASSERT_TRUE(copy_state(adc, other));
  run_to(kFirst + kEach);
  EXPECT_EQ(get(other, kR0), 1023u);
}

}  // namespace
}  // namespace millrace::board
