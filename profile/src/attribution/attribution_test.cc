// SPDX-License-Identifier: Apache-2.0
#include "millrace/profile/attribution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "millrace/profile/viewers.h"
#include "testing/toolchain.h"

namespace millrace::profile {
namespace {

using testing::find;
using testing::Toolchain;

TEST(Wilson, KnownValues) {
  // Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263 and 15 of 148.
  const Interval a = wilson_interval(81, 263);
  EXPECT_NEAR(a.low, 0.2553, 0.0001);
  EXPECT_NEAR(a.high, 0.3662, 0.0001);
  const Interval b = wilson_interval(15, 148);
  EXPECT_NEAR(b.low, 0.0624, 0.0001);
  EXPECT_NEAR(b.high, 0.1605, 0.0001);
  // 0 of 20: the upper end is z^2 / (n + z^2) = 3.8415 / 23.8415.
  const Interval c = wilson_interval(0, 20);
  EXPECT_EQ(c.low, 0);
  EXPECT_NEAR(c.high, 0.1611, 0.0001);
  EXPECT_EQ(wilson_interval(0, 0).high, 1);
}

// `hot` in ITCM, `cold` in flash, a leaf in both, and a function that sleeps.
class AttributionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Toolchain t;
    t.write("main.c",
            "volatile int sink;\n"
            "static inline int twice(int x) { return sink + x; }\n"
            "__attribute__((noinline)) int hot(int x) { return twice(x) * 3; }\n"
            "__attribute__((noinline)) int cold(int x) { sink = x; return hot(x) + sink; }\n"
            "__attribute__((noinline)) void nap(void) { __asm volatile(\"dsb\\n wfi\"); }\n"
            "int main(void) { nap(); return cold(1); }\n");
    t.compile("main.c");
    t.link("main.o", "*(.text.hot)", "-Wl,--gc-sections -Wl,--build-id=0x0102030405060708");
    ASSERT_FALSE(ElfIndex::read(t.path("out.elf"), {}, &index_));
    ASSERT_FALSE(find_target("teensy41", index_, &target_));
  }
  static uint32_t start(const char* name) { return find(index_, name)->start; }
  static void add(SampleSet* set, uint32_t pc, uint32_t count, uint32_t lr = 0) {
    Sample sample;
    sample.pc = pc;
    sample.lr = lr;
    for (uint32_t i = 0; i < count; ++i) set->samples.push_back(sample);
  }
  static Profile profile(const SampleSet& set, const ProfileOptions& options = {}) {
    Profile out;
    const Failure failure = attribute(&index_, set, target_, options, &out);
    EXPECT_FALSE(failure) << (failure ? failure->message : "");
    return out;
  }
  // 60 in hot, 20 in cold, 20 asleep.
  static SampleSet mixed() {
    SampleSet set;
    add(&set, start("hot"), 60);
    add(&set, start("cold"), 20);
    add(&set, start("nap") + 6, 20);  // behind dsb (4) and wfi (2)
    return set;
  }

  static ElfIndex index_;
  static Target target_;
};

ElfIndex AttributionTest::index_;
Target AttributionTest::target_;

TEST_F(AttributionTest, SharesAreOfBusyTime) {
  const Profile p = profile(mixed());
  EXPECT_EQ(p.total, 100u);
  EXPECT_EQ(p.idle, 20u);
  ASSERT_EQ(p.functions.size(), 2u);
  EXPECT_EQ(p.functions[0].name, "hot");
  EXPECT_EQ(p.functions[0].memory, "ITCM");
  EXPECT_DOUBLE_EQ(p.share(p.functions[0].weight), 0.75);
  EXPECT_EQ(p.memories[1].name, "flash");
  EXPECT_EQ(p.memories[1].weight, 20u);
}

TEST_F(AttributionTest, CyclesOfAnEventComeFromTheRateOrTheCount) {
  // 76 % busy at 600 MHz and 1,500 events/s: 0.76 * 600e6 / 1,500 = 304,000.
  SampleSet set;
  add(&set, start("hot"), 76);
  add(&set, start("nap") + 6, 24);
  ProfileOptions options;
  options.core_khz = 600000;
  options.events_per_s = 1500;
  EXPECT_NEAR(*profile(set, options).cycles_per_event, 304000, 0.5);
  // 100 samples at 60,000 cycles are 6,000,000; 76 % of that over 20 events: 228,000.
  set.interval_cycles = 60000;
  set.events = 20;
  EXPECT_NEAR(*profile(set).cycles_per_event, 228000, 0.5);
  // A measured run counts, not the samples: 0.76 * 7,000,000 / 20.
  set.run_cycles = 7000000;
  EXPECT_NEAR(*profile(set).cycles_per_event, 266000, 0.5);
}

