// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/internet.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace millrace::link {
namespace {

uint16_t checksum_of(const std::vector<uint8_t>& bytes) {
  return internet_checksum(internet_sum(0, bytes.data(), bytes.size()));
}

TEST(Internet, NumbersAreMostSignificantByteFirst) {
  std::array<uint8_t, 6> bytes{};
  store_be16(bytes.data(), 0x0102);
  store_be32(&bytes[2], 0x03040506);
  EXPECT_EQ(bytes, (std::array<uint8_t, 6>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(load_be16(bytes.data()), 0x0102);
  EXPECT_EQ(load_be32(&bytes[2]), 0x03040506u);
  EXPECT_EQ(load_be32(std::array<uint8_t, 4>{0xff, 0xfe, 0xfd, 0xfc}.data()), 0xfffefdfcu);
}

// RFC 1071, 3: the sum of these is DDF2.
TEST(Internet, ChecksumOfTheRfcsExample) {
  EXPECT_EQ(checksum_of({0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}), 0xffff - 0xddf2);
}

TEST(Internet, AnOddByteIsAHighOne) { EXPECT_EQ(checksum_of({0xab}), 0xffff - 0xab00); }

TEST(Internet, CarriesComeRoundInTheLongest) {
  EXPECT_EQ(checksum_of(std::vector<uint8_t>(65534, 0xff)), 0);
  EXPECT_EQ(checksum_of({}), 0xffff);
}

TEST(Internet, PartsOfEvenSizeAddUp) {
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(internet_sum(internet_sum(0, bytes.data(), 4), &bytes[4], 3),
            internet_sum(0, bytes.data(), 7));
}

TEST(Internet, WhatHoldsItsChecksumHasNone) {
  std::vector<uint8_t> header = {0x45, 0, 0,  28, 0, 1, 0,  0, 64, 17,
                                 0,    0, 10, 0,  0, 1, 10, 0, 0,  2};
  store_be16(&header[10], checksum_of(header));
  EXPECT_EQ(checksum_of(header), 0);
}

}  // namespace
}  // namespace millrace::link
