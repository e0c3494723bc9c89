// SPDX-License-Identifier: Apache-2.0
#include "devices/enet.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr uint32_t kEir = 0x04, kEimr = 0x08, kRdar = 0x10, kTdar = 0x14, kEcr = 0x24, kMmfr = 0x40,
                   kMscr = 0x44, kTcr = 0xC4;
constexpr uint32_t kMii = 1u << 23;

class EnetTest : public ::testing::Test {
 protected:
  uint32_t peek(uint32_t offset) { return enet.read(offset, 4, host.queue.now()); }
  void poke(uint32_t offset, uint32_t value) { enet.write(offset, 4, value, host.queue.now()); }

  testing::FakeHost host;
  Clocks clocks;
  Enet enet{host, clocks, 1};
};

TEST_F(EnetTest, ResetClearsItselfAndEverything) {
  poke(0xE4, 0x12345678);
  poke(kEcr, 1);
  EXPECT_EQ(peek(kEcr), 0x70000000u);
  EXPECT_EQ(peek(0xE4), 0u);
}

// Register 2 of PHY 0: 64 bits of MDC at 132 MHz / 2 (26 + 1), a bus clock is 3 core cycles.
TEST_F(EnetTest, ManagementReadEndsWithOnes) {
  poke(kEimr, kMii);
  poke(kMscr, 26 << 1);
  poke(kMmfr, 0x600A0000);
  host.run_to(64 * 54 * 3 - 1);
  EXPECT_EQ(peek(kEir), 0u);
  host.run_to(64 * 54 * 3);
  EXPECT_EQ(peek(kEir), kMii);
  EXPECT_EQ(peek(kMmfr), 0x600AFFFFu);
  EXPECT_TRUE(host.lines[Enet::kIrq1]);
  poke(kEir, kMii);
  EXPECT_FALSE(host.lines[Enet::kIrq1]);
}

TEST_F(EnetTest, ManagementWriteKeepsItsDataAndMayLackThePreamble) {
  poke(kMscr, (26 << 1) | 0x80);
  poke(kMmfr, 0x50021234);
  host.run_to(32 * 54 * 3);
  EXPECT_EQ(peek(kEir), kMii);
  EXPECT_EQ(peek(kMmfr), 0x50021234u);
}

TEST_F(EnetTest, FrameWaitsForMdc) {
  poke(kMmfr, 0x600A0000);
  host.run_to(1'000'000);
  EXPECT_EQ(peek(kEir), 0u);
  poke(kMscr, 26 << 1);
  host.run_to(2'000'000);
  EXPECT_EQ(peek(kEir), kMii);
}

TEST_F(EnetTest, ReceivesNothingAndReportsSending) {
  poke(kRdar, 0);
  EXPECT_EQ(peek(kRdar), 0u);
  poke(kEcr, 2);
  poke(kRdar, 0);
  EXPECT_EQ(peek(kRdar), 0x01000000u);
  EXPECT_EQ(peek(0x284), 0u);  // packets received
  EXPECT_TRUE(host.unknown.empty());
  poke(kTdar, 0);
  EXPECT_EQ(host.unknown.size(), 1u);
  poke(kEcr, 0);
  EXPECT_EQ(peek(kRdar), 0u);
}

TEST_F(EnetTest, GracefulStopIsCompleteAtOnce) {
  poke(kTcr, 1);
  EXPECT_EQ(peek(kEir), 1u << 28);
}

TEST_F(EnetTest, SnapshotKeepsTheFrameUnderWay) {
  poke(kMscr, 26 << 1);
  poke(kMmfr, 0x600A0000);
  Snapshot saved;
  enet.snapshot(saved);
  enet.reset();
  Snapshot restored(saved.take());
  enet.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  host.run_to(64 * 54 * 3);
  EXPECT_EQ(peek(kEir), kMii);
}

}  // namespace
}  // namespace millrace::board
