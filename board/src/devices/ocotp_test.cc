// SPDX-License-Identifier: Apache-2.0
#include "devices/ocotp.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr uint32_t kCtrl = 0x00, kCtrlSet = 0x04, kData = 0x20, kReadCtrl = 0x30,
                   kReadFuseData = 0x40;

class OcotpTest : public ::testing::Test {
 protected:
  uint32_t peek(uint32_t offset) { return ocotp.read(offset, 4, 0); }
  void poke(uint32_t offset, uint32_t value) { ocotp.write(offset, 4, value, 0); }

  testing::FakeHost host;
  Ocotp ocotp{host, make_fuses({.serial = 0x123456, .unique_id = 0x1111111122222222})};
};

TEST_F(OcotpTest, ShadowsShowTheFuses) {
  EXPECT_EQ(peek(0x620), 0xE5123456u);  // MAC0
  EXPECT_EQ(peek(0x630), 0x000004E9u);  // MAC1
  EXPECT_EQ(peek(0x410), 0x22222222u);  // CFG0
  EXPECT_EQ(peek(0x420), 0x11111111u);  // CFG1
  EXPECT_EQ(peek(0x460), 0u);           // CFG5
  EXPECT_EQ(peek(0x4E0), 0x57D4FF69u);  // ANA1
  EXPECT_TRUE(host.unknown.empty());
}

// As the Teensy core's fuse.c: address = (register - 0x400) / 16, which for banks 6 and 7 would be
// 64 and up; there the manual's addresses are 48 and up.
TEST_F(OcotpTest, FuseIsReadThroughTheController) {
  poke(kCtrl, 0x22);
  poke(kReadCtrl, 1);
  EXPECT_EQ(peek(kCtrl) & (1u << 8), 0u);
  EXPECT_EQ(peek(kReadFuseData), 0xE5123456u);
}

TEST_F(OcotpTest, ProgrammingNeedsTheUnlockKeyEachTime) {
  const uint32_t gp1 = 0x660;
  poke(kCtrl, 0x26);
  poke(kData, 0xF0);
  poke(kCtrlSet, 1u << 10);
  EXPECT_EQ(peek(gp1), 0u);
  poke(kCtrl, 0x3E770026);
  poke(kData, 0xF0);
  poke(kData, 0x0F);
  EXPECT_EQ(peek(gp1), 0u);
  poke(kCtrlSet, 1u << 10);
  EXPECT_EQ(peek(gp1), 0xF0u);
  EXPECT_EQ(peek(kCtrl) & (1u << 10), 0u);
}

TEST_F(OcotpTest, ShadowMayBeOverwrittenUntilReset) {
  poke(0x880, 5);
  EXPECT_EQ(peek(0x880), 5u);
  ocotp.reset();
  EXPECT_EQ(peek(0x880), 0u);
}

TEST_F(OcotpTest, SnapshotKeepsBlownFuses) {
  poke(kCtrl, 0x3E770026);
  poke(kData, 3);
  Snapshot saved;
  ocotp.snapshot(saved);
  Ocotp other(host, Fuses{});
  Snapshot restored(saved.take());
  other.snapshot(restored);
  EXPECT_TRUE(restored.ok());
  other.reset();
  EXPECT_EQ(other.read(0x660, 4, 0), 3u);
}

}  // namespace
}  // namespace millrace::board
