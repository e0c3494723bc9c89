// SPDX-License-Identifier: Apache-2.0
#include "devices/gpio.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr uint32_t kDr = 0x00, kGdir = 0x04, kPsr = 0x08, kIcr1 = 0x0C, kIcr2 = 0x10, kImr = 0x14,
                   kIsr = 0x18, kEdgeSel = 0x1C, kDrSet = 0x84, kDrClear = 0x88, kDrToggle = 0x8C;

class GpioTest : public ::testing::Test {
 protected:
  uint32_t peek(unsigned bank, uint32_t offset) { return banks.bank(bank).read(offset, 4, 0); }
  void poke(unsigned bank, uint32_t offset, uint32_t value) {
    banks.bank(bank).write(offset, 4, value, 0);
  }

  testing::FakeHost host;
  GpioBanks banks{host};
};

TEST_F(GpioTest, OutputsAreSetClearedAndToggled) {
  std::vector<std::tuple<unsigned, uint32_t, uint32_t>> outputs;
  banks.on_output([&outputs](unsigned bank, uint32_t driven, uint32_t levels, Cycles) {
    outputs.emplace_back(bank, driven, levels);
  });
  poke(2, kDrSet, 0x0C);  // not an output yet
  poke(2, kGdir, 0x08);
  poke(2, kDrClear, 0x08);
  poke(2, kDrToggle, 0x0C);
  EXPECT_EQ(peek(2, kDrSet), 0u);
  const std::vector<std::tuple<unsigned, uint32_t, uint32_t>> expected = {
      {2, 0x08, 0x08}, {2, 0x08, 0x00}, {2, 0x08, 0x08}};
  EXPECT_EQ(outputs, expected);
  EXPECT_EQ(peek(2, kPsr), 0x08u);
}

TEST_F(GpioTest, DrShowsPadsOfInputsAndKeepsWhatWasWritten) {
  poke(1, kDr, 0x3);
  EXPECT_EQ(peek(1, kDr), 0u);
  banks.set_input(1, 4, true);
  EXPECT_EQ(peek(1, kDr), 0x10u);
  poke(1, kGdir, 0x3);
  EXPECT_EQ(peek(1, kDr), 0x13u);
  EXPECT_EQ(banks.bank(1).read(kDr, 1, 0), 0x13u);
}

// IOMUXC_GPR27 = all ones, as the Teensy core writes: GPIO2's pads belong to GPIO7.
TEST_F(GpioTest, PadBelongsToOneBankOfThePair) {
  std::vector<std::tuple<unsigned, uint32_t, uint32_t>> outputs;
  banks.on_output([&outputs](unsigned bank, uint32_t driven, uint32_t levels, Cycles) {
    outputs.emplace_back(bank, driven, levels);
  });
  poke(7, kGdir, 0x8);
  poke(7, kDrSet, 0x8);
  banks.set_input(2, 0, true);
  EXPECT_EQ(peek(2, kPsr), 1u);
  EXPECT_EQ(peek(7, kPsr), 0u);
  EXPECT_TRUE(outputs.empty());
  banks.select_fast(1, 0xFFFFFFFF, 0);
  EXPECT_EQ(peek(2, kPsr), 0u);
  EXPECT_EQ(peek(7, kPsr), 9u);
  const std::vector<std::tuple<unsigned, uint32_t, uint32_t>> expected = {{2, 0x8, 0x8}};
  EXPECT_EQ(outputs, expected);
}

