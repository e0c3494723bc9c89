// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/crc32c.h"

#include <gtest/gtest.h>

#include <vector>

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

// Every size around the block sizes of the three-way code, every alignment, and joined pieces.
TEST(Crc32c, FastVariantsAgreeWithTheSmallOne) {
  std::vector<uint8_t> data(9000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * i >> 3 ^ i);
  for (const size_t size :
       {0,    1,   7,   8,   9,    15,   16,   31,   407,  408,  409,  1023, 1024, 1031,
        2048, 415, 416, 817, 4079, 4080, 4081, 4096, 4487, 4488, 8159, 8160, 8168, 8990}) {
    for (size_t start = 0; start < 9; ++start) {
      const uint32_t expected = crc32c(data.data() + start, size);
      EXPECT_EQ(crc32c_bulk(data.data() + start, size), expected) << size << ' ' << start;
      EXPECT_EQ(crc32c_sliced(data.data() + start, size), expected) << size << ' ' << start;
      EXPECT_EQ(crc32c_wide(data.data() + start, size), expected) << size << ' ' << start;
      const size_t cut = size / 3;
      EXPECT_EQ(
          crc32c_bulk(data.data() + start + cut, size - cut, crc32c_bulk(data.data() + start, cut)),
          expected);
    }
  }
}

}  // namespace
}  // namespace millrace::link
