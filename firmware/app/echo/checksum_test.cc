// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/echo/checksum.h"

#include <gtest/gtest.h>

#include "firmware/app/echo/fake_frame_port.h"

namespace millrace::firmware {
namespace {

uint16_t checksum(const Bytes& data) {
  uint8_t out[2];
  store_checksum(out, checksum_add(0, data.data(), data.size()));
  return static_cast<uint16_t>(out[0] << 8 | out[1]);
}

// RFC 1071, 3: the sum of these is DDF2.
TEST(Checksum, ExampleOfTheRfc) {
  EXPECT_EQ(checksum({0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}), 0xffff - 0xddf2);
}

TEST(Checksum, EveryLengthAgreesWithTheSumWordByWord) {
  Bytes data;
  for (size_t size = 0; size < 1500; ++size) {
    EXPECT_EQ(checksum(data), plain_checksum(data)) << size;
    data.push_back(static_cast<uint8_t>(size * 37 + (size >> 3) * 11 + 0x80));
  }
}

TEST(Checksum, AllOnesDoNotOverflow) {
  EXPECT_EQ(checksum(Bytes(65534, 0xff)), 0);
  EXPECT_EQ(checksum(Bytes(1, 0xff)), 0x00ff);
}

TEST(Checksum, PartsAddUpToTheWhole) {
  const Bytes data = text("the quick brown fox jumps over the lazy dog.");
  const uint32_t part = checksum_add(0, data.data(), 20);
  EXPECT_EQ(checksum_add(part, data.data() + 20, data.size() - 20),
            checksum_add(0, data.data(), data.size()));
}

TEST(Checksum, OfWhatHoldsItsChecksumIsAllOnes) {
  const Bytes packet = ip_packet(kHostIp, kDeviceIp, 17, {});
  EXPECT_EQ(checksum_add(0, packet.data(), packet.size()), 0xffffu);
}

}  // namespace
}  // namespace millrace::firmware
