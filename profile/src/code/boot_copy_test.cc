// SPDX-License-Identifier: Apache-2.0
// Programs that copy themselves in the ways that start-up codes do, each once safe and once with
// something that the copy needs among what is copied.
#include "millrace/profile/boot_copy.h"

#include "testing/toolchain.h"

namespace millrace::profile {
namespace {

using testing::Toolchain;

// Where sections are is known to the program; what goes to ITCM is up to each test.
std::string script(const std::string& fast) {
  return "MEMORY { ITCM : ORIGIN = 0x20, LENGTH = 128K  DTCM : ORIGIN = 0x20000000, LENGTH = 128K\n"
         " FLASH : ORIGIN = 0x60000000, LENGTH = 1M }\n"
         "ENTRY(Reset_Handler)\nSECTIONS {\n"
         " .vectors : { KEEP(*(.vectors)) } > FLASH\n"
         " .itcm : { itcm_start = .; " +
         fast +
         " . = ALIGN(4); itcm_end = .; } > ITCM AT > FLASH\n itcm_load = LOADADDR(.itcm);\n"
         " .text : { *(.text .text.*) } > FLASH\n"
         " .rodata : { *(.rodata .rodata.*) } > FLASH\n"
         " .data : { data_start = .; *(.data .data.*) . = ALIGN(4); data_end = .; } > DTCM AT > "
         "FLASH\n data_load = LOADADDR(.data);\n"
         " .bss (NOLOAD) : { *(.bss .bss.* COMMON) } > DTCM\n"
         " stack_top = 0x20020000;\n"
         " /DISCARD/ : { *(.ARM.exidx*) *(.ARM.extab*) } }\n";
}

const char* const kCommon = R"(
#include <stddef.h>
#include <stdint.h>
extern uint32_t itcm_start, itcm_end, itcm_load, data_start, data_end, data_load, stack_top;
void Reset_Handler(void);
int main(void);
__attribute__((section(".vectors"), used)) const void* const vectors[] = {&stack_top, Reset_Handler};
__attribute__((noinline)) void* memcpy(void* to, const void* from, size_t n) {
  char* t = to; const char* f = from;
  while (n--) { *t++ = *f++; __asm__ volatile("" ::: "memory"); }
  return to;
}
volatile int value = 1;
__attribute__((noinline)) void hot(void) { value += 2; }
__attribute__((noinline)) void clock_init(void) { value = 3; }
__attribute__((noinline)) void SystemInit(void) {
  clock_init();
  value = 4;
}
)";
const char* const kMain = "int main(void) { for (;;) hot(); }\n";
// The copy by a call.
const char* const kByCall = R"(
void Reset_Handler(void) {
  SystemInit();
  memcpy(&itcm_start, &itcm_load, (char*)&itcm_end - (char*)&itcm_start);
  memcpy(&data_start, &data_load, (char*)&data_end - (char*)&data_start);
  hot();
  main();
}
)";

class BootCopy : public ::testing::Test {
 protected:
  void build(const std::string& source, const std::string& fast,
             const std::string& flags = Toolchain::kFlags) {
    tools_.write("a.c", kCommon + source + kMain);
    tools_.compile("a.c", flags + " -fno-tree-loop-distribute-patterns");
    tools_.write("boot.ld", script(fast));
    tools_.run("arm-none-eabi-gcc " + flags +
               " -nostdlib -Wl,--no-warn-rwx-segments -T boot.ld a.o -o out.elf");
    analyse();
  }
  void analyse(const BootOptions& options = {}) {
    index_ = tools_.index();
    const Failure failure = analyse_boot(index_, CallGraph::build(index_), options, &report_);
    ASSERT_FALSE(failure) << failure->message;
    ASSERT_EQ(report_.sections.size(), 1u);
    ASSERT_TRUE(report_.sections[0].copy_is_found);
  }
  std::vector<std::string> names(const std::vector<BootStep>& steps) const {
    std::vector<std::string> out;
    for (const BootStep& step : steps) out.push_back(index_.functions()[step.function].name);
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<std::string> before() const { return names(report_.sections[0].before); }
  std::vector<std::string> unsafe() const { return names(report_.sections[0].unsafe); }

  using Names = std::vector<std::string>;
  Toolchain tools_;
  ElfIndex index_;
  BootReport report_;
};

TEST_F(BootCopy, WhatRunsBehindTheCopyMayBeCopied) {
  build(kByCall, "*(.text.hot)");
  EXPECT_EQ(before(), (Names{"Reset_Handler", "SystemInit", "clock_init", "memcpy"}));
  EXPECT_EQ(unsafe(), Names{});
  EXPECT_TRUE(report_.problems.empty());
}

TEST_F(BootCopy, CopyRoutineAmongTheCopiedIsUnsafe) {
  build(kByCall, "*(.text.hot .text.memcpy)");
  EXPECT_EQ(unsafe(), Names{"memcpy"});
  const CopiedSection& section = report_.sections[0];
  // A call from flash to ITCM goes by a veneer.
  EXPECT_EQ(boot_path(index_, section, section.unsafe[0]), "Reset_Handler -> memcpy (by a veneer)");
}

TEST_F(BootCopy, WhatTheResetPathCallsIsUnsafe) {
  build(kByCall, "*(.text.clock_init)");
  EXPECT_EQ(unsafe(), Names{"clock_init"});
  const CopiedSection& section = report_.sections[0];
  EXPECT_EQ(boot_path(index_, section, section.unsafe[0]),
            "Reset_Handler -> SystemInit -> clock_init (by a veneer)");
}

// 20,000 places know where the section is stored, each with a call: looked at pairwise they would
// keep the analysis busy for many minutes.
TEST_F(BootCopy, AnyNumberOfPlacesThatKnowTheSectionComeToAnEnd) {
  build(R"(
__attribute__((naked)) void fill(void) {
  __asm__(".rept 20000\n movw r1, #:lower16:itcm_load\n movt r1, #:upper16:itcm_load\n"
          " bl clock_init\n .endr\n"
          " movw r0, #:lower16:itcm_start\n movt r0, #:upper16:itcm_start\n"
          " movs r2, #4\n b memcpy");
}
void Reset_Handler(void) {
  SystemInit();
  fill();
  hot();
  main();
}
)",
        "*(.text.hot)");
  EXPECT_EQ(before(), (Names{"Reset_Handler", "SystemInit", "clock_init", "fill", "memcpy"}));
  EXPECT_EQ(unsafe(), Names{});
}

