// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/stream_cursor.h"

#include <gtest/gtest.h>

#include <random>

#include "millrace/link/bytes.h"
#include "test_stream.h"

namespace millrace::link {
namespace {

constexpr uint32_t kCursorFrameSizes[] = {1,  2,   3,   4,   5,   7,   8,   13,
                                          64, 127, 128, 129, 511, 512, 1021};

StreamShape shape_of(uint32_t frame_size) { return StreamShape{42, frame_size, 1000000}; }

TEST(StreamCursor, ReadsTheStreamInPiecesOfAnySize) {
  for (const uint32_t frame_size : kCursorFrameSizes) {
    const Bytes stream = make_stream(42, frame_size, 4000 / frame_size + 3);
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{7}, size_t{64}, size_t{1000}}) {
      StreamCursor cursor(shape_of(frame_size));
      Bytes read(stream.size());
      for (size_t at = 0; at < read.size(); at += piece) {
        cursor.read(read.data() + at, std::min(piece, read.size() - at));
      }
      ASSERT_EQ(read, stream) << frame_size << " " << piece;
      EXPECT_EQ(cursor.offset(), stream.size());
    }
  }
}

TEST(StreamCursor, SkipsAndRewindsToAnyPlace) {
  std::mt19937 random(7);
  for (const uint32_t frame_size : kCursorFrameSizes) {
    const Bytes stream = make_stream(42, frame_size, 3000 / frame_size + 8);
    StreamCursor cursor(shape_of(frame_size));
    for (int i = 0; i < 300; ++i) {
      const size_t target = random() % (stream.size() - 7);
      if (target >= cursor.offset()) {
        cursor.skip(target - cursor.offset());
      } else {
        cursor.rewind(cursor.offset() - target);
      }
      ASSERT_EQ(cursor.offset(), target);
      ASSERT_EQ(cursor.frame(), target / frame_size);
      ASSERT_EQ(cursor.byte_in_frame(), target % frame_size);
      ASSERT_EQ(cursor.word_in_frame(), target % frame_size / 4);
      Bytes read(7);
      StreamCursor copy = cursor;
      copy.read(read.data(), read.size());
      ASSERT_EQ(read, slice(stream, target, target + 7)) << frame_size << " at " << target;
    }
  }
}

TEST(StreamCursor, MatchStopsBeforeTheFirstDifferentByte) {
  std::mt19937 random(8);
  for (const uint32_t frame_size : kCursorFrameSizes) {
    const Bytes stream = make_stream(42, frame_size, 3000 / frame_size + 8);
    for (int i = 0; i < 200; ++i) {
      const size_t from = random() % (stream.size() - 1);
      const size_t size = 1 + random() % (stream.size() - from);
      Bytes data = slice(stream, from, from + size);
      const size_t wrong = random() % size;
      data[wrong] = static_cast<uint8_t>(data[wrong] ^ (1u << random() % 8));
      StreamCursor cursor(shape_of(frame_size));
      cursor.skip(from);
      ASSERT_EQ(cursor.match(data.data(), size), wrong) << frame_size;
      ASSERT_EQ(cursor.offset(), from + wrong);
      ASSERT_EQ(cursor.frame(), (from + wrong) / frame_size);
      data[wrong] = stream[from + wrong];
      ASSERT_EQ(cursor.match(data.data() + wrong, size - wrong), size - wrong);
    }
  }
}

// The table of spec/classic_stream.md, words of 2,048-byte frames.
TEST(StreamCursor, StandsAtThePublishedWordsFarInTheStream) {
  StreamCursor cursor(shape_of(2048));
  cursor.skip(uint64_t{119034} * 2048);
  EXPECT_EQ(cursor.frame(), 119034u);
  EXPECT_EQ(cursor.word_in_frame(), 0u);
  uint8_t word[4];
  cursor.read(word, 4);
  EXPECT_EQ(load_le32(word), 195615389u);
  cursor.rewind(4 + uint64_t{119034 - 8} * 2048);
  cursor.read(word, 4);
  EXPECT_EQ(load_le32(word), 261443033u);
}

TEST(StreamCursor, FramesNearTheLimitOf32BitsAreCounted) {
  StreamCursor cursor(StreamShape{42, 0xffffffff, 2});
  cursor.skip(1000);
  EXPECT_EQ(cursor.frame(), 0u);
  EXPECT_EQ(cursor.byte_in_frame(), 1000u);
}

}  // namespace
}  // namespace millrace::link
