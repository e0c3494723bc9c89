// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/frame_scanner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace millrace::link {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint32_t kTag = 0x12345678;

Bytes data_frame(uint32_t sequence, size_t size, uint32_t tag = kTag, bool from_host = false) {
  Bytes frame(size + kLinkOverhead);
  for (size_t i = 0; i < size; ++i) {
    frame[kLinkHeaderBytes + i] = static_cast<uint8_t>(sequence * 31 + i * 7 + i / 256);
  }
  FrameHeader header;
  header.type = FrameType::data;
  header.sequence = sequence;
  header.from_host = from_host;
  header.payload = static_cast<uint32_t>(size);
  finish_frame(header, tag, frame.data());
  return frame;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class FrameScannerTest : public ::testing::Test {
 protected:
  FrameScannerTest() : buffer_(4096), scanner_(buffer_.data(), buffer_.size(), true) {
    scanner_.set_tag(kTag);
    scanner_.limit_payload(1024);
  }
  // Feeds in pieces and returns the sequence numbers of the frames found.
  std::vector<uint32_t> feed(const Bytes& bytes, size_t piece = 4096) {
    std::vector<uint32_t> found;
    size_t at = 0;
    while (at < bytes.size()) {
      size_t room = 0;
      uint8_t* space = scanner_.space(&room);
      const size_t n = std::min({piece, room, bytes.size() - at});
      EXPECT_GT(n, 0u);
      if (n == 0) return found;
      std::memcpy(space, bytes.data() + at, n);
      scanner_.received(n);
      at += n;
      FrameView view;
      while (scanner_.next(&view)) found.push_back(view.header.sequence);
    }
    return found;
  }
  Bytes buffer_;
  FrameScanner scanner_;
};

using Sequences = std::vector<uint32_t>;

TEST_F(FrameScannerTest, FindsFramesHoweverTheyAreSplit) {
  Bytes all;
  Sequences expected;
  for (uint32_t i = 0; i < 20; ++i) {
    all = all + data_frame(i, 1 + i * 53);
    expected.push_back(i);
  }
  for (const size_t piece : {1, 2, 3, 7, 16, 19, 20, 21, 512, 4096}) {
    EXPECT_EQ(feed(all, piece), expected) << piece;
  }
  EXPECT_EQ(scanner_.counters().skipped_bytes, 0u);
}

TEST_F(FrameScannerTest, AnyFlippedBitCostsOneFrame) {
  const Bytes damaged = data_frame(1, 40);
  for (size_t bit = 0; bit < 8 * damaged.size(); ++bit) {
    Bytes bytes = damaged;
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_EQ(feed(data_frame(0, 40) + bytes + data_frame(2, 40)), (Sequences{0, 2})) << bit;
  }
}

TEST_F(FrameScannerTest, AnyLostChunkCostsOnlyTheFramesItTouches) {
  const Bytes all = data_frame(0, 100) + data_frame(1, 100) + data_frame(2, 100);
  for (size_t begin = 120; begin < 240; ++begin) {
    for (size_t end = begin + 1; end <= 240; ++end) {
      Bytes bytes = all;
      bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                  bytes.begin() + static_cast<std::ptrdiff_t>(end));
      ASSERT_EQ(feed(bytes + data_frame(3, 100)), (Sequences{0, 2, 3})) << begin << ' ' << end;
      scanner_.clear();
    }
  }
}

TEST_F(FrameScannerTest, AnyTruncationWaits) {
  const Bytes frame = data_frame(5, 64);
  for (size_t size = 0; size < frame.size(); ++size) {
    EXPECT_EQ(feed(Bytes(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size))),
              Sequences{});
    scanner_.clear();
  }
}

TEST_F(FrameScannerTest, RandomBytesAreNoFrames) {
  std::mt19937 random(7);
  Bytes garbage(100'000);
  for (uint8_t& byte : garbage) byte = static_cast<uint8_t>(random());
  EXPECT_EQ(feed(garbage), Sequences{});
  scanner_.clear();
  EXPECT_EQ(feed(data_frame(9, 9)), Sequences{9});
  size_t size = 0;
  const uint8_t* foreign = scanner_.foreign(&size);
  EXPECT_EQ(Bytes(foreign, foreign + size), Bytes(garbage.begin(), garbage.begin() + 64));
}

TEST_F(FrameScannerTest, NamesOldEchoedOversizedAndForeignVersions) {
  scanner_.set_tag(99);
  EXPECT_EQ(feed(data_frame(0, 8, kTag)), Sequences{});
  EXPECT_EQ(scanner_.counters().old_frames, 1u);
  EXPECT_EQ(feed(data_frame(0, 8, 99, true)), Sequences{});
  EXPECT_EQ(scanner_.counters().echoed_frames, 1u);
  EXPECT_EQ(feed(data_frame(0, 2000, 99)), Sequences{});
  EXPECT_EQ(scanner_.counters().oversized_frames, 1u);
  // Version 2, type 1, zeros; check by the functions of spec/vectors/make_link_vectors.py.
  const Bytes other = {0xD5, 0x4C, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xB3, 0x49};
  EXPECT_EQ(feed(other), Sequences{});
  EXPECT_EQ(scanner_.counters().other_version_headers, 1u);
  EXPECT_EQ(scanner_.other_version(), 2u);
  EXPECT_EQ(scanner_.counters().damaged_frames, 0u);
  EXPECT_EQ(feed(data_frame(1, 8, 98)), Sequences{});  // of a connection never known
  EXPECT_EQ(scanner_.counters().damaged_frames, 1u);
}

TEST_F(FrameScannerTest, FrameInsideAnAwaitedOneIsFoundWhenTheLinkIsSilent) {
  const Bytes torn = data_frame(0, 1000);
  Bytes bytes(torn.begin(), torn.begin() + 30);  // its header promises 1,000 bytes
  bytes = bytes + data_frame(1, 10) + data_frame(2, 10);
  EXPECT_EQ(feed(bytes), Sequences{});
  EXPECT_TRUE(scanner_.waiting());
  EXPECT_TRUE(scanner_.rescue());
  FrameView view;
  ASSERT_TRUE(scanner_.next(&view));
  EXPECT_EQ(view.header.sequence, 1u);
  ASSERT_TRUE(scanner_.next(&view));
  EXPECT_EQ(view.header.sequence, 2u);
  EXPECT_FALSE(scanner_.rescue());
}

TEST_F(FrameScannerTest, LargestFrameFitsABufferOfItsSize) {
  Bytes buffer(kLinkMaxPayload + kLinkOverhead);
  FrameScanner scanner(buffer.data(), buffer.size(), true);
  scanner.set_tag(kTag);
  EXPECT_EQ(scanner.max_payload(), kLinkMaxPayload);
  const Bytes frame = data_frame(3, kLinkMaxPayload);
  size_t at = 0;
  FrameView view;
  while (at < frame.size()) {
    size_t room = 0;
    uint8_t* space = scanner.space(&room);
    const size_t n = std::min<size_t>({room, frame.size() - at, 5000});
    ASSERT_GT(n, 0u);
    std::memcpy(space, frame.data() + at, n);
    scanner.received(n);
    at += n;
    EXPECT_EQ(scanner.next(&view), at == frame.size());
  }
  EXPECT_EQ(view.header.payload, kLinkMaxPayload);
}

}  // namespace
}  // namespace millrace::link
