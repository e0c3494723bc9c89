// SPDX-License-Identifier: Apache-2.0
// The clock tree (IMXRT1060RM chapter 14, figures 14-2 and 14-3). Rates are worked out by hand from
// the 24 MHz crystal.
#include "devices/ccm.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr uint64_t kMhz = 1'000'000;
constexpr uint32_t kPllArm = 0x00, kPllUsb1Set = 0x14, kPllUsb1Clr = 0x18, kPllUsb1 = 0x10;
constexpr uint32_t kPllSys = 0x30, kPllSysNum = 0x50, kPllSysDenom = 0x60, kPfd480 = 0xF0,
                   kPfd528 = 0x100;
constexpr uint32_t kCacrr = 0x10, kCbcdr = 0x14, kCbcmr = 0x18, kCscmr1 = 0x1C, kCscdr1 = 0x24;
constexpr uint32_t kLock = 1u << 31;

class CcmTest : public ::testing::Test {
 protected:
  uint64_t hz(Clock clock) const { return clocks.hz(clock); }
  uint32_t peek(uint32_t offset) { return ccm.read(offset, 4, host.queue.now()); }
  void poke(uint32_t offset, uint32_t value) { ccm.write(offset, 4, value, host.queue.now()); }
  uint32_t peek_analog(uint32_t offset) { return analog.read(offset, 4, host.queue.now()); }
  void poke_analog(uint32_t offset, uint32_t value) {
    analog.write(offset, 4, value, host.queue.now());
  }
  // What the Teensy core's startup does before it sets the core clock to 600 MHz.
  void run_from_crystal() {
    poke(kCbcmr, (peek(kCbcmr) & ~(3u << 12)) | (1u << 12));
    poke(kCbcdr, peek(kCbcdr) | (1u << 25));
  }

  testing::FakeHost host;
  Clocks clocks;
  CcmAnalog analog{host, clocks};
  Ccm ccm{host, clocks, analog};
};

TEST_F(CcmTest, BootStateGivesTheBootRates) {
  EXPECT_EQ(ccm.rates(), Clocks::kBootRates);
  EXPECT_EQ(hz(Clock::core), 396 * kMhz);
  EXPECT_EQ(hz(Clock::ipg), 132 * kMhz);
  EXPECT_EQ(peek_analog(kPllArm), 0x80002042u);
}

TEST_F(CcmTest, TeensyStartupGives600And150MHz) {
  run_from_crystal();
  EXPECT_EQ(hz(Clock::core), 24 * kMhz);
  poke_analog(kPllArm, 0x1000);
  EXPECT_EQ(peek_analog(kPllArm), 0x1000u);
  poke_analog(kPllArm, 0x2064);  // 24 * 100 / 2 = 1200 MHz
  while ((peek_analog(kPllArm) & kLock) == 0) host.run_to(host.queue.now() + 24);
  poke(kCacrr, 1);
  EXPECT_EQ(peek(0x48), 0u);
  poke(kCbcdr, (peek(kCbcdr) & ~0x300u) | 0x300u);  // IPG_PODF: divide by 4
  poke(kCbcdr, peek(kCbcdr) & ~(1u << 25));
  EXPECT_EQ(hz(Clock::core), 600 * kMhz);
  EXPECT_EQ(hz(Clock::ipg), 150 * kMhz);
  EXPECT_TRUE(host.unknown.empty());
}

TEST_F(CcmTest, TimersAndUartsRunFromTheCrystalIfSelected) {
  EXPECT_EQ(hz(Clock::perclk), 66 * kMhz);
  poke(kCscmr1, (peek(kCscmr1) & ~0x3Fu) | 0x40);
  EXPECT_EQ(hz(Clock::perclk), 24 * kMhz);
  poke(kCscdr1, (peek(kCscdr1) & ~0x3Fu) | 0x40);
  EXPECT_EQ(hz(Clock::uart), 24 * kMhz);
  poke(kCscdr1, 0);  // PLL3 / 6
  EXPECT_EQ(hz(Clock::uart), 80 * kMhz);
}

