// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/classic_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "millrace/link/stream_cursor.h"
#include "test_vector_file.h"

namespace millrace::link {
namespace {

TEST(ClassicStream, VectorsDecodeAndEncode) {
  size_t handshakes = 0;
  size_t probes = 0;
  size_t streams = 0;
  for (const std::vector<std::string>& words : read_vectors("classic_stream.txt")) {
    if (words[0] == "handshake") {
      const std::vector<uint8_t> bytes = from_hex(words[4]);
      ASSERT_EQ(bytes.size(), kHandshakeBytes);
      const Handshake handshake = decode_handshake(bytes.data());
      EXPECT_EQ(handshake.frame_size, std::stoul(words[1]));
      EXPECT_EQ(handshake.frame_count, std::stoul(words[2]));
      EXPECT_EQ(handshake.acknowledge, std::stoul(words[3]));
      uint8_t encoded[kHandshakeBytes];
      encode_handshake(handshake, encoded);
      EXPECT_EQ(std::vector<uint8_t>(encoded, encoded + kHandshakeBytes), bytes);
      ++handshakes;
    } else if (words[0] == "probe") {
      uint8_t probe[kProbeBytes];
      encode_probe(probe);
      EXPECT_EQ(to_hex({probe, probe + kProbeBytes}), words[1]);
      ++probes;
    } else if (words[0] == "frames") {
      const StreamShape shape{static_cast<uint32_t>(std::stoul(words[1])),
                              static_cast<uint32_t>(std::stoul(words[2])), 100};
      StreamCursor cursor(shape);
      for (size_t i = 3; i < words.size(); ++i) {
        std::vector<uint8_t> frame(shape.frame_size);
        cursor.read(frame.data(), frame.size());
        frame.resize(std::min(frame.size(), size_t{64}));
        EXPECT_EQ(to_hex(frame), words[i]) << "size " << words[2] << " frame " << i - 3;
      }
      ++streams;
    }
  }
  EXPECT_EQ(handshakes, 6u);
  EXPECT_EQ(probes, 1u);
  EXPECT_EQ(streams, 11u);
}

// spec/classic_stream.md: 131,072 frames of 2,048 bytes, not acknowledged.
TEST(ClassicStream, HandshakeOfTheWorkedExample) {
  uint8_t bytes[kHandshakeBytes];
  encode_handshake(Handshake{2048, 131072, 0}, bytes);
  EXPECT_EQ(to_hex({bytes, bytes + kHandshakeBytes}), "000800000000020000");
}

std::vector<uint8_t> probe_bytes() {
  uint8_t probe[kProbeBytes];
  encode_probe(probe);
  return {probe, probe + kProbeBytes};
}

// How often the matcher fires, and behind which byte it does last.
size_t matches(const std::vector<uint8_t>& bytes, size_t* last) {
  ProbeMatcher matcher;
  size_t count = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!matcher.push(bytes[i])) continue;
    ++count;
    *last = i;
  }
  return count;
}

// A classic device sees four requests for no frames of fewer than 256 bytes.
TEST(ClassicStream, ProbeAsksAClassicDeviceForNothing) {
  const std::vector<uint8_t> probe = probe_bytes();
  for (size_t at = 0; at < kProbeBytes; at += kHandshakeBytes) {
    const Handshake handshake = decode_handshake(probe.data() + at);
    EXPECT_EQ(handshake.frame_count, 0u);
    EXPECT_LT(handshake.frame_size, 256u);
  }
}

TEST(ClassicStream, ProbeIsFoundBehindAnyPartOfItself) {
  const std::vector<uint8_t> probe = probe_bytes();
  for (size_t cut = 0; cut <= kProbeBytes; ++cut) {
    std::vector<uint8_t> bytes(probe.begin(), probe.begin() + static_cast<std::ptrdiff_t>(cut));
    bytes.insert(bytes.end(), probe.begin(), probe.end());
    size_t last = 0;
    // A whole probe in front is one of its own.
    EXPECT_EQ(matches(bytes, &last), cut == kProbeBytes ? 2u : 1u);
    EXPECT_EQ(last, bytes.size() - 1);
  }
}

TEST(ClassicStream, ProbeIsFoundBehindAnyBytes) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint8_t> bytes(random() % 80);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>("M\0ILRACE"[random() % 8]);
    const std::vector<uint8_t> probe = probe_bytes();
    bytes.insert(bytes.end(), probe.begin(), probe.end());
    size_t last = 0;
    EXPECT_GE(matches(bytes, &last), 1u);
    EXPECT_EQ(last, bytes.size() - 1);
  }
}

TEST(ClassicStream, ProbeWithAnyBitFlippedIsNone) {
  for (size_t bit = 0; bit < 8 * kProbeBytes; ++bit) {
    std::vector<uint8_t> bytes = probe_bytes();
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1u << bit % 8));
    size_t last = 0;
    EXPECT_EQ(matches(bytes, &last), 0u) << bit;
  }
}

TEST(ClassicStream, MatchedCountsTheProbeUnderWay) {
  ProbeMatcher matcher;
  const std::vector<uint8_t> probe = probe_bytes();
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(matcher.matched(), i);
    EXPECT_FALSE(matcher.push(probe[i]));
  }
  EXPECT_FALSE(matcher.push('x'));
  EXPECT_EQ(matcher.matched(), 0u);
  EXPECT_FALSE(matcher.push('M'));
  EXPECT_EQ(matcher.matched(), 1u);
  matcher.reset();
  EXPECT_EQ(matcher.matched(), 0u);
}

}  // namespace
}  // namespace millrace::link
