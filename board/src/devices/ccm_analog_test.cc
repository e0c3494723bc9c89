// SPDX-License-Identifier: Apache-2.0
// What shares the page of the PLLs: regulators, sensor, crystal, VBUS. PLLs: ccm_test.cc.
#include "devices/ccm_analog.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr uint32_t kMisc0 = 0x150, kMisc0Set = 0x154, kMisc1 = 0x160;
constexpr uint32_t kTempSense0 = 0x180, kTempSense0Set = 0x184, kTempSense0Clr = 0x188;
constexpr uint32_t kTempSense2 = 0x290;
constexpr uint32_t kPfd528 = 0x100;

class CcmAnalogTest : public ::testing::Test {
 protected:
  uint32_t peek(uint32_t offset) { return analog.read(offset, 4, 0); }
  void poke(uint32_t offset, uint32_t value) { analog.write(offset, 4, value, 0); }
  void measure() {
    poke(kTempSense0Clr, 1);
    poke(kTempSense0Set, 2);
  }

  testing::FakeHost host;
  Clocks clocks;
  CcmAnalog analog{host, clocks};
};

TEST_F(CcmAnalogTest, RegulatorsAreOkIfOn) {
  EXPECT_EQ(peek(0x110), 0x00021073u);
  EXPECT_EQ(peek(0x120), 0x00000F74u);
  poke(0x120, 0xF61);
  EXPECT_EQ(peek(0x120), 0x00020F61u);
}

TEST_F(CcmAnalogTest, CrystalReportsStableOnceAsked) {
  EXPECT_EQ(peek(kMisc0) & 0x8000, 0u);
  poke(kMisc0Set, 1u << 16);
  EXPECT_EQ(peek(kMisc0) & 0x8000, 0x8000u);
  EXPECT_EQ(peek(0x270) & 0x10000, 0x10000u);
  poke(kMisc0Set, 1u << 30);  // to stop it is not modelled
  EXPECT_EQ(host.unknown.size(), 1u);
}

// The firmware's arithmetic: T = hot - (count - hot_count) * (hot - 25) / (room - hot_count), with
// hot 105, hot_count 0x4FF = 1279, room 0x57D = 1405.
TEST_F(CcmAnalogTest, TemperatureIsThatOfTheOptions) {
  EXPECT_EQ(peek(kTempSense0), 1u);
  measure();
  const uint32_t value = peek(kTempSense0);
  EXPECT_EQ(value & 7, 6u);
  const int count = static_cast<int>(value >> 8 & 0xFFF);
  EXPECT_NEAR(105 - (count - 1279) * 80.0 / 126, 45, 1);
  analog.set_celsius(25);
  EXPECT_EQ(peek(kTempSense0) >> 8 & 0xFFF, 1405u);
  analog.set_celsius(105);
  EXPECT_EQ(peek(kTempSense0) >> 8 & 0xFFF, 1279u);
}

TEST_F(CcmAnalogTest, AlarmsRaiseTheirLinesUntilCleared) {
  const uint32_t at_90 = 1279 + 15 * 126 / 80;
  poke(kTempSense2, at_90 << 16 | 1405);
  measure();
  EXPECT_FALSE(host.lines[CcmAnalog::kTemperatureIrq]);
  analog.set_celsius(95);
  EXPECT_TRUE(host.lines[CcmAnalog::kTemperaturePanicIrq]);
  analog.set_celsius(45);
  EXPECT_EQ(peek(kMisc1) & 0xF8000000, 1u << 27);
  poke(kMisc1, 1u << 27);
  EXPECT_FALSE(host.lines[CcmAnalog::kTemperaturePanicIrq]);
  analog.set_celsius(10);
  EXPECT_TRUE(host.lines[CcmAnalog::kTemperatureIrq]);
}

TEST_F(CcmAnalogTest, PfdStableInvertsWithEachNewFraction) {
  EXPECT_EQ(peek(kPfd528), 0x18131818u);
  poke(kPfd528, 0x18131810);
  EXPECT_EQ(peek(kPfd528), 0x18131850u);
  poke(kPfd528, 0x18131810);
  EXPECT_EQ(peek(kPfd528), 0x18131850u);
}

TEST_F(CcmAnalogTest, VbusOfThePortsIsSeen) {
  EXPECT_EQ(peek(0x1C0), 0xEu);
  EXPECT_EQ(peek(0x220), 0x1u);
  analog.set_vbus(1, true);
  EXPECT_EQ(peek(0x220), 0xEu);
}

TEST_F(CcmAnalogTest, ChipIsAnRt1060) { EXPECT_EQ(peek(0x260), 0x006C0000u); }

TEST_F(CcmAnalogTest, ChargerStatusIsNotModelled) {
  EXPECT_EQ(peek(0x1D0), 0u);
  EXPECT_EQ(host.unknown.size(), 1u);
}

}  // namespace
}  // namespace millrace::board
