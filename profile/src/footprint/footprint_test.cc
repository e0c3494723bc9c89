// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millrace/profile/memory_report.h"
#include "millrace/profile/target.h"
#include "testing/toolchain.h"

namespace millrace::profile {
namespace {

using testing::Toolchain;

std::string wrong(const std::string& text) {
  Target target;
  const Failure failure = parse_target("t", text, &target);
  EXPECT_TRUE(failure) << text;
  return failure ? failure->message : "";
}

TEST(Target, EveryOneThatComesWithTheProgramIsRead) {
  const std::vector<std::string> names = {"teensy41", "teensyduino", "teensy41-zephyr",
                                          "rp2040",   "rp2350",      "generic"};
  ASSERT_EQ(builtin_targets().size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(builtin_targets()[i].name, names[i]);
    EXPECT_FALSE(builtin_target_text(names[i]).empty());
  }
  // The I-cache of the RT1062: 32 KB, 2 ways, lines of 32 bytes.
  const TargetCache cache = *builtin_targets()[0].cache;
  EXPECT_EQ(cache.lines() * cache.line_bytes, 32768u);
  // The XIP cache of the RP2040: 16 KB.
  EXPECT_EQ(builtin_targets()[3].cache->lines() * builtin_targets()[3].cache->line_bytes, 16384u);
}

TEST(Target, WhatIsWrongIsNamedWithItsLine) {
  const std::string region = "name = x\nregion = a 0 64K\n";
  EXPECT_NE(wrong("").find("needs a name and a region"), std::string::npos);
  EXPECT_NE(wrong("name = x").find("needs a name and a region"), std::string::npos);
  EXPECT_NE(wrong(region + "region = b 0x8000 64K").find("line 3: region b overlaps a"),
            std::string::npos);
  EXPECT_NE(wrong(region + "region = a 0x80000 64K").find("a second region a"), std::string::npos);
  EXPECT_NE(wrong(region + "region = c 0xFFFFFFFF 64K").find("within 32 bits"), std::string::npos);
  EXPECT_NE(wrong(region + "region = c 0x100000 64K quick").find("quick is none of"),
            std::string::npos);
  EXPECT_NE(wrong(region + "speed = 3").find("line 3: speed is none of"), std::string::npos);
  EXPECT_NE(wrong(region + "nonsense").find("line 3: write `name = value`"), std::string::npos);
  EXPECT_NE(wrong(region + "cache = 32 500 2").find("powers of two"), std::string::npos);
  EXPECT_NE(wrong(region + "banks = 16 32K a b").find("region b, which is not there"),
            std::string::npos);
  EXPECT_NE(wrong(region + "controller = a 0x402A8000").find("write `controller = REGION START"),
            std::string::npos);
  EXPECT_NE(wrong(region + "controller = a 0xFFFFF000 8K").find("within 32 bits"),
            std::string::npos);
  EXPECT_NE(wrong(region + "controller = b 0x402A8000 16K").find("region b, which is not there"),
            std::string::npos);
  EXPECT_NE(wrong(region + "when = colour red").find("line 3"), std::string::npos);
  EXPECT_NE(wrong(std::string(70000, '#')).find("more than 64 KB"), std::string::npos);
}

// i.MX RT1060 manual, table 3-1: FlexSPI 0x402A8000, FlexSPI2 0x402A4000, 16 KB each.
TEST(Target, TeensysNameTheControllersOfFlashAndPsram) {
  for (const char* name : {"teensyduino", "teensy41", "teensy41-zephyr"}) {
    Target target;
    ASSERT_FALSE(parse_target(name, builtin_target_text(name), &target));
    ASSERT_EQ(target.controllers.size(), 2u) << name;
    EXPECT_EQ(target.controllers[0].region, "flash");
    EXPECT_EQ(target.controllers[0].start, 0x402A8000u);
    EXPECT_EQ(target.controllers[0].end(), 0x402AC000u);
    EXPECT_EQ(target.controllers[1].region, "PSRAM");
    EXPECT_EQ(target.controllers[1].start, 0x402A4000u);
  }
}

TEST(Target, IsChosenFromTheElf) {
  Toolchain t;
  t.write("main.c",
          "__attribute__((noinline)) int z_cstart(void) { return 1; } int main(void) { return "
          "z_cstart(); }\n");
  t.compile("main.c");
  t.link("main.o", "", "");
  const ElfIndex index = t.index();
  Target target;
  ASSERT_FALSE(find_target("", index, &target));
  EXPECT_EQ(target.name, "teensy41-zephyr");
  ASSERT_FALSE(find_target("rp2040", index, &target));
  EXPECT_EQ(target.name, "rp2040");
  const Failure failure = find_target("teensy42", index, &target);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Error::Kind::usage);
}

const RegionUse& region(const MemoryReport& report, const std::string& name) {
  for (const RegionUse& one : report.regions) {
    if (one.name == name) return one;
  }
  static const RegionUse none;
  return none;
}

TEST(MemoryReport, CodeThatIsCopiedCountsWhereItRunsAndWhereItIsStored) {
  Toolchain t;
  // 40,000 bytes: two banks of 32 KB with 25,536 left in the second; 7,232 must go to win it back.
  t.write("main.S",
          " .syntax unified\n .thumb\n .section .text.fast, \"ax\"\n .global fast\n"
          " .type fast, %function\nfast:\n .space 40000\n .size fast, . - fast\n"
          " .section .text.main, \"ax\"\n .global main\n .type main, %function\nmain:\n bx lr\n"
          " .word fast\n .size main, . - main\n"
          " .bss\n .global buffer\n .type buffer, %object\nbuffer:\n .space 1000\n"
          " .size buffer, 1000\n");
  t.compile("main.S", "-mcpu=cortex-m7");
  t.link("main.o", "*(.text.fast)", "");
  const ElfIndex index = t.index();
  Target target;
  ASSERT_FALSE(find_target("teensy41", index, &target));
  const MemoryReport report = report_memory(index, target, nullptr);
  EXPECT_EQ(region(report, "ITCM").run, 40000u);
  EXPECT_EQ(region(report, "ITCM").stored, 0u);
  EXPECT_EQ(region(report, "ITCM").size, 65536u);
  EXPECT_EQ(region(report, "DTCM").size, 14u * 32768u);
  EXPECT_EQ(region(report, "DTCM").free(), 14u * 32768u - 1000u);
  EXPECT_GE(region(report, "flash").stored, 40000u);
  ASSERT_TRUE(report.banks);
  EXPECT_EQ(report.banks->needed, 2u);
  EXPECT_EQ(report.banks->left_in_last, 25536u);
  EXPECT_EQ(report.banks->to_win_back, 7232u);
  ASSERT_GE(report.items.size(), 2u);
  EXPECT_EQ(report.items[0].name, "fast");
  EXPECT_EQ(report.items[1].name, "buffer");
  EXPECT_EQ(report.items[1].bytes, 1000u);
  EXPECT_TRUE(report.overlaps.empty());
  EXPECT_TRUE(report.problems.empty());
}

// As with zephyr,sram and zephyr,dtcm on one node: two linker regions over the same memory.
TEST(MemoryReport, TwoLinkerRegionsOverOneMemoryAreAnOverlap) {
  Toolchain t;
  t.write("main.c",
          "int ram[100] = {1};\n"
          "__attribute__((section(\".dtcm_bss\"))) int fast[50];\n"
          "int main(void) { return ram[1] + fast[2]; }\n");
  t.compile("main.c");
  t.write("two.ld",
          "MEMORY { RAM : ORIGIN = 0x20000000, LENGTH = 128K\n"
          " DTCM : ORIGIN = 0x20000000, LENGTH = 128K\n"
          " FLASH : ORIGIN = 0x60000000, LENGTH = 1M }\nENTRY(main)\nSECTIONS {\n"
          " .text : { *(.text .text.*) } > FLASH\n"
          " datas : { *(.data .data.*) } > RAM AT > FLASH\n"
          " .dtcm_bss (NOLOAD) : { *(.dtcm_bss) } > DTCM\n"
          " /DISCARD/ : { *(.ARM.exidx*) } }\n");
  t.run(
      "arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -nostdlib -Wl,--no-check-sections "
      "-Wl,-Map=map -T two.ld main.o -o out.elf");
  const ElfIndex index = t.index(true);
  Target target;
  ASSERT_FALSE(find_target("teensy41-zephyr", index, &target));
  const MemoryReport report = report_memory(index, target, nullptr);
  ASSERT_EQ(report.overlaps.size(), 1u);
  EXPECT_EQ(report.overlaps[0].start, 0x20000000u);
  EXPECT_EQ(report.overlaps[0].bytes, 200u);  // 50 ints over 100
  EXPECT_FALSE(report.overlaps[0].is_stored);
  ASSERT_EQ(report.shared.size(), 1u);
  EXPECT_NE(report.shared[0].find("RAM and DTCM share 131072 bytes"), std::string::npos);
  EXPECT_EQ(region(report, "DTCM").occupied, 400u);  // each byte once
}

// As Zephyr's i.MX RT devicetree does since 4.0: OCRAM2 of 512 KB, behind it OCRAM of 256 KB, and
// RAM over the latter. One memory for the target; what stands in its second part is inside.
TEST(MemoryReport, LinkerRegionsThatFollowEachOtherAreOneMemory) {
  Toolchain t;
  t.write("main.c",
          "int ram[100] = {1};\n"
          "int main(void) { return ram[1]; }\n");
  t.compile("main.c");
  const auto report_with = [&](const std::string& memory) {
    t.write("parts.ld", "MEMORY { " + memory +
                            " FLASH : ORIGIN = 0x60000000, LENGTH = 1M }\nENTRY(main)\nSECTIONS {\n"
                            " .text : { *(.text .text.*) } > FLASH\n"
                            " datas : { *(.data .data.*) } > RAM AT > FLASH\n"
                            " /DISCARD/ : { *(.ARM.exidx*) } }\n");
    t.run(
        "arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -nostdlib -Wl,-Map=map -T parts.ld main.o "
        "-o out.elf");
    const ElfIndex index = t.index(true);
    Target target;
    EXPECT_FALSE(find_target("teensy41-zephyr", index, &target));
    return report_memory(index, target, nullptr);
  };
  MemoryReport report = report_with(
      "OCRAM2 : ORIGIN = 0x20200000, LENGTH = 512K\n RAM : ORIGIN = 0x20280000, LENGTH = 256K\n"
      " OCRAM : ORIGIN = 0x20280000, LENGTH = 256K\n");
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(region(report, "OCRAM").size, 768u * 1024);
  EXPECT_EQ(region(report, "OCRAM").run, 400u);
  report = report_with("RAM : ORIGIN = 0x20200000, LENGTH = 512K\n");
  EXPECT_EQ(region(report, "OCRAM").size, 512u * 1024);
  report = report_with("RAM : ORIGIN = 0x20280000, LENGTH = 256K\n");  // not from its start
  EXPECT_EQ(region(report, "OCRAM").size, 768u * 1024);
}

TEST(MemoryReport, SectionsBeyondOrOutsideRegionsAreProblems) {
  Toolchain t;
  t.write("main.c", "int main(void) { return 0; }\n");
  t.compile("main.c");
  t.link("main.o", "");
  const ElfIndex index = t.index();
  Target target;
  ASSERT_FALSE(parse_target("t", "name = t\nregion = flash 0x60000000 2\n", &target));
  MemoryReport report = report_memory(index, target, nullptr);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("bytes behind the end of flash"), std::string::npos);
  ASSERT_FALSE(parse_target("t", "name = t\nregion = flash 0x10000000 1M\n", &target));
  report = report_memory(index, target, nullptr);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("is in no region of target t"), std::string::npos);
}

}  // namespace
}  // namespace millrace::profile
