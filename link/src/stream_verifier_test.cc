// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/stream_verifier.h"

#include <gtest/gtest.h>

#include "millrace/link/bytes.h"
#include "test_stream.h"

namespace millrace::link {
namespace {

// The two failures of the published log: 2,048-byte frames; at value 0 of a frame came the value
// that belongs 1,536 bytes further on.
void expect_published_failure(uint32_t frame, uint32_t expected, uint32_t received) {
  const StreamShape shape{42, 2048, 131072};
  const uint64_t offset = uint64_t{frame} * 2048;
  StreamCursor start(shape);
  start.skip(offset - 4 * 2048);
  Bytes stream(16 * 2048);
  StreamCursor reader = start;
  reader.read(stream.data(), stream.size());
  Bytes arrived = slice(stream, 0, 4 * 2048);
  append(&arrived, slice(stream, 4 * 2048 + 1536, stream.size()));

  Heard heard;
  StreamVerifier verifier(shape, start, heard.sink());
  verifier.feed(arrived.data(), arrived.size());
  ASSERT_EQ(heard.faults.size(), 1u);
  const Fault& fault = heard.faults[0];
  EXPECT_EQ(fault.kind, FaultKind::lost);
  EXPECT_EQ(fault.stream_offset, offset);
  EXPECT_EQ(fault.wire_offset, offset);
  EXPECT_EQ(fault.frame, frame);
  EXPECT_EQ(fault.word, 0u);
  EXPECT_EQ(fault.length, 1536u);
  EXPECT_EQ(fault.size_granule, Granule::packet);   // 3 x 512
  EXPECT_EQ(fault.start_granule, Granule::buffer);  // a multiple of 2,048
  ASSERT_GE(fault.sample_size, 4);
  EXPECT_EQ(load_le32(fault.expected), expected);
  EXPECT_EQ(load_le32(fault.received), received);
  EXPECT_EQ(verifier.totals().verified_bytes, arrived.size());
  EXPECT_EQ(verifier.accounted_bytes(), offset + 12 * 2048);
  EXPECT_FALSE(verifier.in_fault());
}

TEST(StreamVerifier, SaysWhatTheFirstPublishedFailureWas) {
  expect_published_failure(8, 261443033, 1663108126);
}

TEST(StreamVerifier, SaysWhatTheSecondPublishedFailureWas) {
  expect_published_failure(119034, 195615389, 2472662199);
}

TEST(StreamVerifier, CleanStreamOfAnyFrameSizeIsVerifiedWhole) {
  for (const uint32_t frame_size : {1u, 2u, 3u, 5u, 13u, 128u, 1021u, 2048u}) {
    const uint32_t frames = 20000 / frame_size + 1;
    const Bytes stream = make_stream(42, frame_size, frames);
    for (const size_t piece : {size_t{1}, size_t{13}, size_t{511}, stream.size()}) {
      Heard heard;
      StreamVerifier verifier(StreamShape{42, frame_size, frames}, heard.sink());
      feed_pieces(&verifier, stream, piece);
      EXPECT_TRUE(verifier.complete());
      EXPECT_EQ(verifier.frames_complete(), frames);
      verifier.finish();
      EXPECT_EQ(verifier.totals().verified_bytes, stream.size());
      EXPECT_TRUE(heard.faults.empty());
    }
  }
}

}  // namespace
}  // namespace millrace::link
