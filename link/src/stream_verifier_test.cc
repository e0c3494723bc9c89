// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/stream_verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>

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

constexpr size_t kPieceSizes[] = {1, 3, 13, 511, 512, 4096, 1 << 24};

// A run of 512-byte frames.
struct Frames {
  explicit Frames(uint32_t frames, uint64_t search_bytes = 1 << 20)
      : shape{42, 512, frames}, stream(make_stream(42, 512, frames)) {
    limits.search_bytes = search_bytes;
  }
  Bytes part(size_t from, size_t to) const { return slice(stream, from, to); }
  size_t size() const { return stream.size(); }

  StreamShape shape;
  Bytes stream;
  VerifierLimits limits;
};

// Feeds `arrived` in pieces of many sizes, finishes, and returns what was heard; the same for all.
Heard hear(const Frames& run, const Bytes& arrived, VerifierTotals* totals = nullptr) {
  Heard first;
  for (const size_t piece : kPieceSizes) {
    Heard heard;
    StreamVerifier verifier(run.shape, heard.sink(), run.limits);
    feed_pieces(&verifier, arrived, piece);
    verifier.finish();
    if (totals != nullptr) *totals = verifier.totals();
    if (piece == kPieceSizes[0]) {
      first = heard;
      continue;
    }
    EXPECT_EQ(heard.faults.size(), first.faults.size()) << piece;
    for (size_t i = 0; i < std::min(heard.faults.size(), first.faults.size()); ++i) {
      EXPECT_EQ(heard.faults[i].kind, first.faults[i].kind) << piece;
      EXPECT_EQ(heard.faults[i].stream_offset, first.faults[i].stream_offset) << piece;
      EXPECT_EQ(heard.faults[i].length, first.faults[i].length) << piece;
    }
    EXPECT_TRUE(heard.payloads == first.payloads);
  }
  return first;
}

void expect_fault(const Fault& fault, FaultKind kind, uint64_t offset, uint64_t length,
                  uint64_t received_length = 0, uint64_t source_offset = 0) {
  EXPECT_EQ(fault.kind, kind);
  EXPECT_EQ(fault.stream_offset, offset);
  EXPECT_EQ(fault.length, length);
  EXPECT_EQ(fault.received_length, received_length);
  EXPECT_EQ(fault.source_offset, source_offset);
}

TEST(StreamVerifier, StreamThatEndsEarlyHasAMissingTail) {
  const Frames run(20);
  for (const size_t arrived : {size_t{0}, size_t{1}, size_t{511}, size_t{512}, run.size() - 1}) {
    const Heard heard = hear(run, run.part(0, arrived));
    ASSERT_EQ(heard.faults.size(), 1u);
    expect_fault(heard.faults[0], FaultKind::missing_tail, arrived, run.size() - arrived);
    EXPECT_EQ(heard.faults[0].frame, arrived / 512);
  }
}

// Shorter than any key: only that these bytes end the run tells where they belong.
TEST(StreamVerifier, LossBeforeTheLastBytesIsALoss) {
  const Frames run(40);
  for (size_t rest = 1; rest < 40; ++rest) {
    for (const size_t lost : {size_t{1}, size_t{3}, size_t{100}, size_t{600}, size_t{9000}}) {
      const size_t at = run.size() - rest - lost;
      if (run.stream[at] == run.stream[at + lost]) continue;
      Bytes arrived = run.part(0, at);
      append(&arrived, run.part(at + lost, run.size()));
      const Heard heard = hear(run, arrived);
      ASSERT_EQ(heard.faults.size(), 1u) << rest << " " << lost;
      expect_fault(heard.faults[0], FaultKind::lost, at, lost);
    }
  }
}