TEST_F(AttributionTest, WithoutAClockARateGivesNoCyclesButANote) {
  ProfileOptions options;
  options.events_per_s = 1500;
  const Profile p = profile(mixed(), options);
  EXPECT_FALSE(p.cycles_per_event);
  ASSERT_EQ(p.notes.size(), 1u);
  EXPECT_NE(p.notes[0].find("--clock"), std::string::npos);
}

TEST_F(AttributionTest, NamedFunctionsCountAsIdle) {
  ProfileOptions options;
  options.idle_functions = {"cold", "nobody"};
  const Profile p = profile(mixed(), options);
  EXPECT_EQ(p.idle, 40u);
  ASSERT_EQ(p.notes.size(), 1u);
  EXPECT_NE(p.notes[0].find("nobody"), std::string::npos);
}

TEST_F(AttributionTest, CallersAreThoseThatTheUnwindTableVouchesFor) {
  SampleSet set;
  set.has_lr = true;
  const uint32_t cold = start("cold");
  const uint32_t in_main = start("main") + 6;
  add(&set, start("hot"), 5, (cold + 8) | 1);  // a leaf: its caller
  add(&set, cold, 3, in_main | 1);             // before the push: its caller
  add(&set, cold + 4, 2, in_main | 1);         // behind it: not believed
  add(&set, start("hot"), 1, 0xFFFFFFF9);      // entered by an exception
  add(&set, 0x60080000, 1, in_main);           // no code there
  ProfileOptions options;
  const Profile p = profile(set, options);
  EXPECT_EQ(p.caller_quality.known, 8u);
  EXPECT_EQ(p.caller_quality.saved, 2u);
  EXPECT_EQ(p.caller_quality.exception, 1u);
  EXPECT_EQ(p.caller_quality.no_unwind, 1u);
  ASSERT_EQ(p.callers.size(), 2u);
  EXPECT_EQ(p.callers[0].callee, "hot");
  EXPECT_EQ(p.callers[0].caller, "cold");
  EXPECT_EQ(p.callers[0].weight, 5u);
  EXPECT_EQ(p.callers[1].caller, "main");
}

TEST_F(AttributionTest, SamplesOfAnotherProgramAreRefused) {
  SampleSet set = mixed();
  set.identity = {IdentityKind::build_id, {9, 9, 9, 9}};
  Profile p;
  Failure failure = attribute(&index_, set, target_, {}, &p);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Error::Kind::mismatch);
  EXPECT_NE(failure->message.find("build ID 09090909, the ELF has build ID 0102030405060708"),
            std::string::npos);
  ProfileOptions options;
  options.accept_mismatch = true;
  EXPECT_EQ(profile(set, options).notes.size(), 1u);
  set.identity = index_.build_id();
  EXPECT_TRUE(profile(set).notes.empty());
  set.identity = index_.image_hash();
  EXPECT_TRUE(profile(set).notes.empty());
}

TEST_F(AttributionTest, SamplesMostlyOutsideTheCodeAreRefused) {
  SampleSet set;
  add(&set, start("hot"), 40);
  add(&set, 0x20000000, 30);  // data
  add(&set, 0x08001234, 30);  // nothing
  Profile p;
  const Failure failure = attribute(&index_, set, target_, {}, &p);
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->message.find("60 % of the samples"), std::string::npos);
}

TEST_F(AttributionTest, CacheSetsAreCountedOverCachedMemoryOnly) {
  SampleSet set;
  // Three lines of flash 16 KB apart share a set of 2 ways (512 sets of 32 bytes); ITCM has no
  // part.
  for (const uint32_t pc : {0x60000000u, 0x60004000u, 0x60008000u, 0x60000020u}) add(&set, pc, 1);
  add(&set, start("hot"), 4);
  const Profile p = profile(set);
  ASSERT_TRUE(p.cache);
  EXPECT_EQ(p.cache->lines, 4u);
  EXPECT_EQ(p.cache->sets_by_lines[1], 1u);
  EXPECT_EQ(p.cache->sets_by_lines[3], 1u);
  EXPECT_EQ(p.cache->lines_over, 1u);
  EXPECT_EQ(p.cache->weight, 4u);
  EXPECT_EQ(p.cache->weight_over, 3u);
  EXPECT_FALSE(p.cache->fits());
}

