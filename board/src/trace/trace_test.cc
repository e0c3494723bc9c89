// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <fstream>
#include <sstream>

#include "millrace/board/trace.h"

namespace millrace::board {
namespace {

// What a sink was told, as text.
class Told final : public TraceSink {
 public:
  void block(const TracedBlock& b, uint64_t at) override {
    text += fmt::format("{}: {:x} {} {} {}\n", at, b.address, b.halfwords, b.instructions,
                        b.issue_cycles);
  }
  void wait(const TracedWait& w, uint64_t at) override {
    text += fmt::format("{}: wait {} {} {} {:x} {} {:x}\n", at, static_cast<int>(w.cause),
                        static_cast<int>(w.memory), static_cast<int>(w.access), w.line, w.stall,
                        w.evicted);
  }
  void event(TraceEvent event, uint32_t argument, uint64_t at) override {
    text += fmt::format("{}: event {} {}\n", at, static_cast<int>(event), argument);
  }
  std::string text;
};

void tell(TraceSink& sink) {
  sink.block({0x60002100, 2, 2, 2}, 1005);
  sink.wait(
      {TracedMemory::flash, TracedAccess::fetch, TracedCause::miss, 0x60002100, 504, 0x60006100},
      1005);
  sink.block({0x60002100, 2, 2, 2}, 1515);
  sink.event(TraceEvent::exception_taken, 15, 1520);
  sink.block({0x20, 3, 2, 2}, 1540);
  sink.wait(
      {TracedMemory::ocram, TracedAccess::store, TracedCause::miss, 0x20200040, 0, 0x20200040},
      1541);
  sink.wait({TracedMemory::psram, TracedAccess::load, TracedCause::queue, 0x70000020, 77, 0}, 1542);
  sink.block({0x60002100, 4, 3, 3}, 1600);  // the code changed
  sink.block({0x20, 3, 2, 2}, 1600);
}

std::vector<uint8_t> encoded() {
  std::vector<uint8_t> bytes;
  TraceHeader header{396000, 1000, {1, 2, 3}};
  TraceWriter writer(header, [&bytes](std::span<const uint8_t> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  tell(writer);
  writer.finish();
  return bytes;
}

TEST(Trace, WorkedExampleOfTheSpecification) {
  // spec/trace.md, byte by byte.
  const std::vector<uint8_t> example = {0x81, 0x84, 0x81, 0x80, 0x0C, 2,    2,    2, 5, 0x12, 0x90,
                                        0x84, 0x80, 0x30, 0x80, 0x08, 0xF8, 0x03, 0, 0, 0xFE, 0x03};
  const std::vector<uint8_t> bytes = encoded();
  ASSERT_GE(bytes.size(), 52 + example.size());
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin() + 52,
                                 bytes.begin() + 52 + static_cast<long>(example.size())),
            example);
}

std::vector<uint8_t> from_hex(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// The records of a vector, told to `sink`.
void tell_vector(const std::string& records, TraceSink& sink) {
  std::istringstream list(records);
  std::string word;
  while (list >> word) {
    std::vector<uint64_t> n;
    std::istringstream numbers(word.substr(2));
    for (std::string one; std::getline(numbers, one, ':');) n.push_back(std::stoull(one));
    const auto small = [&](size_t i) { return static_cast<uint32_t>(n.at(i)); };
    if (word[0] == 'b') {
      sink.block({small(0), small(1), small(2), small(3)}, n.at(4));
    } else if (word[0] == 'w') {
      sink.wait({static_cast<TracedMemory>(n.at(1)), static_cast<TracedAccess>(n.at(2)),
                 static_cast<TracedCause>(n.at(0)), small(3), small(4), small(5)},
                n.at(6));
    } else {
      sink.event(static_cast<TraceEvent>(n.at(0)), small(1), n.at(2));
    }
  }
}

TEST(Trace, EveryVectorIsWrittenAndReadByteForByte) {
  std::ifstream file(MILLRACE_SOURCE_DIR "/spec/vectors/trace.txt");
  std::string head, records, hex;
  int vectors = 0;
  while (std::getline(file, head) && std::getline(file, records) && std::getline(file, hex)) {
    SCOPED_TRACE(head);
    ++vectors;
    std::istringstream words(head);
    std::string name, identity;
    TraceHeader header, found;
    words >> name >> header.core_khz >> header.base >> identity;
    const std::vector<uint8_t> id = from_hex(identity == "-" ? "" : identity);
    std::copy(id.begin(), id.end(), header.build_id.begin());
    const std::vector<uint8_t> bytes = from_hex(hex);
    Told expected, told;
    tell_vector(records, expected);
    bool is_cut_off = false;
    EXPECT_EQ(read_trace(bytes, &found, told, &is_cut_off), "");
    EXPECT_EQ(told.text, expected.text);
    EXPECT_EQ(found.core_khz, header.core_khz);
    EXPECT_EQ(found.base, header.base);
    EXPECT_EQ(found.build_id, header.build_id);
    EXPECT_EQ(is_cut_off, name.ends_with("_cut"));
    if (is_cut_off) continue;
    std::vector<uint8_t> written;
    TraceWriter writer(header, [&written](std::span<const uint8_t> piece) {
      written.insert(written.end(), piece.begin(), piece.end());
    });
    tell_vector(records, writer);
    writer.finish();
    EXPECT_EQ(written, bytes);
  }
  EXPECT_EQ(vectors, 6);
}

TEST(Trace, ReaderGivesBackWhatTheWriterWasTold) {
  Told expected, told;
  tell(expected);
  TraceHeader header;
  bool cut_off = true;
  EXPECT_EQ(read_trace(encoded(), &header, told, &cut_off), "");
  EXPECT_FALSE(cut_off);
  EXPECT_EQ(told.text, expected.text);
  EXPECT_EQ(header.core_khz, 396000u);
  EXPECT_EQ(header.base, 1000u);
  EXPECT_EQ(header.build_id[2], 3);
}

TEST(Trace, EveryTruncationIsReadUpToTheCut) {
  const std::vector<uint8_t> bytes = encoded();
  Told whole;
  tell(whole);
  for (size_t size = 8; size < bytes.size(); ++size) {
    Told told;
    TraceHeader header;
    bool cut_off = false;
    EXPECT_EQ(read_trace({bytes.data(), size}, &header, told, &cut_off), "") << size;
    EXPECT_EQ(whole.text.rfind(told.text, 0), 0u) << size;
  }
}

TEST(Trace, EveryBitFlipIsASentenceOrATrace) {
  const std::vector<uint8_t> bytes = encoded();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<uint8_t> flipped = bytes;
    flipped[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    Told told;
    TraceHeader header;
    bool cut_off = false;
    const std::string error = read_trace(flipped, &header, told, &cut_off);
    EXPECT_EQ(error.find('\n'), std::string::npos);
    if (bit < 64) {
      EXPECT_NE(error, "") << bit;
    }
  }
}

}  // namespace
}  // namespace millrace::board