TEST(StreamVerifier, DamageInTheLastBytesIsDamage) {
  const Frames run(20);
  for (size_t from_end = 1; from_end < 80; ++from_end) {
    Bytes arrived = run.stream;
    uint8_t& byte = arrived[run.size() - from_end];
    byte = static_cast<uint8_t>(byte ^ 0x10);
    VerifierTotals totals;
    const Heard heard = hear(run, arrived, &totals);
    ASSERT_EQ(heard.faults.size(), 1u) << from_end;
    expect_fault(heard.faults[0], FaultKind::flipped, run.size() - from_end, 1, 1);
    EXPECT_EQ(totals.verified_bytes, run.size() - 1);
  }
}

TEST(StreamVerifier, DamageInTheFirstByteIsDamage) {
  const Frames run(20);
  Bytes arrived = run.stream;
  arrived[0] = static_cast<uint8_t>(~arrived[0]);
  const Heard heard = hear(run, arrived);
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::replaced, 0, 1, 1);
  EXPECT_EQ(heard.faults[0].expected[0], run.stream[0]);
  EXPECT_EQ(heard.faults[0].received[0], arrived[0]);
}

TEST(StreamVerifier, LossOfTheFirstFrameIsALoss) {
  const Frames run(100);
  const Heard heard = hear(run, run.part(512, run.size()));
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::lost, 0, 512);
  EXPECT_EQ(heard.faults[0].start_granule, Granule::buffer);
}

// The most frequent case: the bytes that an earlier run left come before those of this one.
TEST(StreamVerifier, BytesOfAnEarlierRunAtTheStartAreStale) {
  const Frames run(1000);
  for (const size_t length :
       {size_t{13}, size_t{64}, size_t{2000}, size_t{65536}, size_t{200000}}) {
    for (const size_t from : {size_t{1024}, size_t{123457}, run.size() - length}) {
      Bytes arrived = run.part(from, from + length);
      append(&arrived, run.stream);
      VerifierTotals totals;
      const Heard heard = hear(run, arrived, &totals);
      ASSERT_EQ(heard.faults.size(), 1u) << length << " from " << from;
      expect_fault(heard.faults[0], FaultKind::stale, 0, length, 0, from);
      EXPECT_EQ(totals.verified_bytes, run.size());
      EXPECT_EQ(totals.duplicated_bytes, length);
    }
  }
}

// The earlier run had more frames than this one.
TEST(StreamVerifier, BytesOfALongerRunAreStale) {
  const Frames run(20);
  const Bytes longer = make_stream(42, 512, 400);
  for (const size_t from : {run.size() - 100, run.size(), run.size() + 70000}) {
    Bytes arrived = slice(longer, from, from + 3000);
    append(&arrived, run.stream);
    const Heard heard = hear(run, arrived);
    ASSERT_EQ(heard.faults.size(), 1u) << from;
    expect_fault(heard.faults[0], FaultKind::stale, 0, 3000, 0, from);
  }
}

TEST(StreamVerifier, OnlyBytesOfAnEarlierRunAreStaleAndAllIsMissing) {
  const Frames run(1000);
  const Heard heard = hear(run, run.part(100000, 104000));
  ASSERT_EQ(heard.faults.size(), 2u);
  expect_fault(heard.faults[0], FaultKind::stale, 0, 4000, 0, 100000);
  expect_fault(heard.faults[1], FaultKind::missing_tail, 0, run.size());
}

TEST(StreamVerifier, ModemProbeIsInsertedText) {
  const Frames run(40);
  for (const char* probe : {"AT\r", "AT", "ATE1 E0\r\n", "AT+GCAP\r\nAT+CGMM\r\nand so on"}) {
    for (const size_t at : {size_t{0}, size_t{777}, size_t{1024}, run.size()}) {
      const Bytes foreign = text(probe);
      if (at < run.size() && foreign[0] == run.stream[at]) continue;
      Bytes arrived = run.part(0, at);
      append(&arrived, foreign);
      append(&arrived, run.part(at, run.size()));
      const Heard heard = hear(run, arrived);
      ASSERT_EQ(heard.faults.size(), 1u) << probe << " at " << at;
      expect_fault(heard.faults[0], FaultKind::inserted, at, foreign.size(), foreign.size());
      EXPECT_TRUE(heard.faults[0].is_text);
      EXPECT_EQ(
          Bytes(heard.faults[0].received, heard.faults[0].received + heard.faults[0].sample_size),
          slice(foreign, 0, std::min(foreign.size(), size_t{64})));
    }
  }
}

