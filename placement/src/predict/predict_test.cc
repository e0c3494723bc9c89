// SPDX-License-Identifier: Apache-2.0
// Traces made here, of code whose misses can be counted by hand. Against the board:
// test/rt1062_predict.py.
#include "millrace/placement/predict.h"

#include "testing/toolchain.h"

namespace millrace::placement {
namespace {

using profile::ElfIndex;
using profile::kNone;
using profile::testing::Toolchain;

// spec/trace.md.
class TraceText {
 public:
  TraceText() {
    for (const char c : std::string("MRTRACE\x02", 8)) bytes.push_back(static_cast<uint8_t>(c));
    const uint32_t khz = 600'000;
    for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(khz >> 8 * i));
    bytes.resize(52);
  }
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
    bytes.push_back(static_cast<uint8_t>(value));
  }
  void block(uint32_t address, uint32_t halfwords, uint64_t delta) {
    const auto known = std::find(blocks.begin(), blocks.end(), address);
    if (known == blocks.end()) {
      blocks.push_back(address);
      number(uint64_t{address / 2} << 2 | 1);
      number(halfwords);
      number(halfwords);
      number(halfwords);
    } else {
      number(static_cast<uint64_t>(known - blocks.begin()) << 2);
    }
    number(delta);
  }
  void miss(uint32_t address, uint64_t stall) {
    number(uint64_t{1 * 4 + 0} << 2 | 2);
    const int64_t distance = int64_t{address / 32} - line;
    line = address / 32;
    number(static_cast<uint64_t>(distance) << 1 ^ static_cast<uint64_t>(distance >> 63));
    number(0);
    number(stall);
    number(0);
  }
  void event(uint64_t code, uint64_t argument, uint64_t delta) {
    number(code << 2 | 3);
    number(argument);
    number(delta);
  }
  std::vector<uint8_t> bytes;

 private:
  std::vector<uint32_t> blocks;
  int64_t line = 0;
};

PredictOptions by_event(const std::string& name) {
  PredictOptions options;
  options.event = name;
  return options;
}

// Three functions of 32 bytes, 16 KB apart: one set of a cache of 512 sets and two ways, so that
// in turn they throw each other out. `event` begins each turn.
class Predict : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string source = ".syntax unified\n.thumb\n.cpu cortex-m7\n";
    for (const char* name : {"event", "first", "second", "third"}) {
      source += std::string(".section .text.") + name + ",\"ax\"\n.balign 32\n.global " + name +
                "\n.type " + name + ", %function\n.thumb_func\n" + name +
                ":\n.rept 15\nnop\n.endr\nbx lr\n.size " + name + ", 32\n";
    }
    source +=
        ".section .text.event,\"ax\"\n.balign 4\n.global idle\n.type idle, %function\n.thumb_func\n"
        "idle:\nnop\nwfi\nwfi.w\nbx lr\n.size idle, 10\n";
    tools_.write("a.S", source);
    tools_.compile("a.S");
    tools_.write("link.ld",
                 "MEMORY { FLASH : ORIGIN = 0x60000000, LENGTH = 1M }\nENTRY(event)\n"
                 "SECTIONS { .text : { *(.text.event) . = 0x4040; *(.text.first)\n"
                 " . = 0x8040; *(.text.second) . = 0xc040; *(.text.third) . = 0xc200; } > FLASH\n"
                 " /DISCARD/ : { *(.ARM.*) } }\n");
    tools_.run("arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -nostdlib -T link.ld a.o -o out.elf");
    index_ = tools_.index();
    ASSERT_FALSE(profile::find_target("teensy41", index_, &target_));
  }
  uint32_t address(const char* name) const {
    return index_.functions()[index_.function_named(name)].start;
  }
  // Each turn: 20 cycles of `event`, then 20 of each, all three of which miss with 500 cycles.
  TraceText trace(unsigned turns) const {
    TraceText out;
    uint64_t delta = 0;
    for (unsigned i = 0; i < turns; ++i) {
      out.block(address("event"), 16, delta);
      delta = 20;
      for (const char* name : {"first", "second", "third"}) {
        out.block(address(name), 16, delta);
        out.miss(address(name), 500);
        delta = 520;
      }
    }
    return out;
  }
  Failure predict(const std::vector<uint8_t>& bytes, const std::string& list,
                  const PredictOptions& options) {
    PlacementList parsed;
    EXPECT_FALSE(parse_list("list", list, &parsed));
    return placement::predict(&index_, target_, bytes, parsed, options, &out_);
  }

  Toolchain tools_;
  ElfIndex index_;
  profile::Target target_;
  Prediction out_;
};

TEST_F(Predict, RecordedFiguresAreThoseOfTheTrace) {
  ASSERT_FALSE(predict(trace(101).bytes, "", by_event("event")));
  EXPECT_EQ(out_.events, 100u);
  EXPECT_NEAR(out_.recorded.busy, 20 + 3 * 520, 0.01);
  EXPECT_NEAR(out_.recorded.fetch, 3 * 500, 1);
  EXPECT_NEAR(out_.recorded.misses, 3, 0.01);
  EXPECT_NEAR(out_.predicted.busy, out_.recorded.busy, 0.01);  // nothing moves
  EXPECT_EQ(out_.moved_bytes, 0u);
}

