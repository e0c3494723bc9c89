// SPDX-License-Identifier: Apache-2.0
#include "millrace/capture/capture_reader.h"

#include <gmock/gmock.h>

#include <random>

#include "millrace/capture/capture_analysis.h"
#include "readers.h"
#include "testing/capture_builder.h"

namespace millrace::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
  std::vector<CaptureRecord> records;  // without their data
  std::vector<Bytes> data;
  CaptureCounters counters;
};

Read read_all(const Bytes& file, size_t piece = SIZE_MAX) {
  MemorySource source(file, piece);
  auto reader = read_capture(&source, "test");
  Read out;
  if (!reader) return out;
  CaptureRecord record;
  while ((*reader)->next(&record)) {
    out.records.push_back(record);
    out.data.emplace_back(record.data, record.data + record.size);
  }
  out.counters = (*reader)->counters();
  return out;
}

std::string refusal(const Bytes& file) {
  MemorySource source(file);
  const auto reader = read_capture(&source, "test");
  return reader ? "" : reader.error().message;
}

const Bytes kHello = {'h', 'e', 'l', 'l', 'o'};

class BothOrders : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Orders, BothOrders, testing::Bool());

TEST_P(BothOrders, PcapGivesTimesAndLengths) {
  const Bytes file = pcap_file(220, {{1'500'000'001'000, kHello, 0}, {2'000, {}, 9}}, GetParam());
  const Read read = read_all(file, 7);
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_EQ(read.records[0].time_ns, 1'500'000'001'000);
  EXPECT_EQ(read.records[0].link_type, 220);
  EXPECT_EQ(read.records[0].is_big_endian, GetParam());
  EXPECT_EQ(read.data[0], kHello);
  EXPECT_EQ(read.records[1].original_size, 9u);
  EXPECT_EQ(read.counters.records_cut, 1u);
  EXPECT_EQ(read.counters.bytes, file.size());
  EXPECT_FALSE(read.counters.cut_short);
}

TEST_P(BothOrders, NanosecondPcapKeepsThem) {
  const Read read = read_all(pcap_file(189, {{1'000'000'123, kHello, 0}}, GetParam(), true));
  ASSERT_EQ(read.records.size(), 1u);
  EXPECT_EQ(read.records[0].time_ns, 1'000'000'123);
}

TEST_P(BothOrders, PcapngTakesResolutionAndOffsetOfEachInterface) {
  const bool big = GetParam();
  const Bytes nano = option(9, {9}, big);
  const Bytes binary =
      joined({option(9, {0x80 | 10}, big), option(14, ByteWriter(big).u64(100).bytes, big)});
  const Bytes file =
      joined({section_block(big), interface_block(220, {}, big), interface_block(189, nano, big),
              interface_block(249, binary, big), packet_block(0, 5, kHello, big),
              packet_block(1, 5, kHello, big), packet_block(2, 2048, kHello, big)});
  const Read read = read_all(file, 3);
  ASSERT_EQ(read.records.size(), 3u);
  EXPECT_EQ(read.records[0].time_ns, 5000);
  EXPECT_EQ(read.records[1].time_ns, 5);
  // 2048 / 2^10 s and 100 s.
  EXPECT_EQ(read.records[2].time_ns, 102'000'000'000);
  EXPECT_EQ(read.records[1].link_type, 189);
  EXPECT_EQ(read.records[2].is_big_endian, big);
}

TEST(PcapngReader, SectionsOfOtherByteOrderFollowEachOther) {
  const Bytes file = joined(
      {pcapng_file(220, {{1000, kHello, 0}}, false), pcapng_file(189, {{2000, kHello, 0}}, true)});
  const Read read = read_all(file);
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_FALSE(read.records[0].is_big_endian);
  EXPECT_TRUE(read.records[1].is_big_endian);
  EXPECT_EQ(read.records[1].time_ns, 2000);
  EXPECT_EQ(read.records[1].interface, 1u);
}

TEST(PcapngReader, OldAndSimplePacketsAreRead) {
  const Bytes old = ByteWriter().u16(0).u16(3).u32(0).u32(7).u32(5).u32(5).raw(kHello).bytes;
  const Bytes simple = ByteWriter().u32(5).raw(kHello).bytes;
  const Read read =
      read_all(joined({section_block(), interface_block(220), block(2, old), block(3, simple)}));
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_EQ(read.records[0].time_ns, 7000);
  EXPECT_EQ(read.data[1], kHello);
  EXPECT_FALSE(read.records[1].has_time);
  EXPECT_EQ(read.counters.dropped, 3u);
  EXPECT_EQ(read.counters.records_without_time, 1u);
}

TEST(PcapngReader, CountsDropsOfStatisticsAndPacketsOnce) {
  const auto statistics = [](uint64_t dropped) {
    return block(5, ByteWriter()
                        .u32(0)
                        .u64(0)
                        .raw(option(5, ByteWriter().u64(dropped).bytes))
                        .raw(option(0, {}))
                        .bytes);
  };
  const Bytes file = joined(
      {section_block(), interface_block(220), statistics(2), block(4, {1, 2, 3, 4}),
       packet_block(0, 1, kHello, false, option(4, ByteWriter().u64(10).bytes)), statistics(5)});
  const Read read = read_all(file);
  // Packets tell what was lost before them, statistics from the beginning: the 10 hold the 5.
  EXPECT_EQ(read.counters.dropped, 10u);
  EXPECT_EQ(read.counters.blocks_skipped, 1u);
}

TEST(PcapngReader, DamageIsNamedWithItsPlace) {
  const Bytes head = joined({section_block(), interface_block(220)});
  Bytes twice = joined({head, packet_block(0, 1, kHello)});
  twice[twice.size() - 4] = 0;
  EXPECT_THAT(read_all(twice).counters.damage,
              HasSubstr("the two lengths of a block differ at byte 48"));
  const Bytes absent = joined({head, packet_block(1, 1, kHello)});
  EXPECT_THAT(read_all(absent).counters.damage, HasSubstr("an interface that is not described"));
  const Bytes odd = joined({head, ByteWriter().u32(6).u32(33).zeros(60).bytes});
  EXPECT_THAT(read_all(odd).counters.damage, HasSubstr("a block claims 33 bytes"));
  const Bytes huge = joined({head, ByteWriter().u32(6).u32(0xfffffffc).zeros(60).bytes});
  EXPECT_THAT(read_all(huge).counters.damage, HasSubstr("a block claims 4294967292 bytes"));
}

TEST(PcapReader, AbsurdLengthEndsTheFileWithASentence) {
  Bytes file = pcap_file(220, {{0, kHello, 0}, {0, kHello, 0}});
  file[24 + 16 + 5 + 8 + 3] = 0xff;  // of the second record's captured length
  const Read read = read_all(file);
  EXPECT_EQ(read.records.size(), 1u);
  EXPECT_THAT(read.counters.damage, HasSubstr("a record claims 4278190085 bytes at byte 45"));
}

TEST(PcapReader, LongRecordsAreKeptInPart) {
  const Bytes megabytes(3u << 20, 7);
  const Read read = read_all(pcap_file(220, {{0, megabytes, 0}, {1000, kHello, 0}}), 100'000);
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_EQ(read.data[0].size(), kMaxKeptBytes);
  EXPECT_EQ(read.records[0].original_size, megabytes.size());
  EXPECT_EQ(read.data[1], kHello);
  EXPECT_EQ(read.counters.records_too_long, 1u);
}

TEST(CaptureReader, EveryCutGivesTheRecordsBeforeIt) {
  const std::vector<TestRecord> records(3, {1000, kHello, 0});
  for (const Bytes& file : {pcap_file(220, records), pcapng_file(220, records)}) {
    const size_t head = file[0] == 0x0a ? 28 + 20 : 24;
    const size_t each = (file.size() - head) / 3;
    for (size_t size = 5; size <= file.size(); ++size) {
      const Read read = read_all(Bytes(file.begin(), file.begin() + static_cast<long>(size)));
      const size_t whole = size < head ? 0 : (size - head) / each;
      EXPECT_EQ(read.records.size(), whole) << size;
      const bool at_boundary =
          size >= head ? (size - head) % each == 0 : file[0] == 0x0a && size == 28;
      EXPECT_EQ(read.counters.cut_short, !at_boundary) << size;
      EXPECT_EQ(read.counters.damage, "") << size;
    }
  }
}

TEST(CaptureReader, RefusesWhatIsNoCapture) {
  EXPECT_THAT(refusal({}), HasSubstr("is empty"));
  EXPECT_THAT(refusal({'a', 'b'}), HasSubstr("is no pcap, no pcapng"));
  EXPECT_THAT(refusal({0x7f, 'E', 'L', 'F', 2, 1, 1}), HasSubstr("is no pcap, no pcapng"));
  EXPECT_THAT(refusal({0x1f, 0x8b, 8, 0, 0}), HasSubstr("zcat test | millrace turnaround -"));
  EXPECT_THAT(refusal({0x28, 0xb5, 0x2f, 0xfd, 0}), HasSubstr("zstd"));
}

TEST(CaptureReader, ResolutionsComeToNanoseconds) {
  EXPECT_EQ(to_ns(5, 0), 5'000'000'000);
  EXPECT_EQ(to_ns(5, 6), 5000);
  EXPECT_EQ(to_ns(1234, 12), 1);
  EXPECT_EQ(to_ns(UINT64_MAX, 127), 0);
  EXPECT_EQ(to_ns(3, 0x80 | 1), 1'500'000'000);
  EXPECT_EQ(to_ns(UINT64_MAX, 0x80 | 127), 0);
}

TEST(CaptureReader, RandomFlipsNeverHurt) {
  std::vector<TestRecord> records;
  for (uint16_t i = 0; i < 20; ++i) {
    add_transfer(&records, 1, 2, i * 100, i * 100 + 10, ntb(i, {ping_frame(false, 1, i)}));
    add_transfer(&records, 2, 0x82, i * 100, i * 100 + 60, ntb(i, {ping_frame(true, 1, i)}), 16384);
  }
  std::mt19937 random(1);
  for (const Bytes& file : {pcap_file(220, records), pcapng_file(220, records)}) {
    for (int round = 0; round < 300; ++round) {
      Bytes damaged = file;
      for (size_t flips = 1 + random() % 4; flips != 0; --flips) {
        damaged[random() % damaged.size()] ^= static_cast<uint8_t>(1u << random() % 8);
      }
      MemorySource source(damaged, 1 + random() % 4096);
      const auto analysis = analyse(&source, "test", {});
      if (!analysis) continue;
      EXPECT_LE((*analysis)->file.bytes, damaged.size());
    }
  }
}

}  // namespace
}  // namespace millrace::capture