// More than the window holds. 0x80 keeps it from being text.
TEST(StreamVerifier, LongGarbageIsOneFault) {
  const Frames run(1000);
  std::mt19937 random(4);
  for (const size_t length : {size_t{2040}, size_t{2048}, size_t{5000}, size_t{200000}}) {
    Bytes garbage(length);
    for (uint8_t& b : garbage) b = static_cast<uint8_t>(random());
    const size_t at = 20000;
    garbage[0] = static_cast<uint8_t>(run.stream[at] ^ 0xff);
    garbage[1] = 0x80;
    garbage[length - 1] = static_cast<uint8_t>(run.stream[at + length - 1] ^ 0xff);
    Bytes arrived = run.part(0, at);
    append(&arrived, garbage);
    const Bytes before = arrived;

    append(&arrived, run.part(at, run.size()));
    Heard heard = hear(run, arrived);
    ASSERT_EQ(heard.faults.size(), 1u);
    expect_fault(heard.faults[0], FaultKind::inserted, at, length, length);
    EXPECT_FALSE(heard.faults[0].is_text);

    arrived = before;
    append(&arrived, run.part(at + length, run.size()));
    VerifierTotals totals;
    heard = hear(run, arrived, &totals);
    ASSERT_EQ(heard.faults.size(), 1u);
    expect_fault(heard.faults[0], FaultKind::replaced, at, length, length);
    EXPECT_EQ(totals.verified_bytes, run.size() - length);
  }
}

// The end of so much garbage is noticed late, so bytes behind it may be counted as foreign and
// missing, but as many of each.
TEST(StreamVerifier, GarbageInPlaceOfALongPieceIsMixed) {
  const Frames run(2000);
  Bytes garbage(7001, 0x80);
  garbage[0] = static_cast<uint8_t>(run.stream[4096] ^ 0xff);
  Bytes arrived = run.part(0, 4096);
  append(&arrived, garbage);
  append(&arrived, run.part(9000, run.size()));
  const Heard heard = hear(run, arrived);
  ASSERT_EQ(heard.faults.size(), 1u);
  EXPECT_EQ(heard.faults[0].kind, FaultKind::mixed);
  EXPECT_EQ(heard.faults[0].stream_offset, 4096u);
  EXPECT_GE(heard.faults[0].length, 9000u - 4096u - 1u);
  EXPECT_LE(heard.faults[0].length, 9000u - 4096u + 8192u);
  EXPECT_EQ(heard.faults[0].received_length - heard.faults[0].length, 7001u - (9000u - 4096u));
}

TEST(StreamVerifier, LossOfHundredsOfMegabytesIsFound) {
  const StreamShape shape{42, 4096, 1 << 17};  // 512 MB
  StreamCursor cursor(shape);
  Bytes arrived(16384);
  cursor.read(arrived.data(), 8192);
  const uint64_t lost = uint64_t{200001} * 1024;
  cursor.skip(lost);
  cursor.read(arrived.data() + 8192, 8192);
  Heard heard;
  StreamVerifier verifier(shape, heard.sink());
  verifier.feed(arrived.data(), arrived.size());
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::lost, 8192, lost);
  EXPECT_EQ(heard.faults[0].size_granule, Granule::urb);  // 200,001 x 1,024
}

TEST(StreamVerifier, WhatIsBeyondTheLimitIsForeign) {
  const Frames run(4000, 65536);
  Bytes arrived = run.part(0, 10000);
  append(&arrived, run.part(1500000, 1520000));
  const Heard heard = hear(run, arrived);
  ASSERT_EQ(heard.faults.size(), 2u);
  expect_fault(heard.faults[0], FaultKind::inserted, 10000, 20000, 20000);
  expect_fault(heard.faults[1], FaultKind::missing_tail, 10000, run.size() - 10000);
}

