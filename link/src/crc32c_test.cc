// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/crc32c.h"

#include <gtest/gtest.h>

namespace millrace::link {
namespace {

// RFC 3720 appendix B.4: the CRC bytes as sent, least significant first.
TEST(Crc32c, MatchesTheVectorsOfRfc3720) {
  uint8_t zeros[32] = {};
  EXPECT_EQ(crc32c(zeros, 32), 0x8a9136aau);
  uint8_t ones[32];
  for (uint8_t& b : ones) b = 0xff;
  EXPECT_EQ(crc32c(ones, 32), 0x62a8ab43u);
  uint8_t up[32];
  for (int i = 0; i < 32; ++i) up[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(crc32c(up, 32), 0x46dd794eu);
  EXPECT_EQ(crc32c(up + 5, 27, crc32c(up, 5)), 0x46dd794eu);
}

TEST(Crc32c, HasTheCatalogueCheckValue) {
  EXPECT_EQ(crc32c(reinterpret_cast<const uint8_t*>("123456789"), 9), 0xe3069283u);
}

}  // namespace
}  // namespace millrace::link
