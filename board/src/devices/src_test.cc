// SPDX-License-Identifier: Apache-2.0
#include "devices/src.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

constexpr uint32_t kScr = 0x00, kSrsr = 0x08, kSbmr2 = 0x1C, kGpr5 = 0x30;

class SrcTest : public ::testing::Test {
 protected:
  uint32_t peek(uint32_t offset) { return src.read(offset, 4, 0); }
  void poke(uint32_t offset, uint32_t value) { src.write(offset, 4, value, 0); }

  testing::FakeHost host;
  Src src{host};
};

TEST_F(SrcTest, StatusNamesTheResetUntilCleared) {
  EXPECT_EQ(peek(kSrsr), 1u);
  poke(kSrsr, peek(kSrsr));
  EXPECT_EQ(peek(kSrsr), 0u);
  src.note_reset(Src::kWdog3);
  src.reset();
  EXPECT_EQ(peek(kSrsr), 0x80u);
}

TEST_F(SrcTest, GeneralPurposeRegistersOutliveAReset) {
  poke(kGpr5, 0x0BAD00F1);  // as the Teensy core's fault handler
  src.reset();
  EXPECT_EQ(peek(kGpr5), 0x0BAD00F1u);
}

TEST_F(SrcTest, CoreResetIsPassedOn) {
  int resets = 0;
  src.on_reset_request([&resets](Cycles) { ++resets; });
  poke(kScr, peek(kScr));
  EXPECT_EQ(resets, 0);
  poke(kScr, peek(kScr) | 1u << 13);
  EXPECT_EQ(resets, 1);
  EXPECT_EQ(peek(kScr), 0xA0480520u);
}

TEST_F(SrcTest, WatchdogsCanBeMasked) {
  EXPECT_TRUE(src.wdog_resets());
  EXPECT_TRUE(src.wdog3_resets());
  poke(kScr, 5u << 7 | 5u << 28);
  EXPECT_FALSE(src.wdog_resets());
  EXPECT_FALSE(src.wdog3_resets());
}

TEST_F(SrcTest, BootsFromFlash) { EXPECT_EQ(peek(kSbmr2), 0x02000000u); }

}  // namespace
}  // namespace millrace::board
