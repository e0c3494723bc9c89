// SPDX-License-Identifier: Apache-2.0
#include "millrace/udp/payload.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace millrace::udp {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes encoded(const Payload& payload, size_t size) {
  Bytes out(size);
  encode_payload(payload, out);
  return out;
}

TEST(Payload, EveryVectorDecodesAndEncodes) {
  std::ifstream file(MILLRACE_SOURCE_DIR "/spec/vectors/udp_payload.txt");
  size_t vectors = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Payload want, got;
    std::string hex;
    words >> want.session >> want.sequence >> want.step >> want.stamp_ns >> hex;
    Bytes bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
      bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    }
    ASSERT_EQ(decode_payload(bytes, want.session, &got), PayloadStatus::good);
    EXPECT_EQ(got.sequence, want.sequence);
    EXPECT_EQ(got.step, want.step);
    EXPECT_EQ(got.stamp_ns, want.stamp_ns);
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