TEST_F(BootCopy, EveryOptimisationLevelSaysTheSame) {
  for (const char* level : {"-O0", "-O1", "-Os", "-O3"}) {
    SCOPED_TRACE(level);
    const std::string flags = std::string("-mcpu=cortex-m7 -mthumb -ffunction-sections ") + level +
                              " -ffreestanding -fno-inline -fno-ipa-icf";
    build(kByCall, "*(.text.hot)", flags);
    EXPECT_EQ(before(), (Names{"Reset_Handler", "SystemInit", "clock_init", "memcpy"}));
    EXPECT_EQ(unsafe(), Names{});
    build(kByCall, "*(.text.memcpy)", flags);
    EXPECT_EQ(unsafe(), Names{"memcpy"});
  }
}

// STM32's and ours: a loop in the reset handler itself.
TEST_F(BootCopy, CopyByALoop) {
  const char* const source = R"(
void Reset_Handler(void) {
  clock_init();
  for (uint32_t *to = &itcm_start, *from = &itcm_load; to < &itcm_end;) *to++ = *from++;
  hot();
  main();
}
)";
  build(source, "*(.text.hot .text.memcpy)");
  EXPECT_EQ(before(), (Names{"Reset_Handler", "clock_init"}));
  EXPECT_EQ(unsafe(), Names{});
  build(source, "*(.text.clock_init)");
  EXPECT_EQ(unsafe(), Names{"clock_init"});
}

// MCUXpresso, CMSIS: a table says what to copy, a routine does it, once for each entry.
TEST_F(BootCopy, CopyByATable) {
  const char* const source = R"(
struct Part { void *from, *to, *end; };
static const struct Part parts[] = {{&data_load, &data_start, &data_end},
                                    {&itcm_load, &itcm_start, &itcm_end}};
__attribute__((noinline)) void data_init(const struct Part* p) {
  memcpy(p->to, p->from, (char*)p->end - (char*)p->to);
}
void Reset_Handler(void) {
  SystemInit();
  for (const struct Part* p = parts; p < parts + 2; ++p) data_init(p);
  hot();
  main();
}
)";
  build(source, "*(.text.hot)");
  EXPECT_NE(report_.sections[0].copy_table, 0u);
  EXPECT_EQ(before(), (Names{"Reset_Handler", "SystemInit", "clock_init", "data_init", "memcpy"}));
  build(source, "*(.text.memcpy)");
  EXPECT_EQ(unsafe(), Names{"memcpy"});
  build(source, "*(.text.data_init)");
  EXPECT_EQ(unsafe(), Names{"data_init"});
  // The table itself among the data that it copies.
  std::string writable = source;
  writable.replace(writable.find("static const struct"), 19, "volatile struct");
  writable.replace(writable.find("const struct Part* p)"), 5, "volatile");
  writable.replace(writable.find("for (const struct"), 10, "for (volatile");
  build(writable, "*(.text.hot)");
  ASSERT_EQ(report_.problems.size(), 1u);
  EXPECT_NE(report_.problems[0].find("is itself copied, with .data"), std::string::npos);
}