TEST_F(AttributionTest, InlinedFunctionsHaveTheirOwnShare) {
  const Profile p = profile(mixed());
  ASSERT_EQ(p.inlines.size(), 1u);
  EXPECT_EQ(p.inlines[0].name, "twice");
  EXPECT_LE(p.inlines[0].self, 60u);
  EXPECT_EQ(p.inlines[0].places, 1u);
}

TEST_F(AttributionTest, NamesWithoutAddressesAreResolved) {
  SampleSet set;
  set.named = {{"hot", 30}, {"cold", 10}, {"gone", 1}};
  const Profile p = profile(set);
  EXPECT_EQ(p.functions[0].name, "hot");
  EXPECT_EQ(p.functions[0].weight, 30u);
  EXPECT_EQ(p.outside, 1u);
}

TEST_F(AttributionTest, ExactWeightsHaveNoInterval) {
  SampleSet set = mixed();
  set.unit = WeightUnit::cycles;
  EXPECT_FALSE(profile(set).interval(10));
  EXPECT_TRUE(profile(mixed()).interval(10));
}

TEST_F(AttributionTest, ComparisonFindsTheChangeAndNotTheNoise) {
  SampleSet before, after;
  add(&before, start("hot"), 500);
  add(&before, start("cold"), 500);
  add(&after, start("hot"), 510);
  add(&after, start("cold"), 200);
  add(&after, start("main"), 290);
  const ProfileDiff diff = compare(profile(before), profile(after));
  ASSERT_EQ(diff.functions.size(), 3u);
  EXPECT_EQ(diff.functions[0].name, "cold");
  EXPECT_NEAR(diff.functions[0].change(), -0.3, 1e-9);
  EXPECT_TRUE(diff.functions[0].is_significant);
  EXPECT_EQ(diff.functions[1].name, "main");
  EXPECT_EQ(diff.functions[1].memory_before, "");
  EXPECT_EQ(diff.functions[1].memory_after, "flash");
  EXPECT_EQ(diff.functions[2].name, "hot");
  EXPECT_FALSE(diff.functions[2].is_significant);  // 50 % against 51 % of 1,000
}

// Every viewer's file holds all 80 busy samples.
TEST_F(AttributionTest, FoldedStacksAddUp) {
  const Profile p = profile(mixed());
  const std::string text = folded_stacks(&index_, p);
  uint64_t sum = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    sum += std::stoull(line.substr(line.rfind(' ') + 1));
    at = end + 1;
  }
  EXPECT_EQ(sum, 80u);
  EXPECT_NE(text.find("cold 20\n"), std::string::npos);
}

TEST_F(AttributionTest, StacksHaveTheOutermostCallerFirst) {
  SampleSet set;
  Sample sample;
  sample.pc = start("hot");
  sample.exception = 129;
  set.has_exception = true;
  set.samples.push_back(sample);
  set.stacks.push_back({0, {start("cold") + 8, start("main") + 6}});
  const std::string text = folded_stacks(&index_, profile(set));
  EXPECT_EQ(text.substr(0, text.find(";hot")), "IRQ 113;main;cold");
}

TEST_F(AttributionTest, CallgrindTotalsAndTraceForm) {
  const std::string text = callgrind_file(&index_, profile(mixed()));
  EXPECT_NE(text.find("events: Samples\n"), std::string::npos);
  EXPECT_NE(text.find("totals: 80\n"), std::string::npos);
  EXPECT_NE(text.find(" cold\n"), std::string::npos);
}

TEST_F(AttributionTest, PprofIsGzipWithStoredBlocks) {
  const std::vector<uint8_t> bytes = pprof_file(&index_, profile(mixed()));
  ASSERT_GT(bytes.size(), 30u);
  EXPECT_EQ(bytes[0], 0x1F);
  EXPECT_EQ(bytes[1], 0x8B);
  EXPECT_EQ(bytes[10], 1);  // one stored block, the last
}

TEST_F(AttributionTest, PerfScriptHasOneRecordAPlace) {
  const std::string text = perf_script(&index_, profile(mixed()));
  EXPECT_NE(text.find("firmware 1/1 [000] 0.000000: 60 samples:\n"), std::string::npos);
  EXPECT_NE(text.find("cold+0x0 (out.elf)\n"), std::string::npos);
}

}  // namespace
}  // namespace millrace::profile
