// SPDX-License-Identifier: Apache-2.0
// Programs for the tests of place() and evict(): code in flash, ITCM at 0, and a target whose cache
// is so small that it matters.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/placement/place.h"
#include "testing/toolchain.h"

namespace millrace::placement::testing {

using profile::Sample;
using profile::SampleSet;
using profile::Target;
using profile::testing::find;
using profile::testing::Toolchain;

// One line in each of 2 sets: whatever else runs evicts it.
inline constexpr const char* kTiny =
    "name = tiny\nregion = ITCM 0 1K fast code\nregion = DTCM 0x20000000 128K fast data\n"
    "region = FLASH 0x60000000 1M cached code data\ncache = 32 2 1\n";
// A Cortex-M7's.
inline constexpr const char* kLarge =
    "name = large\nregion = ITCM 0 128K fast code\nregion = DTCM 0x20000000 128K fast data\n"
    "region = FLASH 0x60000000 1M cached code data\ncache = 32 512 2\n";

// Start-up that copies with a function of its own, and work of three sizes; helpers are static and
// of one name in two files.
inline constexpr const char* kStart =
    "extern int main(void); extern char from[], to[];\n"
    "__attribute__((noinline)) void move_block(char *t, const char *f, int n) {\n"
    "  for (volatile int i = 0; i < n; ++i) t[i] = f[i]; }\n"
    "void reset_handler(void) { move_block((char *)0x20000100, (const char *)0x60000000, 16); "
    "main(); for (;;); }\n";
inline constexpr const char* kWork =
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
inline constexpr const char* kOther =
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

}  // namespace millrace::placement::testing
