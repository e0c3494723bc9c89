// SPDX-License-Identifier: Apache-2.0
// Programs linked in the test, with what a list can go wrong by.
#include "millrace/placement/check.h"

#include "testing/toolchain.h"

namespace millrace::placement {
namespace {

using profile::ElfIndex;
using profile::testing::Toolchain;

// ITCM at 0x20, code in flash. %FAST%: what goes to ITCM.
const char* const kScript =
    "MEMORY { ITCM : ORIGIN = 0x20, LENGTH = 128K  DTCM : ORIGIN = 0x20000000, LENGTH = 128K\n"
    " FLASH : ORIGIN = 0x60000000, LENGTH = 1M }\n"
    "ENTRY(Reset_Handler)\nSECTIONS {\n"
    " .itcm : { itcm_start = .; %FAST% . = ALIGN(4); itcm_end = .; } > ITCM AT > FLASH\n"
    " itcm_load = LOADADDR(.itcm);\n"
    " .text : { *(.text .text.*) } > FLASH\n"
    " .rodata : { *(.rodata .rodata.*) } > FLASH\n"
    " .data : { *(.data .data.*) } > DTCM AT > FLASH\n"
    " .bss (NOLOAD) : { *(.bss .bss.* COMMON) } > DTCM\n"
    " /DISCARD/ : { *(.ARM.exidx*) *(.ARM.extab*) } }\n";

const char* const kSource = R"(
#include <stddef.h>
#include <stdint.h>
extern uint32_t itcm_start, itcm_end, itcm_load;
int main(void);
volatile int value = 1;
static const int table[64] = {3, 1, 4, 1, 5, 9, 2, 6};
__attribute__((noinline)) void* memcpy(void* to, const void* from, size_t n) {
  char* t = to; const char* f = from;
  while (n--) { *t++ = *f++; __asm__ volatile("" ::: "memory"); }
  return to;
}
__attribute__((noinline)) void cold(void) { value -= 1; }
__attribute__((noinline)) void hot(void) { value += table[value & 63]; cold(); }
__attribute__((noinline)) void warm(void) { value ^= 5; }
void Reset_Handler(void) {
  memcpy(&itcm_start, &itcm_load, (char*)&itcm_end - (char*)&itcm_start);
  main();
}
int main(void) { for (;;) { hot(); warm(); } }
)";

CheckOptions with_budget(uint64_t bytes) {
  CheckOptions options;
  options.budget = bytes;
  return options;
}

class Check : public ::testing::Test {
 protected:
  void build(const std::string& fast, const std::string& name = "out.elf") {
    tools_.write("a.c", kSource);
    tools_.compile("a.c", flags_);
    std::string script = kScript;
    script.replace(script.find("%FAST%"), 6, fast);
    tools_.write("check.ld", script);
    tools_.run(
        "arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -nostdlib -Wl,--no-warn-rwx-segments "
        "-Wl,-Map=out.map -T check.ld a.o " +
        extra_objects_ + " -o " + name);
    ASSERT_FALSE(ElfIndex::read(tools_.path(name), {}, &index_));
  }
  void read_map() {
    ASSERT_FALSE(ElfIndex::read(tools_.path("out.elf"), {tools_.path("out.map")}, &index_));
  }
  void check(const std::string& list, CheckOptions options = {}) {
    ASSERT_FALSE(parse_list("hot.list", list, &list_));
    options.list = &list_;
    profile::Target target;
    ASSERT_FALSE(profile::find_target("teensy41", index_, &target));
    const Failure failure = placement::check(&index_, target, options, &report_);
    ASSERT_FALSE(failure) << failure->message;
  }
  const CheckResult& result(const std::string& name) const {
    for (const CheckResult& one : report_.checks) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << "no check " << name;
    return report_.checks[0];
  }
  CheckStatus status(const std::string& name) const { return result(name).status; }
  std::string text(const std::string& name) const {
    return result(name).findings.empty() ? "" : result(name).findings[0].text;
  }