// ICRNL turns 0x0D into 0x0A, IXON eats 0x11 and 0x13: about one byte in 85, often close together.
TEST(StreamVerifier, CookedTtyGivesItselfAway) {
  const Frames run(2000);
  Bytes arrived;
  VerifierTotals expected;
  for (size_t i = 0; i < run.size(); ++i) {
    const uint8_t byte = run.stream[i];
    if (byte == 0x11 || byte == 0x13) {
      ++expected.lost_bytes;
    } else if (byte == 0x0d) {
      ++expected.altered_bytes;
      arrived.push_back(0x0a);
    } else {
      arrived.push_back(byte);
    }
  }
  VerifierTotals totals;
  hear(run, arrived, &totals);
  // Two of them side by side, or with an equal byte between, have more than one explanation.
  EXPECT_EQ(totals.lost_bytes - totals.inserted_bytes, expected.lost_bytes);
  EXPECT_LE(totals.inserted_bytes, expected.lost_bytes / 100);
  uint32_t others = 0;
  for (size_t value = 0; value < 256; ++value) {
    if (value != 0x11 && value != 0x13) others += totals.single_lost[value];
    if (value != 0x0d) others += totals.single_altered[value];
  }
  EXPECT_LE(others, expected.lost_bytes / 200);
  EXPECT_GE(totals.single_lost[0x11] + totals.single_lost[0x13], expected.lost_bytes * 95 / 100);
  EXPECT_GE(totals.single_altered[0x0d], expected.altered_bytes * 95 / 100);
  EXPECT_EQ(totals.altered_to[0x0d], 0x0a);
}

// ISTRIP: half of all bytes lose a bit, so there are never eight right ones in a row.
TEST(StreamVerifier, LineThatDropsTheTopBitIsFlippedEverywhere) {
  const Frames run(200);
  Bytes arrived = run.stream;
  uint64_t dropped = 0;
  for (uint8_t& byte : arrived) {
    dropped += byte >> 7;
    byte &= 0x7f;
  }
  VerifierTotals totals;
  const Heard heard = hear(run, arrived, &totals);
  EXPECT_EQ(totals.flipped_bits, dropped);
  EXPECT_EQ(totals.lost_bytes + totals.inserted_bytes, 0u);
  EXPECT_EQ(totals.faults_of_kind[static_cast<size_t>(FaultKind::flipped)], totals.faults);
}

TEST(StreamVerifier, FrameOfZerosIsReplaced) {
  const Frames run(200);
  Bytes arrived = run.stream;
  std::fill(arrived.begin() + 8192, arrived.begin() + 8192 + 4096, uint8_t{0});
  const Heard heard = hear(run, arrived);
  ASSERT_FALSE(heard.faults.empty());
  EXPECT_EQ(heard.faults[0].kind, FaultKind::replaced);
  EXPECT_GE(heard.faults[0].length, 4094u);  // the edges can be 0 by chance
}

// Text over as many stream bytes. Fewer than 3 damaged bytes are not called text.
TEST(StreamVerifier, TextInPlaceOfStreamBytesIsCalledText) {
  const Frames run(200);
  const size_t at = 40960;
  const std::string line(3000, 'x');  // more than the window holds
  for (const std::string& words : {std::string("AT\r"), std::string("AT+CGMI\r\n"), line}) {
    Bytes arrived = run.stream;
    std::copy(words.begin(), words.end(), arrived.begin() + at);
    // The edges must differ, or the damage would be shorter than the text.
    ASSERT_NE(arrived[at], run.stream[at]);
    ASSERT_NE(arrived[at + words.size() - 1], run.stream[at + words.size() - 1]);
    const Heard heard = hear(run, arrived);
    ASSERT_EQ(heard.faults.size(), 1u) << words.size();
    EXPECT_EQ(heard.faults[0].length, words.size());
    EXPECT_TRUE(heard.faults[0].is_text) << words.size();
    EXPECT_EQ(heard.faults[0].received[0], static_cast<uint8_t>(words[0]));
    // One byte of it is no text.
    arrived[at + words.size() / 2] = 0x80;
    for (const Fault& fault : hear(run, arrived).faults) EXPECT_FALSE(fault.is_text);
  }
  Bytes arrived = run.stream;
  arrived[at] = 'A';
  arrived[at + 1] = 'T';
  for (const Fault& fault : hear(run, arrived).faults) EXPECT_FALSE(fault.is_text);
}

