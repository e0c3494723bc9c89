// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/ntb16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "millrace/link/bytes.h"

namespace millrace::link {
namespace {

using Bytes = std::vector<uint8_t>;

struct Read {
  std::vector<Bytes> datagrams;
  NtbStatus status{};
};

Read read_all(const Bytes& block) {
  const Bytes exact(block);  // so that a sanitizer sees a read beyond
  Ntb16Reader reader(exact.data(), exact.size());
  Read out;
  NtbDatagram d;
  while ((out.status = reader.next(&d)) == NtbStatus::datagram) {
    EXPECT_LE(d.offset + d.length, exact.size());
    const uint8_t* from = exact.data() + d.offset;
    out.datagrams.emplace_back(from, from + d.length);
  }
  EXPECT_EQ(reader.next(&d), out.status) << "a result other than datagram stays";
  return out;
}

Bytes frame(size_t size, uint8_t first) {
  Bytes out(size);
  std::iota(out.begin(), out.end(), first);
  return out;
}

// By hand from NCM 1.0, tables 3-1 and 3-3: two frames of 14 and 15 bytes in a block of 64 whose
// table stands in front of them.
Bytes example() {
  const Bytes start = {'N', 'C', 'M', 'H', 12, 0, 0x34, 0x12, 64, 0, 12, 0,  // NTH16
                       'N', 'C', 'M', '0', 20, 0, 0,    0,                   // NDP16
                       32,  0,   14,  0,   48, 0, 15,   0,    0,  0, 0,  0};
  Bytes block(64, 0xee);
  std::copy(start.begin(), start.end(), block.begin());
  const Bytes first = frame(14, 1), second = frame(15, 100);
  std::copy(first.begin(), first.end(), block.begin() + 32);
  std::copy(second.begin(), second.end(), block.begin() + 48);
  block.back() = 0xaa;
  return block;
}

TEST(Ntb16Reader, ExampleGivesBothDatagramsThenEnds) {
  const Bytes block = example();
  Ntb16Reader reader(block.data(), block.size());
  EXPECT_EQ(reader.sequence(), 0x1234);
  EXPECT_EQ(reader.block_bytes(), 64u);
  const Read read = read_all(block);
  EXPECT_EQ(read.status, NtbStatus::end);
  EXPECT_EQ(read.datagrams, (std::vector<Bytes>{frame(14, 1), frame(15, 100)}));
}

TEST(Ntb16Reader, EveryTruncationIsSeen) {
  const Bytes block = example();
  for (size_t size = 0; size < block.size(); ++size) {
    const Read read = read_all(Bytes(block.begin(), block.begin() + static_cast<long>(size)));
    EXPECT_EQ(read.status, NtbStatus::truncated) << size;
    EXPECT_TRUE(read.datagrams.empty()) << size;
  }
}

// The result of each bit of header and table, found from the layout: which field it is in.
NtbStatus flipped_status(size_t byte, size_t bit) {
  if (byte < 4) return NtbStatus::bad_signature;     // 'NCMH' and 'ncmh' differ in more than a bit
  if (byte < 6) return NtbStatus::bad_header;        // wHeaderLength
  if (byte < 8) return NtbStatus::end;               // wSequence
  if (byte == 8 && bit == 6) return NtbStatus::end;  // wBlockLength 0: up to the short packet
  if (byte < 10) return NtbStatus::truncated;        // any other is greater than 64
  return NtbStatus::bad_ndp;                         // wNdpIndex, signature of the table
}

TEST(Ntb16Reader, EveryBitFlipInHeaderAndSignatureHasItsStatus) {
  for (size_t byte = 0; byte < 16; ++byte) {
    for (size_t bit = 0; bit < 8; ++bit) {
      Bytes block = example();
      block[byte] = static_cast<uint8_t>(block[byte] ^ (1u << bit));
      EXPECT_EQ(read_all(block).status, flipped_status(byte, bit)) << byte << '.' << bit;
    }
  }
}

TEST(Ntb16Reader, EveryBitFlipStaysInsideAndEnds) {
  for (size_t byte = 0; byte < example().size(); ++byte) {
    for (size_t bit = 0; bit < 8; ++bit) {
      Bytes block = example();
      block[byte] = static_cast<uint8_t>(block[byte] ^ (1u << bit));
      EXPECT_LE(read_all(block).datagrams.size(), 2u) << byte << '.' << bit;
    }
  }
}

NtbStatus status_with(size_t at, uint16_t value) {
  Bytes block = example();
  store_le16(block.data() + at, value);
  return read_all(block).status;
}

TEST(Ntb16Reader, Ntb32IsRefusedByName) {
  Bytes block = example();
  store_le32(block.data(), kNth32Signature);
  EXPECT_EQ(read_all(block).status, NtbStatus::ntb32);
}

TEST(Ntb16Reader, BlockLengths) {
  EXPECT_EQ(status_with(8, 0), NtbStatus::end) << "0 is: as long as the transfer";
  EXPECT_EQ(status_with(8, 11), NtbStatus::bad_header);
  EXPECT_EQ(status_with(8, 12), NtbStatus::bad_ndp) << "no room for a table";
  EXPECT_EQ(status_with(8, 62), NtbStatus::bad_datagram);
  EXPECT_EQ(status_with(8, 63), NtbStatus::end) << "48 + 15";
  EXPECT_EQ(status_with(8, 65), NtbStatus::truncated);
}

TEST(Ntb16Reader, PaddingBehindTheBlockIsNotRead) {
  Bytes block = example();
  block.resize(512, 0xff);
  const Read read = read_all(block);
  EXPECT_EQ(read.status, NtbStatus::end);
  EXPECT_EQ(read.datagrams.size(), 2u);
}

TEST(Ntb16Reader, TablesOutsideOrUnalignedAreRefused) {
  EXPECT_EQ(status_with(10, 0), NtbStatus::bad_ndp);
  EXPECT_EQ(status_with(10, 8), NtbStatus::bad_ndp);
  EXPECT_EQ(status_with(10, 14), NtbStatus::bad_ndp);
  EXPECT_EQ(status_with(10, 52), NtbStatus::bad_ndp);
  EXPECT_EQ(status_with(10, 0xfffc), NtbStatus::bad_ndp);
  EXPECT_EQ(status_with(16, 12), NtbStatus::bad_ndp) << "wLength below 16";
  EXPECT_EQ(status_with(16, 18), NtbStatus::bad_ndp) << "wLength not a multiple of 4";
  EXPECT_EQ(status_with(16, 56), NtbStatus::bad_ndp) << "12 + 56 > 64";
}

TEST(Ntb16Reader, TableWithoutTerminatorEndsAfterItsDatagrams) {
  Bytes block = example();
  store_le16(block.data() + 16, 16);  // two entries, both used
  const Read read = read_all(block);
  EXPECT_EQ(read.status, NtbStatus::unterminated);
  EXPECT_EQ(read.datagrams.size(), 2u);
}

TEST(Ntb16Reader, DatagramsOutsideAreRefusedThoseBeforeAreGood) {
  for (const auto& [at, value] : std::vector<std::pair<size_t, uint16_t>>{
           {24, 50}, {24, 0xffff}, {24, 11}, {26, 17}, {26, 0xffff}, {26, 13}}) {
    Bytes block = example();
    store_le16(block.data() + at, value);
    const Read read = read_all(block);
    EXPECT_EQ(read.status, NtbStatus::bad_datagram) << at << " = " << value;
    EXPECT_EQ(read.datagrams, (std::vector<Bytes>{frame(14, 1)}));
  }
  EXPECT_EQ(status_with(26, 16), NtbStatus::end) << "48 + 16 is the end of the block";
}

TEST(Ntb16Reader, AnEntryWithAZeroEndsTheTable) {
  EXPECT_EQ(status_with(20, 0), NtbStatus::end);
  EXPECT_EQ(status_with(22, 0), NtbStatus::end);
  EXPECT_EQ(status_with(24, 0), NtbStatus::end);
  EXPECT_EQ(status_with(26, 0), NtbStatus::end);
}

TEST(Ntb16Reader, TablesAreFollowed) {
  Bytes block = example();
  block.resize(80, 0);
  store_le16(block.data() + 8, 80);
  store_le16(block.data() + 18, 64);  // the first table's next
  const Bytes table = {'N', 'C', 'M', '0', 16, 0, 0, 0, 32, 0, 14, 0, 0, 0, 0, 0};
  std::copy(table.begin(), table.end(), block.begin() + 64);
  // 12 + 20 + 14 + 15 + 16 = 77 bytes are spent, the third datagram would be the 91st.
  Read read = read_all(block);
  EXPECT_EQ(read.status, NtbStatus::ndp_loop) << "the third datagram is the first again";
  EXPECT_EQ(read.datagrams.size(), 2u);
  store_le16(block.data() + 24, 0);  // the first table has one datagram now
  read = read_all(block);
  EXPECT_EQ(read.status, NtbStatus::end);
  EXPECT_EQ(read.datagrams.size(), 2u);
}

TEST(Ntb16Reader, ALoopOfTablesEnds) {
  Bytes block = example();
  store_le16(block.data() + 18, 12);
  EXPECT_EQ(read_all(block).status, NtbStatus::ndp_loop);
  // Empty tables, so that no datagram spends anything.
  store_le16(block.data() + 20, 0);
  const Read read = read_all(block);
  EXPECT_EQ(read.status, NtbStatus::ndp_loop);
  EXPECT_TRUE(read.datagrams.empty());
}

TEST(Ntb16Reader, NoBlockUnfoldsToMoreThanItself) {
  // 64 KB of entries that all name the same 20 bytes.
  Bytes block(kMaxNtb16Bytes, 0);
  store_le32(block.data(), kNth16Signature);
  store_le16(block.data() + 4, 12);
  store_le16(block.data() + 8, 0xffff);
  store_le16(block.data() + 10, 12);
  store_le32(block.data() + 12, kNdp16Signature);
  store_le16(block.data() + 16, 32768);
  for (size_t at = 20; at + 4 <= 32780; at += 4) {
    store_le16(block.data() + at, 40000);
    store_le16(block.data() + at + 2, 20);
  }
  const Read read = read_all(block);
  EXPECT_EQ(read.status, NtbStatus::ndp_loop);
  EXPECT_EQ(read.datagrams.size(), (65535u - 12 - 32768) / 20);
}

TEST(Ntb16Writer, OneDatagramIsTheSmallestBlock) {
  Bytes buffer(2048, 0xee);
  Ntb16Writer writer;
  NtbLimits limits;
  writer.begin(buffer.data(), buffer.size(), limits);
  const Bytes datagram = frame(15, 1);
  ASSERT_TRUE(writer.append(datagram.data(), datagram.size()));
  EXPECT_EQ(writer.size(), 48u);
  ASSERT_EQ(writer.finish(0x0201), 48u);
  // The frame starts at 14, so that its payload starts at 28: a multiple of 4. The table follows at
  // the next multiple of 4 behind 14 + 15 = 29.
  const Bytes want = {'N', 'C', 'M', 'H', 12, 0, 1, 2,  48, 0,  32, 0,  0,  0, 1, 2,
                      3,   4,   5,   6,   7,  8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0,
                      'N', 'C', 'M', '0', 16, 0, 0, 0,  14, 0,  15, 0,  0,  0, 0, 0};
  EXPECT_EQ(Bytes(buffer.begin(), buffer.begin() + 48), want);
  EXPECT_EQ(buffer[48], 0xee) << "nothing behind the block is touched";
}

TEST(Ntb16Writer, WhatIsWrittenReadsBackUnderAnyLimits) {
  for (size_t divisor : {0, 1, 2, 3, 4, 8, 32, 512}) {
    for (size_t remainder : {0, 1, 2, 5, 31}) {
      for (size_t ndp_alignment : {0, 4, 5, 8, 64, 256}) {
        NtbLimits limits;
        limits.max_bytes = 4096;
        limits.divisor = divisor;
        limits.payload_remainder = remainder;
        limits.ndp_alignment = ndp_alignment;
        Bytes buffer(5000, 0xee);
        Ntb16Writer writer;
        writer.begin(buffer.data(), buffer.size(), limits);
        std::vector<Bytes> sent;
        for (size_t size = 14; writer.datagrams() < 20; size = size * 2 - 13) {
          sent.push_back(frame(size, static_cast<uint8_t>(size)));
          if (!writer.append(sent.back().data(), size)) {
            sent.pop_back();
            break;
          }
        }
        ASSERT_GE(sent.size(), 2u);
        const size_t total = writer.size();
        ASSERT_EQ(writer.finish(7), total);
        ASSERT_LE(total, 4096u);
        EXPECT_EQ(buffer[total], 0xee);
        const Bytes block(buffer.begin(), buffer.begin() + static_cast<long>(total));
        const Read read = read_all(block);
        EXPECT_EQ(read.status, NtbStatus::end);
        EXPECT_EQ(read.datagrams, sent);
        Ntb16Reader reader(block.data(), block.size());
        NtbDatagram d;
        while (reader.next(&d) == NtbStatus::datagram) {
          const size_t modulus = divisor == 0 ? 1 : divisor;
          EXPECT_EQ((d.offset + 14) % modulus, remainder % modulus);
        }
        const size_t alignment = ndp_alignment >= 8 ? ndp_alignment : 4;
        EXPECT_EQ(load_le16(block.data() + 10) % alignment, 0u);
      }
    }
  }
}

TEST(Ntb16Writer, StopsAtTheSizeLimitExactly) {
  // Header 12, the frame at 14 so that 28 is a multiple of 4, 50 bytes up to 64, table 16: 80.
  const Bytes datagram = frame(50, 0);
  Bytes buffer(100);
  for (size_t room : {79u, 80u}) {
    NtbLimits limits;
    limits.max_bytes = room;
    Ntb16Writer writer;
    writer.begin(buffer.data(), buffer.size(), limits);
    EXPECT_EQ(writer.append(datagram.data(), datagram.size()), room == 80u);
    limits.max_bytes = 1000;
    writer.begin(buffer.data(), room, limits);
    EXPECT_EQ(writer.append(datagram.data(), datagram.size()), room == 80u);
  }
}

TEST(Ntb16Writer, StopsAtTheNumberLimit) {
  Bytes buffer(65535);
  const Bytes datagram = frame(14, 0);
  for (size_t limit : {0u, 1u, 3u, 64u, 1000u}) {
    NtbLimits limits;
    limits.max_bytes = buffer.size();
    limits.max_datagrams = limit;
    Ntb16Writer writer;
    writer.begin(buffer.data(), buffer.size(), limits);
    size_t n = 0;
    while (writer.append(datagram.data(), datagram.size())) ++n;
    EXPECT_EQ(n, limit == 0 || limit > 64 ? 64u : limit);
    writer.finish(0);
    EXPECT_EQ(read_all(buffer).datagrams.size(), n);
  }
}

TEST(Ntb16Writer, NoBlockIsLongerThanSixteenBits) {
  Bytes buffer(100000);
  NtbLimits limits;
  limits.max_bytes = buffer.size();
  Ntb16Writer writer;
  writer.begin(buffer.data(), buffer.size(), limits);
  const Bytes datagram = frame(1514, 0);
  while (writer.append(datagram.data(), datagram.size())) {
  }
  const size_t total = writer.finish(0);
  EXPECT_LE(total, 65535u);
  EXPECT_GT(total, 65535u - 1514 - 4 - 3);
}

TEST(Ntb16Writer, WithoutRoomOrBeginNothingIsWritten) {
  Ntb16Writer writer;
  EXPECT_EQ(writer.reserve(14), nullptr);
  EXPECT_EQ(writer.finish(0), 0u);
  Bytes buffer(27, 0xee);
  writer.begin(buffer.data(), buffer.size(), NtbLimits());
  EXPECT_EQ(writer.reserve(14), nullptr);
  EXPECT_EQ(writer.reserve(static_cast<size_t>(-1)), nullptr);
  EXPECT_EQ(writer.finish(0), 0u);
  EXPECT_EQ(buffer, Bytes(27, 0xee));
}

TEST(Ntb16Writer, ABlockWithoutDatagramsIsWellFormed) {
  Bytes buffer(28);
  Ntb16Writer writer;
  writer.begin(buffer.data(), buffer.size(), NtbLimits());
  ASSERT_EQ(writer.finish(0), 28u);
  EXPECT_EQ(read_all(buffer).status, NtbStatus::end);
}

TEST(Ntb16Writer, GapsHoldNothingOfWhatWasThereBefore) {
  Bytes buffer(2048, 0xee);
  NtbLimits limits;
  limits.divisor = 64;
  Ntb16Writer writer;
  writer.begin(buffer.data(), buffer.size(), limits);
  const Bytes datagram(15, 0x11);
  ASSERT_TRUE(writer.append(datagram.data(), datagram.size()));
  ASSERT_TRUE(writer.append(datagram.data(), datagram.size()));
  const size_t total = writer.finish(0);
  EXPECT_EQ(std::count(buffer.begin(), buffer.begin() + static_cast<long>(total), 0xee), 0);
}

TEST(NtbSequence, TellsHowManyAreMissing) {
  NtbSequence sequence;
  EXPECT_EQ(sequence.missing_before(65534), 0);
  EXPECT_EQ(sequence.missing_before(65535), 0);
  EXPECT_EQ(sequence.missing_before(0), 0);
  EXPECT_EQ(sequence.missing_before(4), 3);
  EXPECT_EQ(sequence.missing_before(4), 65535);
  sequence.reset();
  EXPECT_EQ(sequence.missing_before(100), 0);
}

TEST(NtbParameters, LayoutIsThatOfTheStandard) {
  NtbParameters p;
  p.in_max_bytes = 0x04030201;
  p.in_divisor = 0x0605;
  p.in_payload_remainder = 0x0807;
  p.in_ndp_alignment = 0x0a09;
  p.out_max_bytes = 0x14131211;
  p.out_divisor = 0x1615;
  p.out_payload_remainder = 0x1817;
  p.out_ndp_alignment = 0x1a19;
  p.out_max_datagrams = 0x1c1b;
  uint8_t bytes[NtbParameters::kBytes];
  encode(p, bytes);
  const Bytes want = {28,   0,    1,    0,    1,    2,    3,    4,    5,    6,
                      7,    8,    9,    10,   0,    0,    0x11, 0x12, 0x13, 0x14,
                      0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c};
  EXPECT_EQ(Bytes(bytes, bytes + sizeof(bytes)), want);
  NtbParameters back;
  ASSERT_TRUE(decode(bytes, sizeof(bytes), &back));
  EXPECT_EQ(back.out_max_datagrams, 0x1c1b);
  EXPECT_EQ(back.in_max_bytes, 0x04030201u);
  EXPECT_FALSE(decode(bytes, sizeof(bytes) - 1, &back));
  bytes[0] = 27;
  EXPECT_FALSE(decode(bytes, sizeof(bytes), &back));
}

TEST(NtbParameters, LimitsAreThoseOfTheDirection) {
  NtbParameters p;
  p.in_max_bytes = 2048;
  p.out_max_bytes = 4096;
  p.out_max_datagrams = 5;
  p.in_ndp_alignment = 8;
  EXPECT_EQ(in_limits(p).max_bytes, 2048u);
  EXPECT_EQ(in_limits(p).max_datagrams, 0u);
  EXPECT_EQ(in_limits(p).ndp_alignment, 8u);
  EXPECT_EQ(out_limits(p).max_bytes, 4096u);
  EXPECT_EQ(out_limits(p).max_datagrams, 5u);
}

TEST(NtbStatus, EveryOneHasWords) {
  for (int i = 0; i <= static_cast<int>(NtbStatus::unterminated); ++i) {
    EXPECT_STRNE(describe(static_cast<NtbStatus>(i)), "unknown");
  }
}

}  // namespace
}  // namespace millrace::link
