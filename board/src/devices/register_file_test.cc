// SPDX-License-Identifier: Apache-2.0
#include "devices/register_file.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

class Nothing final : public Device {
 public:
  std::string_view name() const override { return "NOTHING"; }
  uint32_t read(uint32_t, unsigned, Cycles) override { return 0; }
  void write(uint32_t, unsigned, uint32_t, Cycles) override {}
  void reset() override {}
};

constexpr RegisterSpec kTable[] = {
    {0x00, "PLAIN", 0x12345678},
    {0x04, "MASKED", 0xFF000000, 0x0000FFFF},
    {0x08, "STATUS", 0x0000000F, 0x00000007, RegisterKind::one_clears},
    {0x10, "ANALOG", 0x80000000, 0x7FFFFFFF, RegisterKind::set_clr_tog},
};

class RegisterFileTest : public ::testing::Test {
 protected:
  Nothing device;
  testing::FakeHost host;
  RegisterFile registers{kTable, 4, device, host};
};

TEST_F(RegisterFileTest, PartsOfARegisterAreReadAndWrittenByLane) {
  EXPECT_EQ(registers.read(1, 1), 0x56u);
  EXPECT_EQ(registers.read(2, 2), 0x1234u);
  registers.write(2, 1, 0xAB);
  EXPECT_EQ(registers.read(0, 4), 0x12AB5678u);
}

TEST_F(RegisterFileTest, ReadOnlyBitsKeepTheirValue) {
  const RegisterChange change = registers.write(4, 4, 0x11112222);
  EXPECT_EQ(change.before, 0xFF000000u);
  EXPECT_EQ(change.after, 0xFF002222u);
  EXPECT_EQ(change.written, 0x11112222u);
}

TEST_F(RegisterFileTest, OneClears) {
  EXPECT_EQ(registers.write(8, 4, 0xFFFFFFFA).after,
            0xDu);  // bit 1 of 0..2 is cleared, bit 3 is not writable
}

TEST_F(RegisterFileTest, AliasesSetClearAndToggle) {
  EXPECT_EQ(registers.write(0x14, 4, 0x3).after, 0x80000003u);
  EXPECT_EQ(registers.write(0x18, 4, 0x80000001).after, 0x80000002u);
  const RegisterChange toggled = registers.write(0x1C, 4, 0x6);
  EXPECT_EQ(toggled.after, 0x80000004u);
  EXPECT_EQ(toggled.offset, 0x10u);
  EXPECT_EQ(registers.read(0x14, 4), 0x80000004u);
}

TEST_F(RegisterFileTest, WhatIsNotInTheTableIsReported) {
  EXPECT_EQ(registers.read(0x0E, 2), 0u);
  EXPECT_FALSE(registers.write(0x200, 4, 1).known);
  const std::vector<testing::FakeHost::Unknown> expected = {{0x0C, false}, {0x200, true}};
  EXPECT_EQ(host.unknown, expected);
}

TEST_F(RegisterFileTest, ResetAndSnapshotBringValuesBack) {
  registers.write(0, 4, 7);
  Snapshot saved;
  registers.snapshot(saved);
  registers.reset();
  EXPECT_EQ(registers.read(0, 4), 0x12345678u);
  Snapshot restored(saved.take());
  registers.snapshot(restored);
  EXPECT_TRUE(restored.ok());
  EXPECT_EQ(registers.read(0, 4), 7u);
}

constexpr RegisterSpec kHalves[] = {{0x0, "A", 0x1111}, {0x2, "B", 0x2222}};

TEST_F(RegisterFileTest, WideAccessToSixteenBitRegistersTakesBoth) {
  RegisterFile halves{kHalves, 2, device, host};
  EXPECT_EQ(halves.read(0, 4), 0x22221111u);
  halves.write(0, 4, 0xBBBBAAAA);
  EXPECT_EQ(halves.read(2, 2), 0xBBBBu);
}

}  // namespace
}  // namespace millrace::board
