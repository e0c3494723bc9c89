// SPDX-License-Identifier: Apache-2.0
// What a list can name: sections that the linker places by itself, whole, and under a name that the
// next link has too.
#include "millrace/placement/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/toolchain.h"

namespace millrace::placement {
namespace {

using profile::testing::Toolchain;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Static functions, one of them of a name in both files; constructors; a table.
constexpr const char* kFirst =
    "#define FAR __attribute__((noinline))\n"
    "volatile unsigned v; extern unsigned second(unsigned);\n"
    "const unsigned table[64] = {1, 2, 3};\n"
    "FAR static unsigned step(unsigned x) { v = x; v ^= x * 3; return v; }\n"
    "FAR unsigned first(unsigned x) { v = step(x); return v + table[x & 63]; }\n"
    "FAR __attribute__((constructor, used)) static void before(void) { v = 5; v = 6; v = 7; }\n"
    "int main(void) { for (;;) v = first(v) + second(v); }\n";
constexpr const char* kSecond =
    "#define FAR __attribute__((noinline))\n"
    "extern volatile unsigned v;\n"
    "FAR static unsigned step(unsigned x) { v = x + 1; v ^= x * 5; return v; }\n"
    "FAR unsigned second(unsigned x) { v = step(x) + 4; return v; }\n";

class FindUnits : public ::testing::Test {
 protected:
  // Index and units of the program linked with these flags.
  void link(const std::string& flags, const std::string& fast = "*(.text .text.*)",
            bool with_map = true) {
    t.write("first.c", kFirst);
    t.write("second.c", kSecond);
    t.compile("first.c", Toolchain::kFlags + flags);
    t.compile("second.c", Toolchain::kFlags + flags);
    t.link("first.o second.o", fast, "-Wl,-e,main -O2 " + flags + link_flags);
    index = t.index(with_map);
    units = find_units(index);
  }
  const Unit* unit_of(const std::string& function) const {
    const uint32_t number = index.function_named(function);
    if (number == profile::kNone || units.of_function[number] == profile::kNone) return nullptr;
    return &units.units[units.of_function[number]];
  }
  std::vector<std::string> entries() const {
    std::vector<std::string> out;
    for (const Unit& unit : units.units) {
      if (!unit.name.empty()) out.push_back(entry_text(entry_of(unit, units)));
    }
    return out;
  }

  Toolchain t;
  std::string link_flags;
  ElfIndex index;
  Units units;
};

// As Teensyduino links: without -ffunction-sections g++ writes each part of the program into one
// .text of an object with a random name, which no list can mean.
TEST_F(FindUnits, NothingIsNamedByAnObjectThatOneLinkMade) {
  link("-flto");
  ASSERT_NE(unit_of("first"), nullptr);
  EXPECT_EQ(unit_of("first"), unit_of("second"));
  EXPECT_EQ(unit_of("first")->name, "");
  EXPECT_THAT(why_unnamed(*unit_of("first"), units), HasSubstr("link with -ffunction-sections"));
  for (const std::string& entry : entries()) EXPECT_THAT(entry, Not(HasSubstr("ltrans")));
  link_flags = " -ffunction-sections -fdata-sections";
  link("-flto");
  EXPECT_THAT(entries(), Contains("first"));
  EXPECT_THAT(entries(), Contains("second"));
  for (const std::string& entry : entries()) EXPECT_THAT(entry, Not(HasSubstr("ltrans")));
}

// An attribute in the source moves a function whatever it shares a section with.
TEST_F(FindUnits, SharedSectionsAreSplitByFunctions) {
  link("-flto");
  units = split_units(index, std::move(units), [](const Unit&) { return true; });
  for (const char* name : {"first", "second"}) {
    const Unit* const unit = unit_of(name);
    ASSERT_NE(unit, nullptr) << name;
    EXPECT_TRUE(unit->is_part);
    EXPECT_EQ(unit->functions.size(), 1u);
    EXPECT_EQ(unit->size, index.functions()[unit->functions[0]].size);
    EXPECT_EQ(entry_text(entry_of(*unit, units)), name);
  }
  EXPECT_TRUE(std::is_sorted(units.units.begin(), units.units.end(),
                             [](const Unit& a, const Unit& b) { return a.end() <= b.address; }));
  link("-fno-function-sections");
  const size_t count = units.units.size();
  EXPECT_EQ(split_units(index, units, [](const Unit&) { return false; }).units.size(), count);
}

// What a linker script leaves empty, so that address 0 holds nothing, has a symbol at times.
TEST_F(FindUnits, WhatTheScriptLeavesEmptyIsNoFunction) {
  link("", "start_of_code = .; . = . + 32; *(.text .text.*)");
  EXPECT_THAT(entries(), Contains("first"));
  EXPECT_THAT(entries(), Not(Contains(HasSubstr("start_of_code"))));
}

// crti.o has the head of _init, crtn.o its end: half of it elsewhere runs into what follows.
TEST_F(FindUnits, PiecesOfInitAreNotMovedAlone) {
  t.write("pieces.S",
          ".syntax unified\n.thumb\n.section .init,\"ax\",%progbits\n.global _init\n"
          ".type _init,%function\n.thumb_func\n_init: push {r3, lr}\n"
          ".section .fini,\"ax\",%progbits\n.global _fini\n.type _fini,%function\n.thumb_func\n"
          "_fini: push {r3, lr}\n");
  t.compile("pieces.S", "-mcpu=cortex-m7 -mthumb ");
  link_flags = " pieces.o -Wl,-u,_init -Wl,-u,_fini";
  for (const bool with_map : {true, false}) {
    link("", "*(.init) *(.fini) *(.text .text.*)", with_map);
    ASSERT_NE(index.function_named("_init"), profile::kNone);
    EXPECT_THAT(entries(), Contains("first"));
    for (const std::string& entry : entries()) {
      EXPECT_THAT(entry, Not(HasSubstr("_init"))) << with_map;
      EXPECT_THAT(entry, Not(HasSubstr("_fini"))) << with_map;
    }
  }
}

}  // namespace
}  // namespace millrace::placement