  Toolchain tools_;
  std::string flags_ = std::string(Toolchain::kFlags) + "-fno-tree-loop-distribute-patterns";
  std::string extra_objects_;
  ElfIndex index_;
  PlacementList list_;
  CheckReport report_;
};

TEST_F(Check, ListThatLandedPasses) {
  build("*(.text.hot .text.warm)");
  check("hot\nwarm\n", with_budget(256));
  EXPECT_LE(report_.worst(), CheckStatus::passed);
  EXPECT_EQ(report_.fast.region, "ITCM");
  // Whatever the functions take, the parts are the whole.
  const FastUse& use = report_.fast;
  EXPECT_EQ(use.functions + use.veneers + use.data + use.padding, use.bytes);
  EXPECT_EQ(use.veneers, 8u);  // hot() calls cold(): ldr.w pc, [pc] and its word
}

TEST_F(Check, FunctionThatStayedInFlashFails) {
  build("*(.text.hot)");
  check("hot\nwarm\n");
  EXPECT_EQ(status("landed"), CheckStatus::failed);
  EXPECT_NE(text("landed").find("warm is in flash at 0x6"), std::string::npos);
  EXPECT_EQ(status("extra"), CheckStatus::passed);
}

TEST_F(Check, AListOfWhatLeavesFailsForWhatIsStillThere) {
  build("*(.text.hot .text.warm)");
  CheckOptions options;
  options.is_evicted = true;
  check("cold\n", options);
  EXPECT_EQ(status("landed"), CheckStatus::passed);
  EXPECT_EQ(status("extra"), CheckStatus::skipped);  // the others may stay
  check("cold\nwarm\n", options);
  EXPECT_EQ(status("landed"), CheckStatus::failed);
  EXPECT_EQ(result("landed").findings.size(), 1u);
  EXPECT_NE(text("landed").find("warm is in ITCM at 0x"), std::string::npos);
  EXPECT_NE(text("landed").find("should have left"), std::string::npos);
  check("cold\nwram\n", options);  // what is not there did not leave
  EXPECT_EQ(status("drift"), CheckStatus::failed);
}

TEST_F(Check, FunctionThatAPatternCaughtFails) {
  build("*(.text.hot .text.warm .text.cold)");
  read_map();
  check("hot\n", with_budget(16));
  EXPECT_EQ(status("extra"), CheckStatus::failed);
  EXPECT_EQ(result("extra").findings.size(), 2u);
  EXPECT_EQ(report_.fast.others, 0u);  // the list brought them
  CheckOptions options;
  options.allow = {"warm", "cold"};
  check("hot\n", options);
  EXPECT_EQ(status("extra"), CheckStatus::passed);
}

TEST_F(Check, WithoutAMapOrTheProgramBeforeItIsAWarningThatNamesThem) {
  build("*(.text.hot .text.warm .text.cold)");
  check("hot\n");
  EXPECT_EQ(status("extra"), CheckStatus::warned);
  EXPECT_EQ(result("extra").findings.size(), 2u);
  EXPECT_NE(result("extra").summary.find("--before"), std::string::npos);
  // hot() is what remains; its size is a multiple of 4 as it ends with a literal pool.
  const uint64_t listed = report_.fast.bytes - report_.fast.others;
  const uint64_t hot = index_.functions()[index_.function_named("hot")].size;
  EXPECT_GE(listed, hot);
  EXPECT_LE(listed, hot + 2);
  check("hot\n", with_budget(listed));
  EXPECT_EQ(status("budget"), CheckStatus::passed);
  check("hot\n", with_budget(listed - 1));
  EXPECT_EQ(status("budget"), CheckStatus::failed);
}

TEST_F(Check, WhatItsSourcePutThereIsToldAndNotInTheBudget) {
  tools_.write("tick.c",
               "volatile int ticks;\n"
               "__attribute__((section(\".fastrun\"))) void tick(void) { ticks += 7; }\n");
  tools_.compile("tick.c");
  extra_objects_ = "tick.o";
  build("KEEP(*(.fastrun)) *(.text.hot)");
  read_map();
  check("hot\n", with_budget(64));
  EXPECT_EQ(status("extra"), CheckStatus::passed);
  EXPECT_NE(text("extra").find("its source put it there, in section .fastrun"), std::string::npos);
  const uint64_t tick = index_.functions()[index_.function_named("tick")].size;
  EXPECT_GE(report_.fast.others, tick);
  EXPECT_LE(report_.fast.others, tick + 2);
}

TEST_F(Check, FilesThatOnlyAMapKnowsAreNotCheckedWithoutIt) {
  build("*(.text.hot .text.warm)");
  check("hot file=a.o\nwarm file=a.o\n");
  EXPECT_EQ(status("drift"), CheckStatus::passed);
  EXPECT_NE(result("drift").summary.find("file= of 2 not checked without --map"),
            std::string::npos);
  check("hot file=a.c\nwarm file=b.c\n");  // debug information knows the sources
  EXPECT_EQ(result("drift").findings.size(), 1u);
  read_map();
  check("hot file=a.o\nwarm file=b.o\n");
  EXPECT_EQ(result("drift").findings.size(), 1u);
  EXPECT_NE(text("drift").find("warm file=b.o"), std::string::npos);
}

TEST_F(Check, ArchivesAreWarnedAboutWithoutAMap) {
  build("*(.text.hot .text.warm)");
  check("hot\nwarm\n@library libnet.a\n");
  EXPECT_EQ(status("drift"), CheckStatus::warned);
  EXPECT_NE(text("drift").find("give --map"), std::string::npos);
  read_map();
  check("hot\nwarm\n@library libnet.a\n");
  EXPECT_EQ(status("drift"), CheckStatus::failed);
}

TEST_F(Check, FunctionsWithoutASectionOfTheirOwnAreNamedAsThat) {
  flags_ = "-mcpu=cortex-m7 -mthumb -O2 -g -ffreestanding -fno-tree-loop-distribute-patterns";
  build("*(.text.hot)");
  read_map();
  check("hot\n");
  EXPECT_EQ(status("landed"), CheckStatus::failed);
  EXPECT_NE(text("landed").find("compile with -ffunction-sections, or list @object a.o"),
            std::string::npos);
}

TEST_F(Check, WhatStoodThereBeforeMayStay) {
  build("*(.text.warm)", "before.elf");
  ElfIndex before;
  ASSERT_FALSE(ElfIndex::read(tools_.path("before.elf"), {}, &before));
  build("*(.text.hot .text.warm)");
  CheckOptions options;
  options.before = &before;
  check("hot\n", options);
  EXPECT_EQ(status("extra"), CheckStatus::passed);
  EXPECT_GT(report_.fast.before, 0u);
}

TEST_F(Check, NamesThatAreGoneAreDrift) {
  build("*(.text.hot)");
  check("hot\nwarn\n");
  EXPECT_EQ(status("drift"), CheckStatus::failed);
  EXPECT_NE(text("drift").find("warn"), std::string::npos);
  EXPECT_NE(text("drift").find("warm"), std::string::npos);  // the nearest
  CheckOptions options;
  options.allow_missing = true;
  check("hot\nwarn\n", options);
  EXPECT_EQ(status("drift"), CheckStatus::warned);
}

TEST_F(Check, BytesBeyondTheBudgetFail) {
  build("*(.text.hot .text.warm)");
  check("hot\nwarm\n", with_budget(32));
  EXPECT_EQ(status("budget"), CheckStatus::failed);
  EXPECT_NE(text("budget").find("more than the budget of 32"), std::string::npos);
}

TEST_F(Check, MemcpyOfTheCopyMustNotBeCopied) {
  build("*(.text.hot .text.memcpy)");
  check("hot\nmemcpy\n");
  EXPECT_EQ(status("landed"), CheckStatus::passed);
  EXPECT_EQ(status("boot"), CheckStatus::failed);
  EXPECT_NE(text("boot").find("memcpy runs before it is copied, with .itcm: Reset_Handler -> "
                              "memcpy (by a veneer)"),
            std::string::npos);
}

TEST_F(Check, CallsAndConstantsInFlashAreTold) {
  build("*(.text.hot)");
  check("hot\n");
  EXPECT_NE(text("calls out").find("cold in flash"), std::string::npos);
  EXPECT_NE(text("constants").find("hot uses constants in flash"), std::string::npos);
  ASSERT_EQ(result("veneers").findings.size(), 2u);  // main -> hot, hot -> cold
}

TEST_F(Check, HotVeneersAndCallsAreWarnings) {
  build("*(.text.hot)");
  profile::SampleSet samples;
  for (const char* name : {"hot", "cold", "main"}) {
    profile::Sample sample;
    sample.pc = index_.functions()[index_.function_named(name)].start;
    sample.weight = 100;
    samples.samples.push_back(sample);
  }
  profile::Target target;
  ASSERT_FALSE(profile::find_target("teensy41", index_, &target));
  profile::Profile profile;
  ASSERT_FALSE(profile::attribute(&index_, samples, target, {}, &profile));
  CheckOptions options;
  options.profile = &profile;
  check("hot\n", options);
  EXPECT_EQ(status("veneers"), CheckStatus::warned);
  EXPECT_EQ(status("calls out"), CheckStatus::warned);
  EXPECT_NEAR(result("calls out").findings[0].share, 1.0 / 3, 0.01);
}

TEST_F(Check, SectionsOnTopOfEachOtherFail) {
  build("*(.text.hot)");
  tools_.run("arm-none-eabi-objcopy --change-section-vma .data=0x30 out.elf");
  ASSERT_FALSE(ElfIndex::read(tools_.path("out.elf"), {}, &index_));
  check("hot\n");
  EXPECT_EQ(status("overlaps"), CheckStatus::failed);
}

TEST_F(Check, RegionsAndBudgetsThatCannotBeAreUsageErrors) {
  build("*(.text.hot)");
  profile::Target target;
  ASSERT_FALSE(profile::find_target("teensy41", index_, &target));
  const auto message = [&](const CheckOptions& options) {
    const Failure failure = placement::check(&index_, target, options, &report_);
    EXPECT_TRUE(failure && failure->kind == Error::Kind::usage);
    return failure ? failure->message : "";
  };
  CheckOptions in_attic;
  in_attic.region = "flash";
  EXPECT_NE(message(in_attic).find("no fast memory of target teensy41"), std::string::npos);
  EXPECT_NE(message(with_budget(uint64_t{1} << 21)).find("more than the"), std::string::npos);
}

TEST_F(Check, StrippedProgramsHaveNoNamesToCheck) {
  build("*(.text.hot)");
  tools_.run("arm-none-eabi-strip out.elf");
  ASSERT_FALSE(ElfIndex::read(tools_.path("out.elf"), {}, &index_));
  ASSERT_FALSE(parse_list("hot.list", "hot\n", &list_));
  profile::Target target;
  ASSERT_FALSE(profile::find_target("teensy41", index_, &target));
  CheckOptions options;
  EXPECT_FALSE(placement::check(&index_, target, options, &report_));  // by sections
  EXPECT_FALSE(report_.notes.empty());
  options.list = &list_;
  const Failure failure = placement::check(&index_, target, options, &report_);
  ASSERT_TRUE(failure && failure->kind == Error::Kind::usage);
  EXPECT_NE(failure->message.find("no symbols"), std::string::npos);
}

}  // namespace
}  // namespace millrace::placement