TEST_F(CcmTest, PhaseFractionalDividersDriveTheFlexSpis) {
  poke_analog(kPfd480, 0x13110D0C);  // PFD0: 480 * 18 / 12 = 720 MHz; PFD1 /13: 664.6
  poke_analog(kPfd528, 0x2018101B);  // PFD2: 528 * 18 / 24 = 396 MHz
  EXPECT_EQ(hz(Clock::flexspi1), 720 * kMhz / 6);
  const uint32_t podf_5 = 4u << 29;
  const uint32_t rest = peek(kCbcmr) & ~0xE0000300u;
  poke(kCbcmr, rest | podf_5 | 0x000);
  EXPECT_EQ(hz(Clock::flexspi2), 396 * kMhz / 5);
  poke(kCbcmr, rest | podf_5 | 0x100);
  EXPECT_EQ(hz(Clock::flexspi2), 720 * kMhz / 5);
  poke(kCbcmr, rest | podf_5 | 0x200);
  EXPECT_EQ(hz(Clock::flexspi2), 480 * kMhz * 18 / 13 / 5);
  poke(kCbcmr, rest | podf_5 | 0x300);
  EXPECT_EQ(hz(Clock::flexspi2), 528 * kMhz / 5);
  // PLL2 PFD2, PLL3, and the SEMC clock (PFD2 / 3 with the boot's CBCDR) for the flash.
  poke(kCscmr1, (2u << 29) | (1u << 23));
  EXPECT_EQ(hz(Clock::flexspi1), 198 * kMhz);
  poke(kCscmr1, (1u << 29) | (3u << 23));
  EXPECT_EQ(hz(Clock::flexspi1), 120 * kMhz);
  poke(kCbcdr, 0x00020240);
  poke(kCscmr1, 0);
  EXPECT_EQ(hz(Clock::flexspi1), 132 * kMhz);
}

TEST_F(CcmTest, CoreSourcesFollowTheirSelector) {
  const uint32_t rest = peek(kCbcmr) & ~(3u << 18);
  poke(kCbcmr, rest);
  EXPECT_EQ(hz(Clock::core), 528 * kMhz);
  poke(kCbcmr, rest | (2u << 18));  // PFD0 / 24
  EXPECT_EQ(hz(Clock::core), 396 * kMhz);
  poke(kCbcmr, rest | (1u << 18));  // PFD2 / 19
  EXPECT_EQ(hz(Clock::core), 528 * kMhz * 18 / 19);
  poke(kCbcdr, (1u << 25) | (3u << 27));  // PLL3 / 4
  EXPECT_EQ(hz(Clock::core), 120 * kMhz);
  poke(kCbcdr, (1u << 25) | (3u << 27) | (1u << 10));
  EXPECT_EQ(hz(Clock::core), 60 * kMhz);
  EXPECT_EQ(hz(Clock::ipg), 60 * kMhz);  // IPG_PODF is 0 and has two bits
}

TEST_F(CcmTest, LocksAfterTheDataSheetsTime) {
  run_from_crystal();  // a reference cycle is a core cycle
  poke_analog(kPllArm, 0x1000);
  poke_analog(kPllArm, 0x2064);
  host.run_to(2249);
  EXPECT_EQ(peek_analog(kPllArm), 0x2064u);
  host.run_to(2250);
  EXPECT_EQ(peek_analog(kPllArm), 0x2064u | kLock);
  poke_analog(kPllUsb1Clr, 0x1000);
  EXPECT_EQ(peek_analog(kPllUsb1) & kLock, 0u);
  EXPECT_EQ(hz(Clock::uart), 0u);
  poke_analog(kPllUsb1Set, 0x1000);
  host.run_to(2250 + 382);
  EXPECT_EQ(peek_analog(kPllUsb1) & kLock, 0u);
  host.run_to(2250 + 383);
  EXPECT_EQ(peek_analog(kPllUsb1) & kLock, kLock);
}

