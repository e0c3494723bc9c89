// SPDX-License-Identifier: Apache-2.0
// place() and evict() on programs made here: code in flash, ITCM at 0, and a target whose cache is
// so small that it matters.
#include "millrace/placement/place.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/placement/evict.h"
#include "testing/toolchain.h"

namespace millrace::placement {
namespace {

using profile::find_target;
using profile::Sample;
using profile::SampleSet;
using profile::Target;
using profile::testing::find;
using profile::testing::Toolchain;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// One line in each of 2 sets: whatever else runs evicts it.
constexpr const char* kTiny =
    "name = tiny\nregion = ITCM 0 1K fast code\nregion = DTCM 0x20000000 128K fast data\n"
    "region = FLASH 0x60000000 1M cached code data\ncache = 32 2 1\n";
// A Cortex-M7's.
constexpr const char* kLarge =
    "name = large\nregion = ITCM 0 128K fast code\nregion = DTCM 0x20000000 128K fast data\n"
    "region = FLASH 0x60000000 1M cached code data\ncache = 32 512 2\n";

// Start-up that copies with a function of its own, and work of three sizes; helpers are static and
// of one name in two files.
constexpr const char* kStart =
    "extern int main(void); extern char from[], to[];\n"
    "__attribute__((noinline)) void move_block(char *t, const char *f, int n) {\n"
    "  for (volatile int i = 0; i < n; ++i) t[i] = f[i]; }\n"
    "void reset_handler(void) { move_block((char *)0x20000100, (const char *)0x60000000, 16); "
    "main(); for (;;); }\n";
constexpr const char* kWork =
    "volatile unsigned v; extern unsigned other(unsigned);\n"
    "__attribute__((noinline)) static unsigned helper(unsigned x) { return x * 3 + v; }\n"
    "__attribute__((noinline)) unsigned small(unsigned x) { return helper(x) ^ v; }\n"
    "__attribute__((noinline)) unsigned large(unsigned x) {\n"
    "  v = x; v += 1; v ^= x * 7; v += 2; v ^= x * 11; v += 3; v ^= x * 13; v += 4; v ^= x * 17;\n"
    "  v += 5; v ^= x * 19; v += 6; v ^= x * 23; v += 7; v ^= x * 29; v += 8; return v; }\n"
    "unsigned never_runs(unsigned x) { v = x; v += 9; v ^= x * 31; return v * 5; }\n"
    "unsigned (*volatile pointer)(unsigned) = never_runs;\n"
    "int main(void) { if (v == 77) v = pointer(v); for (;;) v = small(v) + large(v) + other(v); "
    "}\n";
constexpr const char* kOther =
    "extern volatile unsigned v;\n"
    "__attribute__((noinline)) static unsigned helper(unsigned x) { return x / 3 + v; }\n"
    "__attribute__((noinline)) unsigned other(unsigned x) { return helper(x) + 1; }\n";

class Place : public ::testing::Test {
 protected:
  void SetUp() override {
    t.write("start.c", kStart);
    t.write("work.c", kWork);
    t.write("other.c", kOther);
    for (const char* file : {"start.c", "work.c", "other.c"}) t.compile(file);
    t.link("start.o work.o other.o", "", "-Wl,--gc-sections -Wl,-e,reset_handler");
    index = t.index(true);
    use(kTiny);
  }
  void use(const char* text) {
    const Failure failure = profile::parse_target("t", text, &target);
    ASSERT_FALSE(failure) << failure->message;
  }
  // `count` samples at the first instruction of each line of a function, as fetch stalls are, and
  // one at every other.
  void sample(const std::string& name, uint32_t count) {
    const profile::Function* function = find(index, name);
    ASSERT_NE(function, nullptr) << name;
    for (uint32_t at = function->start; at < function->start + function->size; at += 2) {
      const bool is_first = at == function->start || at % 32 == 0;
      for (uint32_t i = 0; i < (is_first ? count : 1); ++i) add(at);
    }
  }
  void add(uint32_t pc) {
    Sample one;
    one.pc = pc;
    samples.samples.push_back(one);
  }
  Placement placed(uint64_t budget) {
    options.budget = budget;
    Placement out;
    const Failure failure = place(&index, samples, {}, target, options, &out);
    EXPECT_FALSE(failure) << failure->message;
    return out;
  }
  std::string refused(uint64_t budget) {
    options.budget = budget;
    Placement out;
    const Failure failure = place(&index, samples, {}, target, options, &out);
    return failure ? failure->message : "";
  }
  static std::vector<std::string> lines(const Placement& placement) {
    std::vector<std::string> out;
    for (const Entry& entry : placement.list.entries) out.push_back(entry_text(entry));
    return out;
  }
  static const Candidate* candidate(const Placement& placement, const std::string& name) {
    for (const Candidate& one : placement.candidates) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
  Toolchain t;
  ElfIndex index;
  Target target;
  SampleSet samples;
  PlaceOptions options;
};

TEST_F(Place, WhatWaitsMostForItsBytesIsTaken) {
  sample("small", 300);
  sample("large", 40);
  sample("other", 200);
  const profile::Function* small = find(index, "small");
  const uint32_t room = (small->size + 3) / 4 * 4 + 8;  // itself, and a veneer to its helper
  const Placement out = placed(room);
  EXPECT_EQ(lines(out), std::vector<std::string>{"small"});
  EXPECT_LE(out.chosen.total_bytes(), room);
  EXPECT_EQ(out.chosen.veneer_bytes, 8u);
  EXPECT_GT(out.chosen.gain, 0.2);
  EXPECT_GE(out.chosen.gain, out.density.gain);
}

TEST_F(Place, VeneersCountAgainstTheBudget) {
  sample("small", 300);
  sample("large", 40);
  const profile::Function* small = find(index, "small");
  const uint32_t without = (small->size + 3) / 4 * 4;
  EXPECT_THAT(lines(placed(without)), Not(Contains("small")));
  EXPECT_THAT(lines(placed(without + 8)), Contains("small"));
}

TEST_F(Place, WhatRunsBeforeTheCopyStays) {
  sample("move_block", 5000);
  sample("large", 40);
  const Placement out = placed(1024);
  EXPECT_THAT(lines(out), Contains("large"));
  EXPECT_THAT(lines(out), Not(Contains("move_block")));
  const Candidate* kept = candidate(out, "move_block");
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->why, Why::boot);
  EXPECT_THAT(kept->reason, HasSubstr("reset_handler -> move_block"));
  EXPECT_TRUE(out.boot.end_is_known);
  options.pin = {"move_block"};
  EXPECT_THAT(refused(1024), HasSubstr("cannot be pinned: it runs before the copy"));
}

TEST_F(Place, EqualNamesAreToldApartByFile) {
  sample("small", 100);
  const profile::Function* other = find(index, "other");
  for (const profile::Function& one : index.functions()) {
    if (one.name != "helper") continue;
    for (int i = 0; i < 400; ++i) add(one.start);
  }
  ASSERT_NE(other, nullptr);
  std::vector<std::string> entries;
  for (const Candidate& one : placed(1024).candidates) {
    for (const Entry& entry : one.entries) entries.push_back(entry_text(entry));
  }
  EXPECT_THAT(entries, Contains("helper file=work.c"));
  EXPECT_THAT(entries, Contains("helper file=other.c"));
  EXPECT_THAT(entries, Contains("small"));
}

TEST_F(Place, ResidentCodeIsNotMoved) {
  use(kLarge);
  sample("small", 300);
  sample("large", 300);
  const Placement out = placed(4096);
  EXPECT_TRUE(out.list.entries.empty());
  EXPECT_TRUE(out.rest_is_resident);
  EXPECT_EQ(out.lines_over, 0u);
  ASSERT_NE(candidate(out, "large"), nullptr);
  EXPECT_EQ(candidate(out, "large")->why, Why::resident);
}

TEST_F(Place, PinsAndNeversAreObeyed) {
  sample("large", 300);
  options.pin = {"other"};
  options.never = {"large"};
  const Placement out = placed(1024);
  EXPECT_EQ(lines(out), std::vector<std::string>{"other"});
  EXPECT_EQ(candidate(out, "large")->why, Why::never);
  EXPECT_EQ(candidate(out, "other")->why, Why::pinned);
  options.never = {"nothing_there"};
  EXPECT_EQ(refused(1024),
            "--never nothing_there: not in the program (`millrace place --csv` lists the names)");
  options.never = {"other"};
  EXPECT_EQ(refused(1024), "other is pinned and never to move (decide)");
  options.never.clear();
  options.pin = {"large"};
  EXPECT_THAT(refused(16), HasSubstr("more than the budget of 16"));
}

TEST_F(Place, TheEndOfTheCopyMustBeInTheProgram) {
  sample("large", 300);
  options.boot.copy_end = "nosuch";
  EXPECT_EQ(refused(1024),
            "--copy-end nosuch: no function of that name is in the program (give the name as the "
            "ELF spells it)");
}

TEST_F(Place, AFewSamplesAreNotBelieved) {
  sample("large", 300);
  add(find(index, "other")->start);
  const uint32_t size = find(index, "large")->size;
  const Placement out = placed((size + 3) / 4 * 4);
  EXPECT_EQ(lines(out), std::vector<std::string>{"large"});
  ASSERT_NE(candidate(out, "other"), nullptr);
  EXPECT_EQ(candidate(out, "other")->why, Why::too_little);
  // Room that is left is free.
  EXPECT_EQ(placed(1024).list.entries.size(), 2u);
}

TEST_F(Place, WholeFilesMoveAsOne) {
  sample("small", 300);
  sample("large", 300);
  options.granularity = Granularity::file;
  const Placement out = placed(1024);
  // All functions of work.c, sampled or not, but those that are not there.
  EXPECT_EQ(out.chosen.candidates.size(), 1u);
  EXPECT_THAT(lines(out), Contains("never_runs"));
  EXPECT_THAT(lines(out), Not(Contains("other")));
}

TEST_F(Place, BadBudgetsAndTargetsAreSentences) {
  sample("large", 10);
  EXPECT_EQ(refused(0), "a budget of 0 bytes holds nothing");
  EXPECT_EQ(
      refused(2048),
      "a budget of 2048 bytes is more than ITCM has: 1024 bytes (`millrace memory` says how many "
      "are free)");
  options.region = "OCRAM";
  EXPECT_EQ(refused(100), "target tiny has no region OCRAM (it has ITCM, DTCM, FLASH)");
  options.region.clear();
  use("name = slow\nregion = FLASH 0x60000000 1M cached code data\n");
  EXPECT_THAT(refused(100), HasSubstr("target slow has no fast memory for code"));
}

TEST_F(Place, AStrippedProgramHasNoNames) {
  sample("large", 10);
  t.run("arm-none-eabi-strip out.elf");
  index = t.index();
  EXPECT_THAT(refused(100), HasSubstr("has no symbols, and a list is made of names"));
}

TEST_F(Place, TheCurveRisesAndEndsWithEverything) {
  sample("small", 300);
  sample("large", 300);
  sample("other", 300);
  const Placement out = placed(1024);
  ASSERT_GE(out.curve.size(), 3u);
  EXPECT_EQ(out.curve.front().bytes, 0u);
  EXPECT_EQ(out.curve.front().gain, 0);
  EXPECT_DOUBLE_EQ(out.curve.back().gain, out.everything.gain);
}

TEST_F(Place, MoreSamplesNarrowTheInterval) {
  sample("large", 30);
  const Placement few = placed(1024);
  for (int i = 0; i < 30; ++i) sample("large", 30);
  const Placement many = placed(1024);
  EXPECT_LT(many.gain_interval.high - many.gain_interval.low,
            few.gain_interval.high - few.gain_interval.low);
}

TEST_F(Place, TheCurveNeverFalls) {
  for (const char* name : {"small", "large", "other", "main"}) sample(name, 40);
  const Placement out = placed(64);
  ASSERT_GT(out.curve.size(), 2u);
  for (size_t i = 1; i < out.curve.size(); ++i) {
    EXPECT_GE(out.curve[i].gain, out.curve[i - 1].gain) << i;
  }
}

// All code in ITCM, as Teensyduino has it.
class Evict : public Place {
 protected:
  void SetUp() override {
    Place::SetUp();
    t.link("start.o work.o other.o", "*(.text.*)", "-Wl,--gc-sections -Wl,-e,reset_handler");
    index = t.index(true);
    use(kLarge);
  }
  Eviction evicted(uint64_t bytes) {
    EvictOptions wanted;
    wanted.bytes = bytes;
    wanted.never = options.never;
    Eviction out;
    const Failure failure = evict(&index, samples, target, wanted, &out);
    EXPECT_FALSE(failure) << failure->message;
    return out;
  }
};

TEST_F(Evict, WhatNeverRanGoesFirst) {
  sample("small", 30);
  sample("large", 3);
  sample("main", 3);
  sample("other", 3);
  const Eviction out = evicted(find(index, "never_runs")->size);
  ASSERT_FALSE(out.evicted.empty());
  EXPECT_TRUE(out.is_enough);
  EXPECT_EQ(out.weight, 0u);
  for (const Evicted& one : out.evicted) {
    EXPECT_THAT((std::vector<std::string>{"small", "large", "main", "other"}),
                Not(Contains(one.name)));
  }
}

TEST_F(Evict, ThenWhatCostsLeast) {
  for (const char* name : {"small", "other", "main", "reset_handler", "move_block"}) {
    sample(name, 400);
  }
  sample("large", 2);
  for (const profile::Function& one : index.functions()) {
    if (one.name == "helper") add(one.start);
  }
  uint64_t cold = (find(index, "never_runs")->size + 3) / 4 * 4;
  const Eviction out = evicted(cold + find(index, "large")->size);
  std::vector<std::string> names;
  for (const Evicted& one : out.evicted) names.push_back(one.name);
  EXPECT_THAT(names, Contains("large"));
  EXPECT_THAT(names, Not(Contains("small")));
  EXPECT_TRUE(out.is_proved);
  EXPECT_TRUE(out.fits_cache);
}

// Teensyduino sets vectors while the program runs: the table in the ELF is empty.
TEST_F(Evict, HandlersInstalledAtRunTimeStay) {
  t.write("start.c",
          "volatile unsigned sink; void (*_VectorsRam[16])(void);\n"
          "__attribute__((noinline)) void by_store(void) { sink = 1; sink = 2; sink = 3; }\n"
          "__attribute__((noinline)) void callee(void) { sink = 4; sink = 5; }\n"
          "__attribute__((noinline)) void by_call(void) { callee(); sink = 6; callee(); }\n"
          "__attribute__((noinline)) void unused_interrupt_vector(void) { for (;;) sink = 7; }\n"
          "__attribute__((noinline)) void plain(void) { sink = 8; sink = 9; sink = 10; }\n"
          "__attribute__((noinline)) void attachInterruptVector(int n, void (*f)(void)) {\n"
          "  _VectorsRam[n] = f; }\n"
          "void (*volatile other_pointer)(void);\n"
          "__attribute__((noinline)) void set_up(void) { _VectorsRam[3] = by_store; }\n"
          "__attribute__((noinline)) void begin(void) { attachInterruptVector(4, by_call); }\n"
          "__attribute__((noinline)) void remember(void) { other_pointer = plain; }\n"
          "void reset_handler(void) { set_up(); begin(); remember(); other_pointer();\n"
          "  _VectorsRam[5] = unused_interrupt_vector; for (;;) sink = 11; }\n");
  t.compile("start.c");
  t.link("start.o", "*(.text.*)", "-Wl,--gc-sections -Wl,-e,reset_handler");
  index = t.index(true);
  sample("reset_handler", 30);
  const Eviction out = evicted(100'000);  // all that may go
  std::vector<std::string> names;
  for (const Evicted& one : out.evicted) {
    names.push_back(one.name);
    EXPECT_TRUE(one.has_source) << one.name;
  }
  for (const char* kept : {"by_store", "by_call", "callee", "unused_interrupt_vector"}) {
    EXPECT_THAT(names, Not(Contains(kept)));
  }
  EXPECT_THAT(names, Contains("plain"));
}

// Built somewhere else, without debug information: no attribute can be written.
TEST_F(Evict, WhatHasNoSourceComesLastAndForTheLinkerScript) {
  t.compile("work.c", std::string(Toolchain::kFlags) + " -g0");
  t.link("start.o work.o other.o", "*(.text.*)", "-Wl,--gc-sections -Wl,-e,reset_handler");
  index = t.index(true);
  sample("main", 30);
  const Eviction out = evicted(100'000);
  ASSERT_FALSE(out.evicted.empty());
  bool seen_without = false;
  for (const Evicted& one : out.evicted) {
    EXPECT_TRUE(one.has_source != (one.name == "never_runs" || one.name == "large" ||
                                   one.name == "small" || one.name == "main" ||
                                   (one.name == "helper" && one.line == 0)))
        << one.name;
    EXPECT_FALSE(seen_without && one.has_source) << one.name;
    seen_without = seen_without || !one.has_source;
  }
  EXPECT_TRUE(seen_without);
  EXPECT_THAT(out.notes, Contains(HasSubstr("no source to edit")));
}

TEST_F(Evict, NotEnoughIsSaid) {
  sample("small", 30);
  EXPECT_FALSE(evicted(100'000).is_enough);
  options.never = {"@object work.o", "@object other.o", "@object start.o"};
  EXPECT_EQ(evicted(10).bytes, 0u);
}

TEST_F(Evict, WithoutBanksBytesMustBeGiven) {
  sample("small", 30);
  Eviction out;
  const Failure failure = evict(&index, samples, target, {}, &out);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message,
            "target large has no banks to win back (give the bytes: --evict 32K)");
}

}  // namespace
}  // namespace millrace::placement
