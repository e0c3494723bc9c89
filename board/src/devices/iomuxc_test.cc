// SPDX-License-Identifier: Apache-2.0
#include "devices/iomuxc.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

TEST(Iomuxc, EveryPadRegisterIsThere) {
  testing::FakeHost host;
  Iomuxc iomuxc(host);
  for (uint32_t offset = 0x14; offset <= 0x78C; offset += 4) iomuxc.read(offset, 4, 0);
  EXPECT_TRUE(host.unknown.empty());
  iomuxc.read(0x10, 4, 0);
  iomuxc.read(0x790, 4, 0);
  EXPECT_EQ(host.unknown.size(), 2u);
}

// The Teensy core's pin 13, GPIO_B0_03: mux 0x401F8148, pad 0x401F8338.
TEST(Iomuxc, PadsResetAsTheManualSaysAndKeepWhatIsWritten) {
  testing::FakeHost host;
  Iomuxc iomuxc(host);
  EXPECT_EQ(iomuxc.read(0x148, 4, 0), 0x5u);
  EXPECT_EQ(iomuxc.read(0x338, 4, 0), 0x10B0u);
  iomuxc.write(0x148, 4, 0xFFFFFF15, 0);
  EXPECT_EQ(iomuxc.read(0x148, 4, 0), 0x15u);
  iomuxc.reset();
  EXPECT_EQ(iomuxc.read(0x148, 4, 0), 0x5u);
}

class IomuxcGprTest : public ::testing::Test {
 protected:
  IomuxcGprTest() {
    gpr.on_flexram([this](uint32_t gpr16, uint32_t gpr17) { flexram.emplace_back(gpr16, gpr17); });
    gpr.on_gpio_select(
        [this](unsigned pair, uint32_t fast, Cycles) { selects.emplace_back(pair, fast); });
  }

  testing::FakeHost host;
  IomuxcGpr gpr{host};
  std::vector<std::pair<uint32_t, uint32_t>> flexram;
  std::vector<std::pair<unsigned, uint32_t>> selects;
};

TEST_F(IomuxcGprTest, FlexRamIsToldAtOnce) {
  gpr.write(0x44, 4, 0xAAAAAAAB, 0);  // as the Teensy core's ResetHandler
  gpr.write(0x40, 4, 0x00200007, 0);
  const std::vector<std::pair<uint32_t, uint32_t>> expected = {{0x00200003, 0xAAAAAAAB},
                                                               {0x00200007, 0xAAAAAAAB}};
  EXPECT_EQ(flexram, expected);
  EXPECT_EQ(gpr.initial_vtor(), 0x00200000u);
}

TEST_F(IomuxcGprTest, GpioSelectorsAreToldWhenTheyChange) {
  gpr.write(0x6C, 4, 0xFFFFFFFF, 0);
  gpr.write(0x6C, 4, 0xFFFFFFFF, 0);
  gpr.write(0x74, 4, 0x1, 0);
  const std::vector<std::pair<unsigned, uint32_t>> expected = {{1, 0xFFFFFFFF}, {3, 0x1}};
  EXPECT_EQ(selects, expected);
  selects.clear();
  gpr.reset();
  EXPECT_EQ(selects.size(), 4u);
}

TEST_F(IomuxcGprTest, StopRequestsAreAcknowledged) {
  gpr.write(0x10, 4, 0x00000008, 0);
  EXPECT_EQ(gpr.read(0x10, 4, 0), 0x00080008u);
  gpr.write(0x10, 4, 0, 0);
  EXPECT_EQ(gpr.read(0x10, 4, 0), 0u);
  gpr.write(0x34, 4, 0x10, 0);
  EXPECT_EQ(gpr.read(0x34, 4, 0), 0x00100010u);
}

TEST_F(IomuxcGprTest, SnapshotBringsValuesBack) {
  gpr.write(0x40, 4, 0x00200007, 0);
  Snapshot saved;
  gpr.snapshot(saved);
  gpr.reset();
  Snapshot restored(saved.take());
  gpr.snapshot(restored);
  EXPECT_TRUE(restored.ok());
  EXPECT_EQ(gpr.read(0x40, 4, 0), 0x00200007u);
}

TEST(IomuxcSnvs, PadsAndGeneralPurposeRegisterAreStored) {
  testing::FakeHost host;
  IomuxcSnvs pads(host);
  IomuxcSnvsGpr gpr(host);
  EXPECT_EQ(pads.read(0, 4, 0), 5u);
  pads.write(0x18, 4, 0x0001F839, 0);
  EXPECT_EQ(pads.read(0x18, 4, 0), 0x0001F8B9u);  // bit 7, SPEED, is fixed
  EXPECT_EQ(gpr.read(0xC, 4, 0), 0x00080000u);
  gpr.read(0, 4, 0);
  EXPECT_EQ(host.unknown.size(), 1u);
}

}  // namespace
}  // namespace millrace::board