TEST(StreamVerifier, BytesBehindTheEndAreInserted) {
  const Frames run(20);
  Bytes arrived = run.stream;
  arrived.resize(arrived.size() + 50, 0xee);
  VerifierTotals totals;
  const Heard heard = hear(run, arrived, &totals);
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::inserted, run.size(), 50, 50);
  EXPECT_EQ(totals.verified_bytes, run.size());
}

TEST(StreamVerifier, LastPieceThatComesTwiceIsDuplicated) {
  const Frames run(40);
  Bytes arrived = run.stream;
  append(&arrived, run.part(run.size() - 1024, run.size()));
  const Heard heard = hear(run, arrived);
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::duplicated, run.size(), 1024, 0, run.size() - 1024);
  EXPECT_EQ(heard.faults[0].size_granule, Granule::urb);
}

TEST(StreamVerifier, RunThatStartsAgainIsDuplicated) {
  const Frames run(400);
  Bytes arrived = run.part(0, 50000);
  append(&arrived, run.stream);
  const Heard heard = hear(run, arrived);
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::duplicated, 50000, 50000, 0, 0);
}

// A cache line that was not written back: 32 bytes aligned on the wire, one lap of a 2,048-byte
// buffer ring of four old.
TEST(StreamVerifier, CacheLineOfAnOlderBufferIsNamed) {
  const Frames run(100);
  for (const size_t lines : {size_t{1}, size_t{2}, size_t{64}}) {
    const size_t at = 20480 + 96;
    Bytes arrived = run.stream;
    std::copy_n(run.stream.begin() + static_cast<std::ptrdiff_t>(at - 8192), 32 * lines,
                arrived.begin() + static_cast<std::ptrdiff_t>(at));
    const Heard heard = hear(run, arrived);
    ASSERT_EQ(heard.faults.size(), 1u);
    EXPECT_EQ(heard.faults[0].kind, FaultKind::stale_lines);
    EXPECT_EQ(heard.faults[0].stream_offset, at);
    EXPECT_EQ(heard.faults[0].length, 32 * lines);
    EXPECT_EQ(heard.faults[0].source_offset, at - 8192);
  }
}

TEST(StreamVerifier, MessagesBeforeWithinAndBehindTheStreamAreDelivered) {
  const Frames run(40);
  Bytes arrived = message(MessageType::started, Bytes(Started::kBytes, 1));
  append(&arrived, run.part(0, 5120));
  append(&arrived, message(MessageType::counters, Bytes(DeviceCounters::kBytes, 2)));
  append(&arrived, run.part(5120 + 1536, run.size()));
  append(&arrived, message(MessageType::report, Bytes(DeviceCounters::kBytes, 3)));
  VerifierTotals totals;
  const Heard heard = hear(run, arrived, &totals);
  ASSERT_EQ(heard.types.size(), 3u);
  EXPECT_EQ(heard.types[0], MessageType::started);
  EXPECT_EQ(heard.types[1], MessageType::counters);
  EXPECT_EQ(heard.types[2], MessageType::report);
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::lost, 5120, 1536);
  EXPECT_EQ(heard.faults[0].wire_offset, 5120u + 180u);  // 168 + 12; STARTED does not count
  EXPECT_EQ(totals.message_bytes, 52u + 180u + 180u);
}

