// SPDX-License-Identifier: Apache-2.0
// place_data() on a program made here: code and constants in flash, data in OCRAM, DTCM free.
#include "millrace/placement/place_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/dma_rules.h"
#include "millrace/placement/data_input.h"
#include "testing/toolchain.h"

namespace millrace::placement {
namespace {

using profile::testing::find;
using profile::testing::Toolchain;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTarget =
    "name = t\nregion = ITCM 0 128K fast code\nregion = DTCM 0x20000000 128K fast data dma\n"
    "region = OCRAM 0x20200000 128K cached data\n"
    "region = FLASH 0x60000000 1M cached code data\ncache = 32 512 2\n";
constexpr const char* kDataScript =
    "MEMORY { DTCM : ORIGIN = 0x20000000, LENGTH = 128K  OCRAM : ORIGIN = 0x20200000, LENGTH = "
    "128K\n"
    " FLASH : ORIGIN = 0x60000000, LENGTH = 1M }\nENTRY(reset_handler)\nSECTIONS {\n"
    " .text : { *(.text .text.*) } > FLASH\n .rodata : { *(.rodata .rodata.*) } > FLASH\n"
    " .fast : { *(.fast) } > DTCM AT > FLASH\n"
    " .data : { *(.data .data.*) *(.dmabuffers*) } > OCRAM AT > FLASH\n"
    " .bss (NOLOAD) : { *(.bss .bss.*) } > OCRAM\n /DISCARD/ : { *(.ARM.exidx*) } }\n";
// Each object fills lines of its own: 64 bytes, 32 aligned.
constexpr const char* kWork =
    "#define HOT __attribute__((noinline))\n#define LINE __attribute__((aligned(32)))\n"
    "const unsigned table[16] LINE = {1, 2, 3};\nunsigned counters[16] LINE = {5};\n"
    "unsigned zeroed[16] LINE;\nunsigned ring[16] LINE;\nunsigned rx_dma[16] LINE;\n"
    "unsigned buffer[16] __attribute__((section(\".dmabuffers\"), aligned(32)));\n"
    "unsigned main_stack[16] LINE;\nunsigned fast[16] __attribute__((section(\".fast\"))) = {1};\n"
    "const unsigned boot_table[16] LINE = {7};\nvolatile unsigned sink;\n"
    "HOT unsigned reads(unsigned i) { return table[i & 15] + counters[i & 15]; }\n"
    "HOT void writes(unsigned i) { zeroed[i & 15] = i; main_stack[i & 15] = i; fast[i & 15] = i; "
    "}\n"
    "HOT void drives(unsigned i) { *(volatile unsigned*)0x402e0140 = (unsigned)&ring[i & 15];\n"
    "  rx_dma[i & 15] = i; buffer[i & 15] = i; }\n"
    "int main(void) { for (unsigned i = 0;; ++i) { sink = reads(i); writes(i); drives(i); } }\n"
    "HOT void copy_all(void) { sink = boot_table[sink & 15]; }\n"
    "void reset_handler(void) { copy_all(); main(); }\n";

class PlaceData : public ::testing::Test {
 protected:
  void SetUp() override {
    t.write("work.c", kWork);
    t.compile("work.c");
    t.write("link.ld", kDataScript);
    t.run(
        "arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -nostdlib -Wl,--no-warn-rwx-segments "
        "-T link.ld -Wl,-Map=map work.o -o out.elf");
    index = t.index(true);
    const profile::Failure failure = profile::parse_target("t", kTarget, &target);
    ASSERT_FALSE(failure) << failure->message;
    for (const char* name : {"reads", "writes", "drives", "copy_all"}) sample(name);
    options.budget = 4096;
  }
  void sample(const std::string& name) {
    const profile::Function* function = find(index, name);
    ASSERT_NE(function, nullptr) << name;
    for (uint32_t at = function->start; at < function->start + function->size; at += 2) {
      profile::Sample one;
      one.pc = at;
      for (int i = 0; i < 40; ++i) samples.samples.push_back(one);
    }
  }
  DataPlacement placed() {
    DataPlacement out;
    const profile::Failure failure = place_data(&index, samples, {}, target, options, &out);
    EXPECT_FALSE(failure) << failure->message;
    return out;
  }
  std::string refused() {
    DataPlacement out;
    const profile::Failure failure = place_data(&index, samples, {}, target, options, &out);
    return failure ? failure->message : "";
  }
  static DataWhy why(const DataPlacement& all, const std::string& name) {
    for (const DataCandidate& one : all.candidates) {
      if (one.name == name) return one.why;
    }
    ADD_FAILURE() << name << " is no candidate";
    return DataWhy::not_movable;
  }
  static std::vector<std::string> lines(const DataPlacement& all) {
    std::vector<std::string> out;
    for (const Entry& entry : all.list.entries) out.push_back(entry_text(entry));
    return out;
  }
  Toolchain t;
  ElfIndex index;
  profile::Target target;
  profile::SampleSet samples;
  DataOptions options;
};

TEST_F(PlaceData, WhatHotCodeRefersToIsTakenAndWhatDmaMayUseIsNot) {
  const DataPlacement out = placed();
  EXPECT_EQ(why(out, "table"), DataWhy::chosen);
  EXPECT_EQ(why(out, "counters"), DataWhy::chosen);
  EXPECT_EQ(why(out, "zeroed"), DataWhy::chosen);
  EXPECT_EQ(why(out, "ring"), DataWhy::may_be_dma);
  EXPECT_EQ(why(out, "rx_dma"), DataWhy::dma);
  EXPECT_EQ(why(out, "buffer"), DataWhy::dma);
  EXPECT_EQ(why(out, "main_stack"), DataWhy::stack);
  EXPECT_EQ(why(out, "boot_table"), DataWhy::boot);
  EXPECT_EQ(out.already_fast, 1u);
  EXPECT_FALSE(out.is_measured);
  EXPECT_TRUE(out.region_is_dma);
}

TEST_F(PlaceData, PinMovesWhatMayBeDmaAndDmaHoldsBackWhatLooksHarmless) {
  options.pin = {"@data ring"};
  options.dma = {"@data counters"};
  const DataPlacement out = placed();
  EXPECT_EQ(why(out, "ring"), DataWhy::pinned);
  EXPECT_EQ(why(out, "counters"), DataWhy::dma);
  options.pin = {"@data counters"};
  EXPECT_THAT(refused(), HasSubstr("counters is pinned and said to be used by DMA"));
}

TEST_F(PlaceData, BudgetHoldsExactlyWhatItSays) {
  samples.samples.clear();
  sample("reads");       // of table and counters
  options.budget = 128;  // two objects of 64 bytes
  DataPlacement out = placed();
  EXPECT_EQ(out.bytes, 128u);
  EXPECT_EQ(out.chosen, 2u);
  options.budget = 127;
  out = placed();
  EXPECT_EQ(out.bytes, 64u);
  options.budget = 63;
  out = placed();
  EXPECT_EQ(out.bytes, 0u);
  EXPECT_EQ(why(out, "table"), DataWhy::too_large);
  options.budget = 129 * 1024;
  EXPECT_THAT(refused(), HasSubstr("is more than DTCM has"));
}

TEST_F(PlaceData, BuildInputsTellCopiedFromCleared) {
  const DataPlacement out = placed();
  EXPECT_THAT(lines(out), Contains("@data zeroed"));
  EXPECT_THAT(gnu_ld_data(out.list), HasSubstr(".rodata.table .rodata.table.[0-9]*"));
  EXPECT_THAT(gnu_ld_zeroed(out.list), HasSubstr("*(.bss.zeroed .bss.zeroed.[0-9]*)"));
  EXPECT_THAT(gnu_ld_zeroed(out.list), Not(HasSubstr(".data.")));
  EXPECT_THAT(zephyr_data_cmake(out), HasSubstr("zeroed"));
  options.pin = {"@data buffer"};
  EXPECT_THAT(data_attributes(placed()), HasSubstr("remove DMAMEM from buffer"));
}

TEST(DmaRules, SectionsAndNamesOfBuffersAreKnown) {
  for (const char* one : {".nocache", ".nocache.rx", "NonCacheable", ".dmabuffers", ".usbbuffers",
                          ".bss.nocache_pool"}) {
    EXPECT_TRUE(is_dma_section(one)) << one;
  }
  for (const char* one : {".bss", ".bss.usb_state", ".data.x", ".rodata.dmatch"}) {
    EXPECT_FALSE(is_dma_section(one)) << one;
  }
  for (const char* one : {"dQH", "usb_dtd", "rxDmaBuffer", "endpoint_queue_head", "myDQH",
                          "rx_buffers", "net::txRing", "RxDescriptors"}) {
    EXPECT_TRUE(is_dma_name(one)) << one;
  }
  for (const char* one : {"admandate", "counter", "hotdtdx", "rx_count", "ring_size"})
    EXPECT_FALSE(is_dma_name(one)) << one;
}

TEST(BestDataShare, GivesDataTheBytesThatSaveMoreThere) {
  const std::vector<CurvePoint> code = {{0, 0}, {100, 0.3}, {200, 0.35}};
  EXPECT_EQ(best_data_share(code, {{0, 0}, {100, 0.2}}, 200), 100u);  // 0.3 + 0.2 > 0.35
  EXPECT_EQ(best_data_share(code, {{0, 0}, {100, 0.04}}, 200), 0u);   // 0.34 < 0.35
}

}  // namespace
}  // namespace millrace::placement
