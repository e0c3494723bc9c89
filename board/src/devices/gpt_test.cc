// SPDX-License-Identifier: Apache-2.0
// PERCLK is 24 MHz and the core 600 MHz: 25 cycles a tick.
#include "devices/gpt.h"

#include <gtest/gtest.h>

#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kCr = 0x00, kPr = 0x04, kSr = 0x08, kIr = 0x0C, kOcr1 = 0x10, kOcr2 = 0x14,
                   kCnt = 0x24;
constexpr uint32_t kEn = 1, kEnmod = 2, kPerclk = 1u << 6, kFrr = 1u << 9, kSwr = 1u << 15;
constexpr Cycles kTick = 25;

class GptTest : public testing::DeviceFixture {
 protected:
  Gpt gpt{host, clocks, 2};
};

TEST_F(GptTest, ResetValues) {
  EXPECT_EQ(gpt.base(), 0x401F0000u);
  EXPECT_EQ(get(gpt, kOcr1), 0xFFFFFFFFu);
  EXPECT_EQ(get(gpt, kSr), 0u);
  run_to(1000);
  EXPECT_EQ(get(gpt, kCnt), 0u);
}

TEST_F(GptTest, FreeRunningCountsPerclk) {
  put(gpt, kCr, kEn | kPerclk | kFrr);
  run_to(1000 * kTick);
  EXPECT_EQ(get(gpt, kCnt), 1000u);
  put(gpt, kCr, kPerclk | kFrr);
  run_to(2000 * kTick);
  EXPECT_EQ(get(gpt, kCnt), 1000u);
  put(gpt, kCr, kEn | kPerclk | kFrr);  // ENMOD 0: goes on
  run_to(2001 * kTick);
  EXPECT_EQ(get(gpt, kCnt), 1001u);
  put(gpt, kCr, kPerclk | kFrr);
  put(gpt, kCr, kEn | kEnmod | kPerclk | kFrr);
  EXPECT_EQ(get(gpt, kCnt), 0u);
}

TEST_F(GptTest, ThePrescalerDividesAndIsExact) {
  put(gpt, kPr, 9);
  put(gpt, kCr, kEn | kPerclk | kFrr);
  run_to(10 * kTick - 1);
  EXPECT_EQ(get(gpt, kCnt), 0u);
  run_to(10 * kTick);
  EXPECT_EQ(get(gpt, kCnt), 1u);
  run_to(1'000'000 * kTick);
  EXPECT_EQ(get(gpt, kCnt), 100'000u);
}

TEST_F(GptTest, OtherSources) {
  put(gpt, kCr, kEn | kFrr | 4u << 6);  // 32,768 Hz
  run_to(600'000'000);
  EXPECT_EQ(get(gpt, kCnt), 32'768u);
  put(gpt, kCr, 0);
  put(gpt, kPr, 3u << 12 | 1);
  put(gpt, kCr, kEn | kEnmod | kFrr | 5u << 6 | 1u << 10);  // crystal / 4 / 2: 3 MHz
  run_to(1'200'000'000);
  EXPECT_EQ(get(gpt, kCnt), 3'000'000u);
  EXPECT_TRUE(host.unknown.empty());
  put(gpt, kCr, 3u << 6);  // a pin
  EXPECT_EQ(host.unknown.size(), 1u);
}

TEST_F(GptTest, RestartModeGoesToZeroAfterOcr1) {
  put(gpt, kOcr1, 4);
  put(gpt, kIr, 1);
  put(gpt, kCr, kEn | kPerclk);
  const uint32_t expected[] = {0, 1, 2, 3, 4, 0, 1};
  for (unsigned t = 0; t < 7; ++t) {
    run_to(t * kTick);
    EXPECT_EQ(get(gpt, kCnt), expected[t]);
    EXPECT_EQ(host.lines[101], t >= 4) << t;
  }
  put(gpt, kSr, 1);
  EXPECT_FALSE(host.lines[101]);
  run_to(9 * kTick - 1);
  EXPECT_FALSE(host.lines[101]);
  run_to(9 * kTick);
  EXPECT_TRUE(host.lines[101]);
}

TEST_F(GptTest, WritingOcr1InRestartModeResetsTheCounter) {
  put(gpt, kCr, kEn | kPerclk);
  run_to(10 * kTick);
  put(gpt, kOcr1, 100);
  EXPECT_EQ(get(gpt, kCnt), 0u);
  put(gpt, kCr, kEn | kPerclk | kFrr);
  run_to(20 * kTick);
  put(gpt, kOcr1, 1000);
  EXPECT_EQ(get(gpt, kCnt), 10u);
}

TEST_F(GptTest, CompareFlagsRiseWithoutEvents) {
  put(gpt, kOcr1, 1000);
  put(gpt, kOcr2, 20);
  put(gpt, kCr, kEn | kPerclk | kFrr);
  run_to(19 * kTick);
  EXPECT_EQ(get(gpt, kSr), 0u);
  run_to(20 * kTick);
  EXPECT_EQ(get(gpt, kSr), 2u);
  EXPECT_EQ(host.queue.size(), 0u);
  run_to(1000 * kTick);
  EXPECT_EQ(get(gpt, kSr), 3u);
}

TEST_F(GptTest, RolloverIsAFlag) {
  put(gpt, kIr, 1u << 5);
  put(gpt, kCr, kEn | kPerclk | kFrr);
  const Cycles wrap = (Cycles{1} << 32) * kTick;
  run_to(wrap - 1);
  EXPECT_FALSE(host.lines[101]);
  run_to(wrap);
  EXPECT_TRUE(host.lines[101]);
  EXPECT_EQ(get(gpt, kCnt), 0u);
}

TEST_F(GptTest, SoftwareResetKeepsTheEnableBits) {
  put(gpt, kPr, 5);
  put(gpt, kCr, kEn | kEnmod | kPerclk | kFrr | kSwr);
  EXPECT_EQ(get(gpt, kCr), kEn | kEnmod);
  EXPECT_EQ(get(gpt, kPr), 0u);
}

TEST_F(GptTest, ASnapshotGoesOn) {
  put(gpt, kOcr1, 99);
  put(gpt, kIr, 1);
  put(gpt, kCr, kEn | kPerclk);
  run_to(50 * kTick + 7);
  Gpt other(host, clocks, 1);
  ASSERT_TRUE(copy_state(gpt, other));
  run_to(99 * kTick - 1);
  EXPECT_FALSE(host.lines[100]);
  run_to(99 * kTick);
  EXPECT_TRUE(host.lines[100]);
  EXPECT_EQ(get(other, kCnt), 99u);
}

}  // namespace
}  // namespace millrace::board
