// SPDX-License-Identifier: Apache-2.0
// place() on the programs of place_fixture.h.
#include "millrace/placement/place.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "place/place_fixture.h"

namespace millrace::placement {
namespace {

using profile::testing::find;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::kLarge;
using ::testing::Not;
using testing::Place;

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
  options.region = "FLASH";
  EXPECT_EQ(refused(100),
            "region FLASH of target tiny is not fast: nothing is won there (fast: ITCM, DTCM)");
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

// Without -ffunction-sections an entry names the object; a list has no word for this one.
TEST_F(Place, WhatAListCannotNameIsNotMovable) {
  t.compile("work.c", "-mcpu=cortex-m7 -mthumb -O2 -g -ffreestanding");
  t.run("mv work.o 'wo rk.o'");
  t.link("start.o 'wo rk.o' other.o", "", "-Wl,--gc-sections -Wl,-e,reset_handler");
  index = t.index(true);
  sample("small", 300);
  sample("other", 300);
  const Placement out = placed(1024);
  EXPECT_EQ(lines(out), std::vector<std::string>{"other"});
  EXPECT_TRUE(std::any_of(out.candidates.begin(), out.candidates.end(), [](const Candidate& one) {
    return one.why == Why::not_movable && one.reason == "has no name that a list could give";
  }));
}

// g++ refuses or ignores an attribute before a template or an inline function, and nobody edits the
// toolchain's headers: those are for the linker script.
TEST_F(Place, AttributesAreOnlyForWhatTheyCanMove) {
  t.write(
      "shape.h",
      "#pragma once\nextern volatile unsigned v;\n"
      "template <class T> __attribute__((noinline)) T doubled(T x) { v = x; v = 2; return v; }\n"
      "struct Shape { __attribute__((noinline)) unsigned area() { v = 7; v = 8; return v; } };\n");
  t.write("start.cc",
          "#include \"shape.h\"\nvolatile unsigned v;\n"
          "__attribute__((noinline)) unsigned plain(unsigned x) { v = x * 6; v = 20; return v; }\n"
          "int main() { Shape s; for (;;) v = doubled(v) + s.area() + plain(v); }\n"
          "extern \"C\" void reset_handler() { main(); }\n");
  t.compile("start.cc",
            std::string(profile::testing::Toolchain::kFlags) + "-fno-exceptions -fno-rtti ");
  t.link("start.o", "", "-Wl,--gc-sections -Wl,-e,reset_handler");
  index = t.index(true);
  for (const profile::Function& one : index.functions()) {
    if (one.name == "main" || one.name == "reset_handler") continue;
    options.pin.push_back(one.name);
    for (int i = 0; i < 30; ++i) add(one.start);
  }
  const Placement out = placed(1024);
  EXPECT_EQ(out.list.entries.size(), 3u);
  ASSERT_EQ(out.by_attribute.entries.size(), 1u);
  EXPECT_EQ(out.by_attribute.entries[0].name, "_Z5plainj");
  EXPECT_EQ(out.by_script.entries.size(), 2u);
}

}  // namespace
}  // namespace millrace::placement