// In the order of the wire: stale bytes of an earlier run, STARTED, the run.
TEST(StreamVerifier, StaleBytesBeforeStartedDoNotMoveTheWireOffset) {
  const Frames run(400);
  Bytes arrived = run.part(100000, 103000);
  append(&arrived, message(MessageType::started, Bytes(Started::kBytes, 1)));
  append(&arrived, run.part(0, 50000));
  append(&arrived, run.part(60240, run.size()));
  const Heard heard = hear(run, arrived);
  ASSERT_EQ(heard.faults.size(), 2u);
  expect_fault(heard.faults[0], FaultKind::stale, 0, 3000, 0, 100000);
  expect_fault(heard.faults[1], FaultKind::lost, 50000, 10240);
  EXPECT_EQ(heard.faults[1].wire_offset, 50000u);
  EXPECT_EQ(heard.types.size(), 1u);
}

TEST(StreamVerifier, MessageBehindTheLastFrameIsDeliveredAtOnce) {
  const Frames run(20);
  const Bytes report = message(MessageType::report, Bytes(DeviceCounters::kBytes, 3));
  for (const bool damaged_end : {false, true}) {
    for (const size_t piece : kPieceSizes) {
      Heard heard;
      StreamVerifier verifier(run.shape, heard.sink(), run.limits);
      Bytes arrived = run.stream;
      if (damaged_end) arrived.at(run.size() - 3) ^= 0xff;
      feed_pieces(&verifier, arrived, piece);
      EXPECT_TRUE(verifier.complete());
      EXPECT_TRUE(heard.types.empty());
      feed_pieces(&verifier, report, piece);
      EXPECT_EQ(heard.types.size(), 1u);
      EXPECT_FALSE(verifier.in_fault());
      EXPECT_EQ(heard.faults.size(), damaged_end ? 1u : 0u);
    }
  }
}

// A place where the stream has the first sync byte of a message by chance, and a message stands.
TEST(StreamVerifier, MessageWhoseFirstByteIsTheStreamsIsStillOne) {
  const Frames run(400);
  const Bytes counters = message(MessageType::counters, Bytes(DeviceCounters::kBytes, 2));
  size_t tried = 0;
  for (size_t at = 1; at < run.size(); ++at) {
    if (run.stream[at] != kMessageSync[0]) continue;
    Bytes arrived = run.part(0, at);
    append(&arrived, counters);
    append(&arrived, run.part(at, run.size()));
    Heard heard;
    StreamVerifier verifier(run.shape, heard.sink(), run.limits);
    feed_pieces(&verifier, arrived, kPieceSizes[tried % std::size(kPieceSizes)]);
    EXPECT_TRUE(verifier.complete());
    EXPECT_TRUE(heard.faults.empty());
    EXPECT_EQ(heard.types.size(), 1u);
    EXPECT_EQ(verifier.totals().verified_bytes, run.size());
    if (++tried == 100) break;
  }
  EXPECT_EQ(tried, 100u);
}

TEST(StreamVerifier, MessagesAreForeignToOneThatDoesNotTakeThem) {
  const Frames run(40);
  Bytes arrived = run.part(0, 5000);
  const Bytes counters = message(MessageType::counters, Bytes(DeviceCounters::kBytes, 2));
  append(&arrived, counters);
  append(&arrived, run.part(5000, run.size()));
  Heard heard;
  VerifierSink sink = heard.sink();
  sink.on_message = nullptr;
  StreamVerifier verifier(run.shape, sink, run.limits);
  verifier.feed(arrived.data(), arrived.size());
  verifier.finish();
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::inserted, 5000, counters.size(), counters.size());
}

