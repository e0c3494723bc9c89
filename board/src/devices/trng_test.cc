// SPDX-License-Identifier: Apache-2.0
#include "devices/trng.h"

#include <gtest/gtest.h>

#include <set>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr uint32_t kMctl = 0x00, kSdctl = 0x10, kEnt0 = 0x40, kIntCtrl = 0xA4, kIntMask = 0xA8,
                   kIntStatus = 0xAC;
constexpr uint32_t kValid = 1u << 10, kStop = 1u << 13, kProgram = 1u << 16;

class TrngTest : public ::testing::Test {
 protected:
  uint32_t peek(uint32_t offset) { return trng.read(offset, 4, host.queue.now()); }
  void poke(uint32_t offset, uint32_t value) { trng.write(offset, 4, value, host.queue.now()); }
  void start() {
    poke(kSdctl, 100u << 16 | 50);  // 5000 bus clocks of 3 cycles
    poke(kMctl, 0);
  }

  testing::FakeHost host;
  Clocks clocks;
  Trng trng{host, clocks, 1};
};

TEST_F(TrngTest, EntropyIsValidAfterSamplesTimesDelay) {
  EXPECT_EQ(peek(kMctl), 0x00012001u);
  start();
  EXPECT_EQ(peek(kMctl) & (kValid | kStop), 0u);
  host.run_to(14999);
  EXPECT_EQ(peek(kMctl) & kValid, 0u);
  host.run_to(15000);
  EXPECT_EQ(peek(kMctl) & (kValid | kStop), kValid | kStop);
}

TEST_F(TrngTest, ReadingTheLastWordStartsAnew) {
  start();
  std::set<uint32_t> words;
  for (Cycles round = 1; round <= 4; ++round) {
    host.run_to(round * 15000);
    for (uint32_t i = 0; i < 16; ++i) words.insert(peek(kEnt0 + 4 * i));
    EXPECT_EQ(peek(kMctl) & kValid, 0u);
    EXPECT_EQ(peek(kEnt0), 0u);
  }
  EXPECT_EQ(words.size(), 64u);
}

// SplitMix64's published sequence for seed 1234567 begins 6457827717110365317,
// 3203168211198807973; the words are the upper halves.
TEST_F(TrngTest, WordsFollowFromTheSeed) {
  Trng seeded(host, clocks, 1234567);
  seeded.write(kMctl, 4, 0, 0);
  host.run_to(1'000'000'000);
  EXPECT_EQ(seeded.read(kEnt0, 4, 0), 6457827717110365317u >> 32);
  EXPECT_EQ(seeded.read(kEnt0 + 4, 4, 0), 3203168211198807973u >> 32);
}

TEST_F(TrngTest, InterruptFollowsItsMask) {
  poke(kIntMask, 2);
  start();
  host.run_to(15000);
  EXPECT_TRUE(host.lines[Trng::kIrq]);
  EXPECT_EQ(peek(kIntStatus), 2u);
  poke(kIntCtrl, 0);
  EXPECT_FALSE(host.lines[Trng::kIrq]);
}

// The sequence of NXP's driver: program mode with defaults, limits, run.
TEST_F(TrngTest, LimitsAreWritableInProgramModeAlone) {
  poke(0x20, 0x007A013D);
  EXPECT_EQ(peek(0x20), 0x007A013Du);
  poke(kMctl, peek(kMctl) | kProgram | 1u << 12 | 1u << 6);
  EXPECT_EQ(peek(0x20), 0x010C0568u);
  poke(0xA0, 2);  // no more programming
  poke(0x20, 1);
  EXPECT_EQ(peek(0x20), 0x010C0568u);
  EXPECT_TRUE(host.unknown.empty());
}

TEST_F(TrngTest, CountersOfTheTestsAreReported) {
  start();
  EXPECT_EQ(peek(0x20), 0u);
  EXPECT_EQ(peek(0x80), 0u);
  EXPECT_EQ(host.unknown.size(), 2u);
}

TEST_F(TrngTest, SnapshotGoesOnWithTheSameWords) {
  start();
  host.run_to(10000);
  Snapshot saved;
  trng.snapshot(saved);
  host.run_to(15000);
  const uint32_t word = peek(kEnt0);
  Trng other(host, clocks, 99);
  Snapshot restored(saved.take());
  other.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  host.run_to(15001);
  EXPECT_EQ(other.read(kEnt0, 4, 15001), word);
}

}  // namespace
}  // namespace millrace::board