TEST_F(Predict, AllMovedWaitsForNothing) {
  ASSERT_FALSE(predict(trace(101).bytes, "first\nsecond\nthird\n", by_event("event")));
  EXPECT_LT(out_.predicted.misses, 0.1);  // the veneers, once
  // Three veneers a turn of 4 cycles, at most six: calls in and out.
  EXPECT_NEAR(out_.predicted.busy, 80 + 6 * 4, 5 * 4);
  EXPECT_EQ(out_.moved_bytes, 96u);
  EXPECT_LT(out_.high, 0.2 * out_.recorded.busy);
}

TEST_F(Predict, TwoLinesThatAreLeftFitTheirSet) {
  ASSERT_FALSE(predict(trace(101).bytes, "third\n", by_event("event")));
  EXPECT_LT(out_.predicted.misses, 0.2);  // only the first turns miss
}

TEST_F(Predict, EventsCanBeGivenByNumber) {
  PredictOptions options;
  options.events = 100;
  ASSERT_FALSE(predict(trace(100).bytes, "", options));
  EXPECT_EQ(out_.events, 100u);
  EXPECT_NEAR(out_.recorded.misses, 3, 0.1);
}

// `idle`: NOP and WFI issue in 2 cycles, miss for 500, and sleep 100,000; then WFI.W alone, of 2
// halfwords and issue cycles, which an exception ends after 3,000.
TEST_F(Predict, SleepIsNotBusy) {
  TraceText slept;
  uint64_t delta = 0;
  for (unsigned i = 0; i < 11; ++i) {
    slept.block(address("event"), 16, delta);
    slept.block(address("idle"), 2, 20);
    slept.miss(address("idle"), 500);
    slept.block(address("idle") + 4, 2, 502 + 100'000);
    slept.event(1, 16, 3'000);
    slept.block(address("first"), 16, 12);  // entry
    slept.event(2, 16, 20);
    delta = 14;  // return
  }
  ASSERT_FALSE(predict(slept.bytes, "", by_event("event")));
  EXPECT_EQ(out_.events, 10u);
  EXPECT_NEAR(out_.recorded.busy, 20 + 502 + 2 + 12 + 20 + 14, 0.01);
  PredictOptions options;
  options.events = 11;
  ASSERT_FALSE(predict(slept.bytes, "", options));
  // The end of the last block is the last record.
  EXPECT_NEAR(out_.recorded.busy, (11 * 570 - 14) / 11.0, 0.01);
}

// 100 turns at 600 MHz, as the header has it; the clock changes before, at start.
TEST_F(Predict, ClockIsThatOfTheCountedEvents) {
  TraceText text;
  text.event(5, 120'000, 1000);
  text.block(address("first"), 16, 500);
  text.event(5, 528'000, 30'000);
  for (unsigned i = 0; i < 101; ++i) text.block(address("event"), 16, 20);
  ASSERT_FALSE(predict(text.bytes, "", by_event("event")));
  EXPECT_EQ(out_.core_khz, 528'000u);
  // Half of the cycles at 528 MHz and half at 264 MHz take 1.5 times as long as at 528.
  text.event(5, 264'000, 20);
  for (unsigned i = 0; i < 101; ++i) text.block(address("event"), 16, i == 0 ? 0 : 20);
  ASSERT_FALSE(predict(text.bytes, "", by_event("event")));
  EXPECT_NEAR(out_.core_khz, 528'000 / 1.5, 2'000);
}

// Misses that no cache of this geometry has: one function in turn with itself.
TEST_F(Predict, ModelThatDoesNotRepeatTheTraceClaimsNothing) {
  TraceText good;
  for (unsigned i = 0; i < 101; ++i) good.block(address("event"), 16, i == 0 ? 0 : 20);
  ASSERT_FALSE(predict(good.bytes, "first\n", by_event("event")));
  EXPECT_TRUE(out_.is_usable);
  TraceText text;
  for (unsigned i = 0; i < 101; ++i) {
    text.block(address("event"), 16, i == 0 ? 0 : 520);
    text.block(address("first"), 16, 20);
    text.miss(address("first"), 500);
  }
  ASSERT_FALSE(predict(text.bytes, "first\n", by_event("event")));
  EXPECT_FALSE(out_.is_usable);
}

TEST_F(Predict, StrippedProgramHasNoNames) {
  tools_.run("arm-none-eabi-strip out.elf");
  index_ = tools_.index();
  const Failure failure = predict(TraceText().bytes, "first\n", {});
  ASSERT_TRUE(failure && failure->kind == Error::Kind::usage);
  EXPECT_NE(failure->message.find("no symbols"), std::string::npos);
}

TEST_F(Predict, BadInputIsASentence) {
  const std::vector<uint8_t> good = trace(10).bytes;
  const auto message = [&](const std::vector<uint8_t>& bytes, const PredictOptions& options) {
    const Failure failure = predict(bytes, "", options);
    return failure ? failure->message : "";
  };
  EXPECT_NE(message(good, by_event("nothing")).find("has no function nothing"), std::string::npos);
  EXPECT_NE(message({}, {}).find("cut off in the header"), std::string::npos);
  EXPECT_NE(message(trace(1).bytes, by_event("event")).find("less than twice"), std::string::npos);
  std::vector<uint8_t> other = good;
  other[20] = 1;  // a build ID, which the program has not
  EXPECT_NE(message(other, {}).find("is of another program"), std::string::npos);
  target_.cache.reset();
  EXPECT_NE(message(good, {}).find("has no instruction cache"), std::string::npos);
}

TEST_F(Predict, EveryTruncationEndsWell) {
  const std::vector<uint8_t> good = trace(3).bytes;
  for (size_t size = 0; size < good.size(); ++size) {
    predict({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)}, "first\n", {});
  }
}

}  // namespace
}  // namespace millrace::placement
