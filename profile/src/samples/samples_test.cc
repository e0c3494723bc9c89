// SPDX-License-Identifier: Apache-2.0
#include "millrace/profile/samples.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "millrace/link/bytes.h"

namespace millrace::profile {
namespace {

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<uint8_t> bytes_of_hex(const std::string& hex) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

SampleSet parsed(const std::vector<uint8_t>& bytes, ReadOptions options = {}) {
  SampleSet out;
  const Failure failure = parse_samples("in", bytes, options, &out);
  EXPECT_FALSE(failure) << (failure ? failure->message : "");
  return out;
}

std::string refused(const std::vector<uint8_t>& bytes, ReadOptions options = {}) {
  SampleSet out;
  const Failure failure = parse_samples("in", bytes, options, &out);
  EXPECT_TRUE(failure);
  return failure ? failure->message : "";
}

struct Vector {
  std::map<std::string, std::string> fields;
  std::vector<Sample> samples;
  std::vector<uint8_t> bytes;
};

std::map<std::string, Vector> vectors() {
  std::ifstream file(MILLRACE_SOURCE_DIR "/spec/vectors/samples.txt");
  std::map<std::string, Vector> out;
  std::string head, records, hex;
  while (std::getline(file, head) && std::getline(file, records) && std::getline(file, hex)) {
    std::istringstream words(head);
    std::string name, word;
    words >> name;
    Vector vector;
    while (words >> word) {
      const size_t equals = word.find('=');
      vector.fields[word.substr(0, equals)] = word.substr(equals + 1);
    }
    std::istringstream list(records.substr(7));
    while (list >> word) {
      std::replace(word.begin(), word.end(), ':', ' ');
      std::istringstream numbers(word);
      Sample sample;
      numbers >> sample.pc >> sample.lr >> sample.exception >> sample.weight >> sample.stall;
      vector.samples.push_back(sample);
    }
    vector.bytes = bytes_of_hex(hex);
    out[name] = vector;
  }
  return out;
}

TEST(SampleFile, EveryVectorIsReadAndWrittenByteForByte) {
  const auto all = vectors();
  ASSERT_EQ(all.size(), 4u);
  for (const auto& [name, vector] : all) {
    SCOPED_TRACE(name);
    SampleSet set;
    const Failure failure = parse_samples(name, vector.bytes, {}, &set);
    if (vector.samples.empty()) {
      EXPECT_NE(failure->message.find("no samples"), std::string::npos);
    } else {
      ASSERT_FALSE(failure) << failure->message;
    }
    const auto number = [&vector = vector](const char* field) {
      return std::stoull(vector.fields.at(field));
    };
    EXPECT_EQ(set.core_khz, number("khz"));
    EXPECT_EQ(set.interval_cycles, number("interval"));
    EXPECT_EQ(set.jitter_permille, number("jitter"));
    EXPECT_EQ(set.lost, number("lost"));
    EXPECT_EQ(set.run_cycles, number("run"));
    EXPECT_EQ(set.handler_cycles, number("handler"));
    EXPECT_EQ(set.events, number("events"));
    EXPECT_EQ(static_cast<uint64_t>(set.unit), number("unit"));
    EXPECT_EQ(static_cast<uint64_t>(set.identity.kind), number("id_kind"));
    EXPECT_EQ(set.identity.bytes, bytes_of_hex(vector.fields.at("id")));
    ASSERT_EQ(set.samples.size(), vector.samples.size());
    for (size_t i = 0; i < set.samples.size(); ++i) {
      EXPECT_EQ(set.samples[i].pc, vector.samples[i].pc);
      EXPECT_EQ(set.samples[i].lr, vector.samples[i].lr);
      EXPECT_EQ(set.samples[i].exception, vector.samples[i].exception);
      EXPECT_EQ(set.samples[i].weight, vector.samples[i].weight);
      EXPECT_EQ(set.samples[i].stall, vector.samples[i].stall);
    }
    EXPECT_EQ(sample_file(set), vector.bytes);
  }
}

TEST(SampleFile, EveryTruncationIsRefusedAndPartOfTheRecordsTakenWhenAsked) {
  const Vector vector = vectors().at("everything");
  for (size_t size = 1; size < vector.bytes.size(); ++size) {
    std::vector<uint8_t> cut(vector.bytes.begin(),
                             vector.bytes.begin() + static_cast<ptrdiff_t>(size));
    refused(cut, {SampleFormat::sample_file, false});
  }
  const std::vector<uint8_t> one(vector.bytes.begin(), vector.bytes.begin() + 128 + 20 + 7);
  const SampleSet set = parsed(one, {SampleFormat::automatic, true});
  EXPECT_EQ(set.samples.size(), 1u);
  ASSERT_EQ(set.notes.size(), 1u);
  EXPECT_EQ(set.notes[0], "cut off: 1 of 2 records are there, unchecked");
}

TEST(SampleFile, EveryFlippedBitIsFound) {
  const Vector vector = vectors().at("example");
  for (size_t bit = 0; bit < vector.bytes.size() * 8; ++bit) {
    std::vector<uint8_t> bad = vector.bytes;
    bad[bit / 8] = static_cast<uint8_t>(bad[bit / 8] ^ (1u << bit % 8));
    refused(bad, {SampleFormat::sample_file, false});
  }
}

TEST(SampleFile, BytesBehindTheLastRecordAreRefused) {
  std::vector<uint8_t> bytes = vectors().at("example").bytes;
  bytes.push_back(0);
  EXPECT_NE(refused(bytes).find("1 bytes behind the last record"), std::string::npos);
}

TEST(RawSamples, ThumbBitIsDroppedAndTheUnusedEndOfTheBufferLeftOut) {
  std::vector<uint8_t> bytes(24);
  link::store_le32(&bytes[0], 0x60001235);
  link::store_le32(&bytes[8], 0x20);  // a 0 before it is kept: only the end can be unused
  const SampleSet set = parsed(bytes);
  EXPECT_EQ(set.format, "raw");
  ASSERT_EQ(set.samples.size(), 3u);
  EXPECT_EQ(set.samples[0].pc, 0x60001234u);
  EXPECT_EQ(set.samples[2].pc, 0x20u);
  EXPECT_EQ(set.notes.size(), 1u);
}

TEST(RawSamples, APartOfASampleIsACutOffFile) {
  EXPECT_NE(refused({0x34, 0x12, 0x00, 0x60, 0x34}).find("5 bytes"), std::string::npos);
  EXPECT_EQ(parsed({0x34, 0x12, 0x00, 0x60, 0x34}, {SampleFormat::raw_u32, true}).samples.size(),
            1u);
  EXPECT_NE(refused({1, 2, 3, 4}, {SampleFormat::raw_pc_lr, false}).find("8-byte"),
            std::string::npos);
}

TEST(RawSamples, CallersAreThreeWords) {
  std::vector<uint8_t> bytes(36);
  link::store_le32(&bytes[0], 0x60001234);
  link::store_le32(&bytes[4], 0x60005679);
  link::store_le32(&bytes[8], 0x21000081);  // a whole xPSR: bits 8..0 count
  link::store_le32(&bytes[12], 0x60001236);
  const SampleSet set = parsed(bytes, {SampleFormat::raw_callers, false});
  ASSERT_EQ(set.samples.size(), 2u);
  EXPECT_TRUE(set.has_lr && set.has_exception);
  EXPECT_EQ(set.samples[0].lr, 0x60005679u);
  EXPECT_EQ(set.samples[0].exception, 0x81u);
  EXPECT_EQ(set.samples[1].pc, 0x60001236u);
  EXPECT_NE(refused({1, 2, 3, 4}, {SampleFormat::raw_callers, false}).find("12-byte"),
            std::string::npos);
}

TEST(HexText, OneToThreeNumbersALineAndCommentsAndAHeading) {
  const SampleSet set =
      parsed(bytes_of("pc,lr,exception\n0x60001235,0x60005679,0x0F\r\n"
                      "# comment\n60001000 60002001 # more\n\n"));
  ASSERT_EQ(set.samples.size(), 2u);
  EXPECT_EQ(set.samples[0].pc, 0x60001234u);
  EXPECT_EQ(set.samples[0].lr, 0x60005679u);
  EXPECT_EQ(set.samples[0].exception, 15u);
  EXPECT_TRUE(set.has_lr);
}

TEST(HexText, WordsOfADebuggersDumpAreAllAddresses) {
  const SampleSet set =
      parsed(bytes_of("0x20001000 <buffer>:\t0x60001235\t0x60001236\t0x60001238\t0x6000123a\n"
                      "0x20001010 <buffer+16>:\t0x60001234\t0x00000000\n"));
  EXPECT_EQ(set.samples.size(), 5u);
  EXPECT_FALSE(set.has_lr);
}

TEST(HexText, AWordThatIsNoNumberIsNamedWithItsLine) {
  EXPECT_NE(refused(bytes_of("60001000\nxyz\n")).find("line 2: xyz"), std::string::npos);
  EXPECT_NE(refused(bytes_of("60001000\n123456789\n")).find("line 2"), std::string::npos);
}

TEST(Orbuculum, HardwareEventsGivePcsAndSleep) {
  const SampleSet set =
      parsed(bytes_of("0,0,17\n2,120,0x60001234\n1,5,Enter,External,3\n2,99,**SLEEP**\n"));
  EXPECT_EQ(set.format, "orbuculum");
  ASSERT_EQ(set.samples.size(), 2u);
  EXPECT_EQ(set.samples[0].pc, 0x60001234u);
  EXPECT_EQ(set.samples[1].pc, kPcSleeping);
}

TEST(Orbuculum, TopTableGivesNamesWithCounts) {
  const SampleSet set = parsed(bytes_of(
      R"({"timestamp":1,"elements":9,"toptable":[{"count":5,"filename":"a.c","function":"main"},)"
      R"({"count":4,"filename":"","function":"** SLEEPING **"}],"exceptions":[]})"
      "\n"));
  ASSERT_EQ(set.named.size(), 1u);
  EXPECT_EQ(set.named[0].name, "main");
  EXPECT_EQ(set.named[0].count, 5u);
  ASSERT_EQ(set.samples.size(), 1u);
  EXPECT_EQ(set.samples[0].weight, 4u);
  refused(bytes_of("{\"toptable\":[{\"count\":-1,\"function\":\"x\"}]}"));
  refused(bytes_of("{\"toptable\":[{\"count\":1,"));
}

TEST(ProbeRs, SharesBecomeCountsAgain) {
  // 25.0 % and 50.0 % of 1,000.
  const SampleSet set =
      parsed(bytes_of("Samples 1000\nsrc/main.rs:7\n                 core::fmt::write - 25.0%\n"
                      "                         UNKNOWN - 0000A5C4 - 50.0%\n"));
  EXPECT_EQ(set.format, "probe-rs");
  ASSERT_EQ(set.named.size(), 1u);
  EXPECT_EQ(set.named[0].name, "core::fmt::write");
  EXPECT_EQ(set.named[0].count, 250u);
  ASSERT_EQ(set.samples.size(), 1u);
  EXPECT_EQ(set.samples[0].pc, 0xA5C4u);
  EXPECT_EQ(set.samples[0].weight, 500u);
}

TEST(ZephyrPerf, StacksAreInnermostFirstAmongShellText) {
  const std::string text =
      "uart:~$ perf printbuf\nPerf buf length 7\n0000000000000003\n0000000060001234\n"
      "0000000060002345\n0000000060003457\n0000000000000002\n0000000060001236\n"
      "0000000060003457\nuart:~$\n";
  const SampleSet set = parsed(bytes_of(text));
  ASSERT_EQ(set.samples.size(), 2u);
  EXPECT_EQ(set.samples[0].pc, 0x60001234u);
  ASSERT_EQ(set.stacks.size(), 2u);
  EXPECT_EQ(set.stacks[0].callers, (std::vector<uint32_t>{0x60002345, 0x60003457}));
  EXPECT_EQ(set.stacks[1].sample, 1u);
  const std::string cut = text.substr(0, text.find("0000000060001236"));
  EXPECT_NE(refused(bytes_of(cut)).find("5 of 7 words"), std::string::npos);
  EXPECT_EQ(parsed(bytes_of(cut), {SampleFormat::automatic, true}).samples.size(), 1u);
}

// The log of a serial terminal: Zephyr's shell goes back, erases the line, colours it.
TEST(ZephyrPerf, ControlSequencesOfATerminalAreNoText) {
  const std::string erase = "\x1b[8D\x1b[J", colour = "\x1b[1;32m";
  const SampleSet set = parsed(bytes_of(
      colour + "uart:~$ \x1b[mperf printbuf\r\n" + erase + "Perf buf length 2\r\n" + erase +
      "0000000000000001\r\n" + erase + "0000000060001234\r\n" + colour + "uart:~$ \x1b[m"));
  EXPECT_EQ(set.format, "zephyr-perf");
  ASSERT_EQ(set.samples.size(), 1u);
  EXPECT_EQ(set.samples[0].pc, 0x60001234u);
  EXPECT_EQ(parsed(bytes_of("60001234\x1b[")).samples.size(), 1u);  // cut off within one
  EXPECT_EQ(parsed(bytes_of("60001234\x1b")).samples.size(), 1u);
}

std::vector<uint8_t> gmon_file() {
  std::vector<uint8_t> bytes(20 + 1 + 32 + 8 + 13);
  std::copy_n("gmon", 4, bytes.begin());
  link::store_le32(&bytes[4], 1);
  link::store_le32(&bytes[21], 0x60001000);  // four bins of 4 bytes
  link::store_le32(&bytes[25], 0x60001010);
  link::store_le32(&bytes[29], 4);
  link::store_le32(&bytes[33], 100);
  link::store_le16(&bytes[53 + 2], 7);
  link::store_le16(&bytes[53 + 6], 9);
  bytes[61] = 1;  // an arc
  return bytes;
}

TEST(Gmon, BinsBecomeWeightedSamplesAtTheirStart) {
  const SampleSet set = parsed(gmon_file());
  ASSERT_EQ(set.samples.size(), 2u);
  EXPECT_EQ(set.samples[0].pc, 0x60001004u);
  EXPECT_EQ(set.samples[0].weight, 7u);
  EXPECT_EQ(set.samples[1].pc, 0x6000100Cu);
  EXPECT_EQ(set.samples[1].weight, 9u);
}

TEST(Gmon, EveryTruncationEndsInASentenceOrBetweenRecords) {
  const std::vector<uint8_t> whole = gmon_file();
  for (size_t size = 4; size < whole.size(); ++size) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    SampleSet out;
    const Failure failure = parse_samples("in", cut, {}, &out);
    EXPECT_EQ(failure.has_value(), size != 61) << size;  // 61: in front of the arc
  }
}

// The worked example of spec/trace.md behind a header: base 0, the block at 0x60002100 from cycle
// 5, its line missed with 504 cycles, the block again at 515. Then an exception at 520 (delta 5).
std::vector<uint8_t> trace_file(const char* records) {
  std::vector<uint8_t> bytes(52);
  std::copy_n("MRTRACE\x02", 8, bytes.begin());
  link::store_le32(&bytes[8], 600000);
  bytes[20] = 0xAB;
  for (const uint8_t byte : bytes_of_hex(records)) bytes.push_back(byte);
  return bytes;
}

constexpr const char* kTraceExample =
    "818481800C"
    "02020205"
    "12"
    "90848030"
    "8008"
    "F80300"
    "00"
    "FE03"
    "07"
    "0F"
    "05";

TEST(Trace, CyclesGoToBlocksAndMissesToTheirLine) {
  const SampleSet set = parsed(trace_file(kTraceExample));
  EXPECT_EQ(set.unit, WeightUnit::cycles);
  EXPECT_EQ(set.identity.bytes.size(), 20u);
  EXPECT_EQ(set.run_cycles, 520u);
  uint64_t cycles = 0, stall = 0;
  for (const Sample& sample : set.samples) {
    EXPECT_GE(sample.pc, 0x60002100u);
    EXPECT_LE(sample.pc, 0x60002102u);
    cycles += sample.weight;
    stall += sample.stall;
  }
  EXPECT_EQ(cycles, 515u);  // from 5 to 520
  EXPECT_EQ(stall, 504u);
}

// After the 5 cycles of the first block 2^53 - 5 more are the most that may come.
TEST(Trace, TimesBeyond2To53CyclesAreRefused) {
  const std::string block = "818481800C02020205", most = "00FBFFFFFFFFFFFF0F";
  EXPECT_EQ(parsed(trace_file((block + most).c_str())).run_cycles, uint64_t{1} << 53);
  for (const std::string& rest : {most + "0001", std::string("00808080808080808010"),
                                  std::string("128480803000FFFFFFFFFFFFFF7F00")}) {
    EXPECT_NE(refused(trace_file((block + rest).c_str()))
                  .find("a time of more than 9007199254740992 cycles"),
              std::string::npos)
        << rest;
  }
}

// 520 cycles at 600 MHz, then 480 at 300 MHz: 1,000 cycles in 0.8667 + 1.6 us.
TEST(Trace, TheClockIsTheMeanOfTheRun) {
  const std::string records = std::string(kTraceExample) + "17E0A71200" + "1300E003";
  const SampleSet set = parsed(trace_file(records.c_str()));
  EXPECT_EQ(set.run_cycles, 1000u);
  EXPECT_EQ(set.core_khz, 405405u);
  EXPECT_EQ(parsed(trace_file(kTraceExample)).core_khz, 600000u);
}

TEST(SampleFormats, NamesGoBothWays) {
  for (const std::string& name : format_names()) {
    SampleFormat format;
    ASSERT_TRUE(format_of(name, &format));
    EXPECT_EQ(name_of(format), name);
  }
  SampleFormat format;
  EXPECT_FALSE(format_of("perf.data", &format));
}

}  // namespace
}  // namespace millrace::profile