// Frames of 4 bytes, each acknowledged: the sender waits while the receiver waits for a key.
TEST(StreamVerifier, SettleDecidesWhatTheSenderWaitsFor) {
  const Bytes stream = make_stream(42, 4, 100);
  Heard heard;
  StreamVerifier verifier(StreamShape{42, 4, 100}, heard.sink());
  verifier.feed(stream.data(), 40);
  Bytes damaged = slice(stream, 40, 44);
  damaged[1] = static_cast<uint8_t>(damaged[1] ^ 1);
  verifier.feed(damaged.data(), damaged.size());
  EXPECT_TRUE(verifier.in_fault());
  EXPECT_EQ(verifier.frames_complete(), 10u);
  verifier.settle();
  EXPECT_FALSE(verifier.in_fault());
  EXPECT_EQ(verifier.frames_complete(), 11u);
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::flipped, 41, 1, 1);
  verifier.feed(stream.data() + 44, 356);
  EXPECT_TRUE(verifier.complete());
}

// One to four damaged bytes at the end of a frame leave nothing behind them to go by; a byte that
// is missing does not end the frame.
TEST(StreamVerifier, SettleTakesTheRestOfAFrameForDamaged) {
  const Bytes stream = make_stream(42, 100, 10);
  for (const size_t damaged_bytes : {1u, 2u, 4u}) {
    for (const size_t missing : {0u, 1u}) {
      Heard heard;
      StreamVerifier verifier(StreamShape{42, 100, 10}, heard.sink());
      Bytes frames = slice(stream, 0, 300);
      for (size_t i = 300 - damaged_bytes; i < 300; ++i) {
        frames[i] = static_cast<uint8_t>(frames[i] ^ 1);
      }
      verifier.feed(frames.data(), frames.size() - missing);
      verifier.settle();
      EXPECT_EQ(verifier.in_fault(), missing == 1 && damaged_bytes > 1) << damaged_bytes;
      EXPECT_EQ(verifier.frames_complete(), missing == 0 ? 3u : 2u) << damaged_bytes;
      if (missing > 0) continue;
      ASSERT_EQ(heard.faults.size(), 1u);
      expect_fault(heard.faults[0], FaultKind::flipped, 300 - damaged_bytes, damaged_bytes,
                   damaged_bytes);
      verifier.feed(stream.data() + 300, 700);
      EXPECT_TRUE(verifier.complete());
      EXPECT_EQ(heard.faults.size(), 1u);
    }
  }
}

TEST(StreamVerifier, SettleAcceptsALossThatIsStillHeld) {
  const Frames run(100);
  Heard heard;
  StreamVerifier verifier(run.shape, heard.sink(), run.limits);
  verifier.feed(run.stream.data(), 10240);
  verifier.feed(run.stream.data() + 11264, 1024);
  EXPECT_TRUE(heard.faults.empty());
  EXPECT_TRUE(verifier.in_fault());
  EXPECT_EQ(verifier.frames_complete(), 20u);
  verifier.settle();
  EXPECT_FALSE(verifier.in_fault());
  EXPECT_EQ(verifier.frames_complete(), 24u);
  ASSERT_EQ(heard.faults.size(), 1u);
  expect_fault(heard.faults[0], FaultKind::lost, 10240, 1024);
}

TEST(StreamVerifier, SettleKeepsTheBeginningOfAMessage) {
  const Frames run(100);
  Heard heard;
  StreamVerifier verifier(run.shape, heard.sink(), run.limits);
  verifier.feed(run.stream.data(), 10240);
  const Bytes counters = message(MessageType::counters, Bytes(DeviceCounters::kBytes, 2));
  for (const uint8_t& byte : counters) {
    verifier.feed(&byte, 1);
    verifier.settle();
  }
  EXPECT_EQ(heard.types.size(), 1u);
  EXPECT_TRUE(heard.faults.empty());
}

TEST(StreamVerifier, LossIsToldWithin4KilobytesOfWhatFollows) {
  const Frames run(100);
  Heard heard;
  StreamVerifier verifier(run.shape, heard.sink(), run.limits);
  verifier.feed(run.stream.data(), 10240);
  verifier.feed(run.stream.data() + 12288, 4095);
  EXPECT_TRUE(heard.faults.empty());
  verifier.feed(run.stream.data() + 12288 + 4095, 1);
  EXPECT_EQ(heard.faults.size(), 1u);
}

}  // namespace
}  // namespace millrace::link
