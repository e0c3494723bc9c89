// SPDX-License-Identifier: Apache-2.0
#include "millrace/udp/payload.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "link/src/test_vector_file.h"

namespace millrace::udp {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes encoded(const Payload& payload, size_t size) {
  Bytes out(size);
  encode_payload(payload, out);
  return out;
}

TEST(Payload, EveryVectorDecodesAndEncodes) {
  size_t vectors = 0;
  for (const std::vector<std::string>& words : link::read_vectors("udp_payload.txt")) {
    const Bytes bytes = link::from_hex(words[4]);
    const auto session = static_cast<uint32_t>(std::stoul(words[0]));
    Payload got;
    ASSERT_EQ(decode_payload(bytes, session, &got), PayloadStatus::good);
    EXPECT_EQ(got.sequence, std::stoul(words[1]));
    EXPECT_EQ(got.step, std::stoul(words[2]));
    EXPECT_EQ(got.stamp_ns, std::stoull(words[3]));
    EXPECT_EQ(encoded(got, bytes.size()), bytes);
    ++vectors;
  }
  EXPECT_EQ(vectors, 5u);
}

TEST(Payload, EveryFlippedBitIsNoticed) {
  for (const size_t size : {32u, 35u, 256u}) {
    Bytes bytes = encoded({77, 5, 1, 123456789}, size);
    for (size_t bit = 0; bit < size * 8; ++bit) {
      bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1u << bit % 8));
      Payload got;
      EXPECT_EQ(decode_payload(bytes, 77, &got), PayloadStatus::altered) << size << " " << bit;
      bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1u << bit % 8));
    }
  }
}

TEST(Payload, EveryTruncationAndExtensionIsNoticed) {
  Bytes bytes = encoded({77, 5, 1, 123456789}, 64);
  Payload got;
  for (size_t size = 0; size < 64; ++size) {
    EXPECT_EQ(decode_payload({bytes.data(), size}, 77, &got), PayloadStatus::altered) << size;
  }
  bytes.push_back(0);
  EXPECT_EQ(decode_payload(bytes, 77, &got), PayloadStatus::altered);
}

TEST(Payload, OthersDatagramsAreForeign) {
  Payload got;
  EXPECT_EQ(decode_payload(encoded({78, 5, 1, 1}, 32), 77, &got), PayloadStatus::foreign);
  EXPECT_EQ(decode_payload(Bytes(40, 'x'), 77, &got), PayloadStatus::foreign);
}

TEST(Payload, PartsOfTwoAreNoticed) {
  Bytes a = encoded({77, 5, 1, 1}, 64);
  const Bytes b = encoded({77, 6, 1, 1}, 64);
  std::copy(b.begin() + 32, b.end(), a.begin() + 32);
  Payload got;
  EXPECT_EQ(decode_payload(a, 77, &got), PayloadStatus::altered);
}

}  // namespace
}  // namespace millrace::udp