TEST_F(GpioTest, EdgesAndLevelsSetTheirFlags) {
  // Pins 0 low level, 1 high level, 2 rising, 3 falling, 4 both edges; 16 rising.
  poke(3, kIcr1, 0u << 0 | 1u << 2 | 2u << 4 | 3u << 6 | 2u << 8);
  poke(3, kIcr2, 2);
  poke(3, kEdgeSel, 0x10);
  for (unsigned pin = 0; pin < 5; ++pin) banks.set_input(3, pin, pin != 1);
  poke(3, kIsr, 0xFFFFFFFF);
  EXPECT_EQ(peek(3, kIsr) & 0x1001F, 0u);
  for (unsigned pin = 0; pin < 5; ++pin) banks.set_input(3, pin, pin == 1);
  EXPECT_EQ(peek(3, kIsr) & 0x1001F, 0x1Bu);
  poke(3, kIsr, 0x1F);
  EXPECT_EQ(peek(3, kIsr) & 0x1001F, 0x03u);  // the levels last
  banks.set_input(3, 2, true);
  banks.set_input(3, 4, true);
  banks.set_input(3, 16, true);
  banks.set_input(3, 3, true);  // not a falling edge
  EXPECT_EQ(peek(3, kIsr) & 0x1001F, 0x10017u);
}

TEST_F(GpioTest, UnmaskedFlagsRaiseTheLinesOfTheirBank) {
  poke(4, kIcr1, 2u << 10);
  poke(4, kIcr2, 2u << 10);
  poke(4, kIsr, 0xFFFFFFFF);
  poke(4, kImr, 1u << 5 | 1u << 21);
  EXPECT_FALSE(host.lines[86]);
  banks.set_input(4, 5, true);
  EXPECT_TRUE(host.lines[86]);
  EXPECT_FALSE(host.lines[87]);
  banks.set_input(4, 21, true);
  EXPECT_TRUE(host.lines[87]);
  poke(4, kIsr, 1u << 5);
  EXPECT_FALSE(host.lines[86]);
  poke(4, kImr, 0);
  EXPECT_FALSE(host.lines[87]);
}

TEST_F(GpioTest, FastBanksShareALineAndGpio1HasEightMore) {
  banks.select_fast(0, 0x1, 0);
  banks.select_fast(3, 0x1, 0);
  for (const unsigned bank : {6u, 9u}) {
    poke(bank, kIcr1, 2);
    poke(bank, kIsr, 1);  // the low level that it sensed until now
    poke(bank, kImr, 1);
  }
  EXPECT_FALSE(host.lines[157]);
  banks.set_input(4, 0, true);
  EXPECT_TRUE(host.lines[157]);
  poke(9, kIsr, 1);
  EXPECT_FALSE(host.lines[157]);
  banks.set_input(1, 0, true);
  EXPECT_TRUE(host.lines[157]);
  EXPECT_FALSE(host.lines[80]);

  poke(1, kIcr1, 1u << 6);
  poke(1, kImr, 1u << 3);
  banks.set_input(1, 3, true);
  EXPECT_TRUE(host.lines[75]);
  EXPECT_TRUE(host.lines[80]);
}

TEST_F(GpioTest, ResetReleasesPadsAndSnapshotRestoresThem) {
  banks.select_fast(1, 0x8, 0);
  poke(7, kGdir, 0x8);
  poke(7, kDrSet, 0x8);
  Snapshot saved;
  banks.snapshot(saved);
  uint32_t driven = 0x8;
  banks.on_output([&driven](unsigned, uint32_t pins, uint32_t, Cycles) { driven = pins; });
  banks.reset();
  EXPECT_EQ(driven, 0u);
  EXPECT_EQ(peek(7, kPsr), 0u);
  Snapshot restored(saved.take());
  banks.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  EXPECT_EQ(peek(7, kPsr), 0x8u);
}

TEST_F(GpioTest, BasesAndNamesAreTheManuals) {
  EXPECT_EQ(GpioBanks::base(1), 0x401B8000u);
  EXPECT_EQ(GpioBanks::base(5), 0x400C0000u);
  EXPECT_EQ(GpioBanks::base(9), 0x4200C000u);
  EXPECT_EQ(banks.bank(6).name(), "GPIO6");
  banks.bank(6).read(0x20, 4, 0);
  EXPECT_EQ(host.unknown.size(), 1u);
}

}  // namespace
}  // namespace millrace::board