// Zephyr: the copy is a function of its own, some calls down.
TEST_F(BootCopy, CopySomeCallsDown) {
  const char* const source = R"(
__attribute__((noinline)) void early_memcpy(void* to, const void* from, size_t n) {
  memcpy(to, from, n);
}
__attribute__((noinline)) void copy_relocated(void) {
  early_memcpy(&itcm_start, &itcm_load, (char*)&itcm_end - (char*)&itcm_start);
}
__attribute__((noinline)) void data_copy(void) {
  early_memcpy(&data_start, &data_load, (char*)&data_end - (char*)&data_start);
  copy_relocated();
}
__attribute__((noinline)) void prep_c(void) {
  clock_init();
  data_copy();
  hot();
  main();
}
void Reset_Handler(void) { prep_c(); }
)";
  build(source, "*(.text.hot .text.main)");
  EXPECT_EQ(before(), (Names{"Reset_Handler", "clock_init", "copy_relocated", "data_copy",
                             "early_memcpy", "memcpy", "prep_c"}));
  EXPECT_EQ(unsafe(), Names{});
  build(source, "*(.text.early_memcpy)");
  EXPECT_EQ(unsafe(), Names{"early_memcpy"});
  // The user's word for where it ends gives the same.
  BootOptions options;
  options.copy_end = "data_copy";
  analyse(options);
  EXPECT_EQ(unsafe(), Names{"early_memcpy"});
}

TEST_F(BootCopy, AddressesThatStartUpCodeMakesAreUnknown) {
  const char* const source = R"(
typedef void (*Function)(void);
volatile Function hook;
void Reset_Handler(void) {
  hook = hot;
  if (value) hook();
  memcpy(&itcm_start, &itcm_load, (char*)&itcm_end - (char*)&itcm_start);
  main();
}
)";
  build(source, "*(.text.hot)");
  EXPECT_EQ(unsafe(), Names{});
  const std::vector<BootUnknown>& unknown = report_.sections[0].unknown;
  ASSERT_EQ(unknown.size(), 2u);
  EXPECT_EQ(index_.functions()[unknown[0].target].name, "hot");
  EXPECT_EQ(unknown[1].target, kNone);  // the call through `hook`
}

TEST_F(BootCopy, LongCallsAreFollowed) {
  build(kByCall, "*(.text.memcpy)", std::string(Toolchain::kFlags) + "-mlong-calls");
  EXPECT_EQ(unsafe(), Names{"memcpy"});
}

TEST_F(BootCopy, CortexM0AndM33) {
  for (const char* cpu : {"cortex-m0plus", "cortex-m33"}) {
    SCOPED_TRACE(cpu);
    const std::string flags = std::string("-mcpu=") + cpu +
                              " -mthumb -Os -ffunction-sections -ffreestanding -fno-ipa-icf";
    build(kByCall, "*(.text.hot)", flags);
    EXPECT_EQ(unsafe(), Names{});
    build(kByCall, "*(.text.clock_init)", flags);
    EXPECT_EQ(unsafe(), Names{"clock_init"});
  }
}

TEST_F(BootCopy, WithoutMappingSymbolsTheSame) {
  build(kByCall, "*(.text.clock_init)");
  tools_.run("arm-none-eabi-strip -g -N '$t' -N '$d' out.elf");
  tools_.run("arm-none-eabi-objcopy --wildcard -N '$*' out.elf");
  analyse();
  EXPECT_FALSE(index_.has_mapping_symbols());
  EXPECT_EQ(unsafe(), Names{"clock_init"});
}

TEST_F(BootCopy, VectorTableAndStackAmongTheCopied) {
  // The only vector table goes to ITCM with the code, as does the initial stack pointer.
  tools_.write("a.c", std::string(kCommon) + kByCall + kMain);
  tools_.compile("a.c");
  std::string text = script("KEEP(*(.vectors)) *(.text.hot) stack_low = .;");
  text.replace(text.find(" .vectors : { KEEP(*(.vectors)) } > FLASH\n"), 42, "");
  text.replace(text.find("stack_top = 0x20020000"), 22, "stack_top = stack_low - 4");
  tools_.write("boot.ld", text);
  tools_.run(
      "arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -nostdlib -Wl,--no-warn-rwx-segments "
      "-T boot.ld a.o -o out.elf");
  analyse();
  ASSERT_EQ(report_.problems.size(), 1u);
  EXPECT_NE(report_.problems[0].find("stands only in .itcm, which is copied"), std::string::npos);
}

TEST_F(BootCopy, StackInTheCopiedSection) {
  tools_.write("a.c", std::string(kCommon) + kByCall + kMain);
  tools_.compile("a.c");
  std::string text = script("*(.text.hot) . += 64; stack_low = .;");
  text.replace(text.find("stack_top = 0x20020000"), 22, "stack_top = stack_low - 0");
  tools_.write("boot.ld", text);
  tools_.run(
      "arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -nostdlib -Wl,--no-warn-rwx-segments "
      "-T boot.ld a.o -o out.elf");
  analyse();
  ASSERT_EQ(report_.problems.size(), 1u);
  EXPECT_NE(report_.problems[0].find("lies in .itcm"), std::string::npos);
}

TEST_F(BootCopy, NamesThatAreNoFunctionsAreRefused) {
  build(kByCall, "*(.text.hot)");
  const CallGraph graph = CallGraph::build(index_);
  BootOptions options;
  options.copy_end = "nothing_like_it";
  Failure failure = analyse_boot(index_, graph, options, &report_);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Error::Kind::usage);
  EXPECT_NE(failure->message.find("has no function nothing_like_it"), std::string::npos);
  options = {.entry = "", .copy_end = "vectors"};
  EXPECT_TRUE(analyse_boot(index_, graph, options, &report_));
}

}  // namespace
}  // namespace millrace::profile