TEST_F(CcmTest, BypassedPllGivesTheCrystalAndStaysLocked) {
  poke_analog(kPllArm, 0x00012042);
  EXPECT_EQ(hz(Clock::core), 12 * kMhz);  // CACRR divides by 2
  EXPECT_EQ(peek_analog(kPllArm) & kLock, kLock);
}

TEST_F(CcmTest, FractionOfTheSystemPllIsSigned) {
  poke(kCbcmr, peek(kCbcmr) & ~(3u << 18));
  poke_analog(kPllSysDenom, 24);
  poke_analog(kPllSysNum, 1);
  EXPECT_EQ(hz(Clock::core), 529 * kMhz);
  poke_analog(kPllSysNum, 0x3FFFFFFF);  // -1
  EXPECT_EQ(hz(Clock::core), 527 * kMhz);
  poke_analog(kPllSys, 0x2000);
  EXPECT_EQ(hz(Clock::core), 479 * kMhz);
}

TEST_F(CcmTest, StoppedClocksAreHeldAtOneMegahertz) {
  poke_analog(kPllArm, 0x1000);
  EXPECT_EQ(hz(Clock::core), kMhz);
  poke_analog(kPfd480, 0x80808080);
  EXPECT_EQ(hz(Clock::flexspi1), kMhz);
}

// Firmware may write anything anywhere.
TEST_F(CcmTest, AnyWritesLeaveRunnableRates) {
  uint64_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const uint32_t value = static_cast<uint32_t>(random >> 32);
    const uint32_t offset = static_cast<uint32_t>(random >> 8) & 0x2FC;
    if ((random & 1) != 0) {
      poke(offset & 0xFC, value);
    } else {
      poke_analog(offset, value);
    }
    peek_analog(offset);
    for (const Clock clock : {Clock::core, Clock::flexspi1, Clock::flexspi2}) {
      ASSERT_GE(hz(clock), kMhz);
      ASSERT_LE(hz(clock), 2000 * kMhz);
    }
    host.run_to(host.queue.now() + 100);
  }
}

// CLPCR is 0x79 after a reset: LPM WAIT, ARM_CLK_DIS_ON_LPM.
TEST_F(CcmTest, WaitModeStopsTheCoreClockUntilFirmwareSaysOtherwise) {
  std::vector<bool> told;
  ccm.on_wait_mode([&told](bool on) { told.push_back(on); });
  poke(0x54, 0x78);  // LPM RUN
  poke(0x54, 0x59);  // WAIT, with the clock
  poke(0x54, 0x79);
  EXPECT_EQ(told, (std::vector<bool>{true, false, false, true}));
}

TEST_F(CcmTest, GatesAreStoredAndStopModeIsReported) {
  poke(0x6C, 0x12345678);
  EXPECT_EQ(peek(0x6C), 0x12345678u);
  poke(0x54, 0x79);
  EXPECT_TRUE(host.unknown.empty());
  poke(0x54, 0x7A);
  EXPECT_EQ(host.unknown.size(), 1u);
}

TEST_F(CcmTest, ResetAndSnapshotBringTheRatesBack) {
  poke(kCbcmr, peek(kCbcmr) & ~(3u << 18));
  poke_analog(kPllSys, 0x2000);
  host.run_to(100);
  Snapshot saved;
  analog.snapshot(saved);
  ccm.snapshot(saved);
  analog.reset();
  ccm.reset();
  EXPECT_EQ(clocks.rates(), Clocks::kBootRates);
  Snapshot restored(saved.take());
  analog.snapshot(restored);
  ccm.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  EXPECT_EQ(ccm.rates()[static_cast<size_t>(Clock::core)], 480 * kMhz);
  EXPECT_EQ(peek_analog(kPllSys), 0x2000u);  // 11250 reference cycles have not passed
}

}  // namespace
}  // namespace millrace::board
