// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fmt/core.h>

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
  void miss(TracedMemory memory, TracedAccess access, uint32_t line, uint32_t stall,
            uint64_t at) override {
    text += fmt::format("{}: miss {} {} {:x} {}\n", at, static_cast<int>(memory),
                        static_cast<int>(access), line, stall);
  }
  void event(TraceEvent event, uint32_t argument, uint64_t at) override {
    text += fmt::format("{}: event {} {}\n", at, static_cast<int>(event), argument);
  }
  std::string text;
};

void tell(TraceSink& sink) {
  sink.block({0x60002100, 2, 2, 2}, 1005);
  sink.miss(TracedMemory::flash, TracedAccess::fetch, 0x60002100, 504, 1005);
  sink.block({0x60002100, 2, 2, 2}, 1515);
  sink.event(TraceEvent::exception_taken, 15, 1520);
  sink.block({0x20, 3, 2, 2}, 1540);
  sink.miss(TracedMemory::ocram, TracedAccess::store, 0x20200040, 0, 1541);
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
  const std::vector<uint8_t> example = {0x81, 0x84, 0x81, 0x80, 0x0C, 2,    2, 2, 5,    0x12,
                                        0x90, 0x84, 0x80, 0x30, 0xF8, 0x03, 0, 0, 0xFE, 0x03};
  const std::vector<uint8_t> bytes = encoded();
  ASSERT_GE(bytes.size(), 52 + example.size());
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin() + 52,
                                 bytes.begin() + 52 + static_cast<long>(example.size())),
            example);
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
