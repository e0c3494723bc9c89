// SPDX-License-Identifier: Apache-2.0
#include "devices/usdhc.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr uint32_t kCmdArg = 0x08, kCmdXfrTyp = 0x0C, kPresState = 0x24, kSysCtrl = 0x2C,
                   kIntStatus = 0x30, kIntStatusEn = 0x34, kIntSignalEn = 0x38;
constexpr Cycles kCycles = 990;  // of the core at 396 MHz in a clock of 400 kHz

class UsdhcTest : public ::testing::Test {
 protected:
  uint32_t peek(uint32_t offset) { return usdhc.read(offset, 4, host.queue.now()); }
  void poke(uint32_t offset, uint32_t value) { usdhc.write(offset, 4, value, host.queue.now()); }

  testing::FakeHost host;
  Clocks clocks;
  Usdhc usdhc{host, clocks, 1};
};

TEST_F(UsdhcTest, ThereIsNoCardAndTheClockIsStable) { EXPECT_EQ(peek(kPresState) & 0x10009, 0x8u); }

TEST_F(UsdhcTest, ResetsAndInitializationFinishAtOnce) {
  poke(0x44, 0x00100010);
  poke(kSysCtrl, peek(kSysCtrl) | 1u << 24);
  EXPECT_EQ(peek(kSysCtrl), 0x0080800Fu);
  EXPECT_EQ(peek(0x44), 0x08100810u);
  poke(kSysCtrl, peek(kSysCtrl) | 1u << 27);
  EXPECT_EQ(peek(kSysCtrl), 0x0080800Fu);
}

TEST_F(UsdhcTest, CommandWithoutResponseCompletes) {
  poke(kIntStatusEn, 0x117F01FF);
  poke(kCmdXfrTyp, 0);  // CMD0
  EXPECT_EQ(peek(kPresState) & 1, 1u);
  host.run_to(48 * kCycles);
  EXPECT_EQ(peek(kPresState) & 1, 0u);
  EXPECT_EQ(peek(kIntStatus), 1u);
  poke(kIntStatus, 1);
  EXPECT_EQ(peek(kIntStatus), 0u);
}

TEST_F(UsdhcTest, CommandWithResponseTimesOut) {
  poke(kIntStatusEn, 0x117F01FF);
  poke(kIntSignalEn, 1u << 16);
  poke(kCmdArg, 0x1AA);
  poke(kCmdXfrTyp, 0x081A0000);  // CMD8, 48 bits
  host.run_to(112 * kCycles - 1);
  EXPECT_EQ(peek(kIntStatus), 0u);
  host.run_to(112 * kCycles);
  EXPECT_EQ(peek(kIntStatus), 1u << 16);
  EXPECT_TRUE(host.lines[110]);
  poke(kIntStatus, 1u << 16);
  EXPECT_FALSE(host.lines[110]);
}

TEST_F(UsdhcTest, DisabledEventsAreNotSeen) {
  poke(kCmdXfrTyp, 0x081A0000);
  host.run_to(200 * kCycles);
  EXPECT_EQ(peek(kIntStatus), 0u);
  EXPECT_EQ(peek(kPresState) & 1, 0u);
}

TEST_F(UsdhcTest, SnapshotKeepsTheCommandUnderWay) {
  poke(kIntStatusEn, 0x117F01FF);
  poke(kCmdXfrTyp, 0);
  Snapshot saved;
  usdhc.snapshot(saved);
  usdhc.reset();
  Snapshot restored(saved.take());
  usdhc.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  host.run_to(48 * kCycles);
  EXPECT_EQ(peek(kIntStatus), 1u);
}

}  // namespace
}  // namespace millrace::board
