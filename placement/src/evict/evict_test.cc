// SPDX-License-Identifier: Apache-2.0
#include "millrace/placement/evict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/place_fixture.h"

namespace millrace::placement {
namespace {

using profile::testing::find;
using profile::testing::Toolchain;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::kLarge;
using ::testing::Not;
using testing::Place;
using ::testing::UnorderedElementsAre;

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
  static std::vector<std::string> names(const Eviction& eviction) {
    std::vector<std::string> out;
    for (const Evicted& one : eviction.evicted) out.push_back(one.name);
    return out;
  }
  // Compiles and links one source that is a program of its own.
  void program(const std::string& file, const std::string& text,
               const std::string& flags = Toolchain::kFlags) {
    t.write(file, text);
    t.compile(file, flags);
    const std::string object = file.substr(0, file.rfind('.')) + ".o";
    t.link(object, "*(.text.*)", "-Wl,--gc-sections -Wl,-e,reset_handler " + lto(flags));
    index = t.index(true);
  }
  static std::string lto(const std::string& flags) {
    return flags.find("-flto") == std::string::npos ? "" : flags;
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
  EXPECT_THAT(out.notes, Contains(HasSubstr("cannot be given an attribute")));
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

// Its caller stays, so a veneer of 8 bytes comes in (GNU ld: `ldr.w pc, [pc]` and the address).
TEST_F(Evict, VeneersForWhatIsStillCalledAreCharged) {
  sample("main", 30);
  options.never = {"never_runs", "small", "helper", "other", "main", "move_block", "reset_handler"};
  const uint32_t size = (find(index, "large")->size + 3) / 4 * 4;
  const Eviction all = evicted(size - 8);
  EXPECT_EQ(names(all), std::vector<std::string>{"large"});
  EXPECT_TRUE(all.is_enough);
  EXPECT_EQ(all.bytes, size - 8);
  EXPECT_EQ(all.veneer_bytes, 8u);
  EXPECT_FALSE(evicted(size - 4).is_enough);
}

TEST_F(Evict, WhatIsReachedByPointersOnlyNeedsNoVeneer) {
  sample("main", 30);
  options.never = {"large", "small", "helper", "other", "main", "move_block", "reset_handler"};
  const uint32_t size = (find(index, "never_runs")->size + 3) / 4 * 4;
  const Eviction out = evicted(size);
  EXPECT_EQ(names(out), std::vector<std::string>{"never_runs"});
  EXPECT_TRUE(out.is_enough);
  EXPECT_EQ(out.veneer_bytes, 0u);
}

// An attribute takes all that the compiler makes of a function: a part that never runs cannot leave
// without the rest, which is busy. The clone is made by hand, on the same line as a compiler's.
TEST_F(Evict, APartDoesNotLeaveWithoutItsFunction) {
  program("start.c",
          "#define WORK v = x; v = x * 3; v ^= x * 5; v += x * 7; v ^= x * 9; v += 1; return v;\n"
          "#define FAR __attribute__((noinline)) unsigned\n"
          "volatile unsigned v; unsigned part(unsigned) __asm__(\"busy.part.0\");\n"
          "FAR cold(unsigned x) { WORK }\n"
          "FAR busy(unsigned x) { v = 4; WORK } FAR part(unsigned x) { v = 2; v = 6; WORK }\n"
          "void reset_handler(void) { for (;;) v = v == 5 ? cold(v) + part(v) : busy(v); }\n");
  ASSERT_NE(find(index, "busy.part.0"), nullptr);
  sample("busy", 30);
  sample("reset_handler", 30);
  EXPECT_EQ(names(evicted(4)), std::vector<std::string>{"cold"});
  options.never = {"reset_handler"};
  const Eviction all = evicted(100'000);
  // One edit, one row.
  EXPECT_EQ(names(all), (std::vector<std::string>{"busy", "cold"}));
  EXPECT_GT(all.weight, 0u);
  options.never = {"reset_handler", "busy"};
  EXPECT_EQ(names(evicted(100'000)), std::vector<std::string>{"cold"});
}

// While a FlexSPI sends a command and the flash erases, nothing can be fetched from it.
TEST_F(Evict, WhatDrivesTheSlowMemorysControllerStays) {
  program(
      "start.c",
      "volatile unsigned v;\n"
      "#define WORK v = 1; v = 20; v = 300; v ^= 5; v += 7; v ^= 9\n"
      "#define REG(n) (*(volatile unsigned *)(0x402A8000 + (n)))\n"
      "__attribute__((noinline)) unsigned deep(unsigned x) { WORK; return v; }\n"
      "__attribute__((noinline)) void wait_ready(void) { WORK; while (REG(0x14) & 1) deep(v); }\n"
      "__attribute__((noinline)) void erase(unsigned a) { REG(0xA0) = a; REG(0xB0) = 1; "
      "v = deep(a); wait_ready(); WORK; }\n"
      "__attribute__((noinline)) void uart(void) { WORK; *(volatile unsigned *)0x40184000 = v; }\n"
      "__attribute__((noinline)) void store(unsigned x) { if (x) erase(x); WORK; uart(); }\n"
      "void reset_handler(void) { for (;;) { store(v); ++v; } }\n");
  sample("reset_handler", 30);
  const std::vector<std::string> all = {"deep", "wait_ready", "erase", "uart", "store"};
  EXPECT_THAT(names(evicted(100'000)), IsSupersetOf(all));
  use((std::string(kLarge) + "controller = FLASH 0x402A8000 16K\n").c_str());
  const Eviction out = evicted(100'000);
  EXPECT_THAT(names(out), IsSupersetOf({"uart", "store"}));
  for (const char* kept : {"deep", "wait_ready", "erase"}) {
    EXPECT_THAT(names(out), Not(Contains(kept)));
  }
  EXPECT_EQ(out.kept_for_controller, 3u);
  EXPECT_THAT(out.drivers, UnorderedElementsAre("wait_ready", "erase"));
}

// g++ ignores the attribute on a template, and refuses it for inline functions.
TEST_F(Evict, WhatNoAttributeCanMoveIsForTheLinkerScript) {
  const std::string text =
      "extern \"C\" { volatile unsigned v; }\n"
      "#define FAR __attribute__((noinline))\n"
      "#define WORK v = 1; v = 20; v = 300; v ^= 5; v += 7; v ^= 9; return v\n"
      "template <class T> FAR T doubled(T x) { v = x; WORK; }\n"
      "struct Shape {\n"
      "  FAR unsigned within(unsigned x) { v = x + 4; WORK; }\n"
      "  unsigned outside(unsigned x);\n"
      "  virtual FAR unsigned area() { v = 7; WORK; }\n"
      "};\n"
      "FAR unsigned Shape::outside(unsigned x) { v = x * 5; WORK; }\n"
      "struct Made { Made(); }; Made::Made() { v = 1; }\n"
      "Made made;\n"
      "namespace deep { FAR unsigned plain(unsigned x) { v = x + 6; WORK; } }\n"
      "asm(\".section .text.by_hand,\\\"ax\\\",%progbits\\n.global by_hand\\n.thumb_func\\n\"\n"
      "    \".type by_hand,%function\\nby_hand: movs r0, #1\\nbx lr\\n.space 32\\n\"\n"
      "    \".size by_hand, .-by_hand\\n.text\\n\");\n"
      "extern \"C\" void by_hand();\n"
      "extern \"C\" void reset_handler() { static Shape s; Shape* volatile p = &s;\n"
      "  for (;;) { v = doubled(v) + doubled((unsigned short)v) + s.within(v) + s.outside(v);\n"
      "    v += p->area() + deep::plain(v); by_hand(); } }\n";
  const std::string flags =
      std::string(Toolchain::kFlags) + "-fno-exceptions -fno-rtti -fno-threadsafe-statics ";
  for (const char* more : {"", "-flto"}) {
    program("start.cc", text, flags + more);
    samples.samples.clear();
    sample("reset_handler", 30);
    size_t editable = 0, others = 0;
    for (const Evicted& one : evicted(100'000).evicted) {
      const bool is_outside = one.name.find("outside") != std::string::npos;
      const bool is_plain = one.name.find("plain") != std::string::npos;
      (one.has_source ? editable : others) += 1;
      if (one.name == "reset_handler" || one.name.find("Made::Made") != std::string::npos) continue;
      // Where all is local, a function of a namespace looks like a member within its class.
      if (is_plain && *more != 0) continue;
      EXPECT_EQ(one.has_source, is_outside || is_plain) << one.name << ' ' << more;
    }
    EXPECT_GE(editable, 2u) << more;
    EXPECT_GE(others, 4u) << more;
  }
}

// Teensyduino's link-time optimisation: the linker's command has no -ffunction-sections, so all
// code is in one section, of which an attribute still moves each function.
TEST_F(Evict, FunctionsLeaveASectionThatTheyShareOneByOne) {
  const std::string text =
      "volatile unsigned v;\n"
      "#define FAR __attribute__((noinline))\n"
      "#define WORK v = 1; v = 20; v = 300; v ^= 5; v += 7; v ^= 9; return v\n"
      "template <class T> FAR T doubled(T x) { v = x; WORK; }\n"
      "FAR unsigned cold(unsigned x) { v = x * 5; WORK; }\n"
      "FAR unsigned busy(unsigned x) { v = x * 6; WORK; }\n"
      "extern \"C\" FAR void tick_isr() { v = 1; v = 2; v = 3; }\n"
      "extern \"C\" void reset_handler() { for (;;) { v = cold(v) + busy(v) + doubled(v);\n"
      "  tick_isr(); } }\n";
  t.write("one.cc", text);
  t.compile("one.cc", std::string(Toolchain::kFlags) + "-fno-exceptions -fno-rtti -flto ");
  t.link("one.o", "*(.text .text.*)", "-O2 -flto -Wl,-e,reset_handler");
  index = t.index(true);
  sample("reset_handler", 30);
  for (const profile::Function& one : index.functions()) {
    if (one.name.find("busy") != std::string::npos) {
      for (int i = 0; i < 30; ++i) add(one.start);
    }
  }
  const Eviction out = evicted(8);
  ASSERT_EQ(out.evicted.size(), 1u);
  EXPECT_THAT(out.evicted[0].name, HasSubstr("cold"));
  EXPECT_TRUE(out.evicted[0].has_source);
  EXPECT_TRUE(out.evicted[0].entry.section.empty() && out.evicted[0].entry.file.empty());
  EXPECT_EQ(out.weight, 0u);
  const Eviction all = evicted(100'000);
  EXPECT_THAT(names(all), Contains(HasSubstr("busy")));
  EXPECT_THAT(names(all), Not(Contains(HasSubstr("tick_isr"))));
  EXPECT_THAT(names(all), Not(Contains(HasSubstr("doubled"))));
  EXPECT_THAT(all.notes, Contains(HasSubstr("share a section")));
}

// Their names are in the symbols of C++ mangled, and may end in a number. Who attaches them is
// hidden in tables of pointers.
TEST_F(Evict, HandlersOfCppAreKnownByTheirNames) {
  std::string text = "volatile unsigned v;\n#define FAR __attribute__((noinline)) void\n";
  const std::vector<std::string> handlers = {"lpi2c1_isr", "spi_dma_rxISR0", "UART_IRQHandler",
                                             "tick_interrupt_vector"};
  std::string calls;
  for (const std::string& name : handlers) {
    text += "FAR " + name + "() { v = 1; v = 2; v = 3; }\n";
    calls += name + "(); ";
  }
  text +=
      "struct Port { static FAR rx_isr(); };\nFAR Port::rx_isr() { v = 4; v = 5; }\n"
      "FAR visor() { v = 6; v = 7; }\n"
      "extern \"C\" void reset_handler() { for (;;) { visor(); Port::rx_isr(); " +
      calls + "} }\n";
  program("start.cc", text, std::string(Toolchain::kFlags) + "-fno-exceptions -fno-rtti ");
  sample("reset_handler", 30);
  const std::vector<std::string> out = names(evicted(100'000));
  EXPECT_THAT(out, Contains(HasSubstr("visor")));
  EXPECT_THAT(out, Not(Contains(HasSubstr("rx_isr"))));
  for (const std::string& name : handlers) EXPECT_THAT(out, Not(Contains(HasSubstr(name))));
}

// What C++ defines in a header is inline. Link-time optimisation makes such functions local or, for
// its other partitions, global; weak they are no more.
TEST_F(Evict, FunctionsOfHeadersAreForTheLinkerScript) {
  t.write("shape.h",
          "#pragma once\nextern volatile unsigned v;\n"
          "#define FAR __attribute__((noinline))\n"
          "struct Shape {\n  virtual FAR unsigned area() { v = 7; v = 8; v = 9; return v; }\n"
          "  FAR unsigned size() { v = 17; v = 18; v = 19; return v; }\n};\n"
          "inline FAR unsigned twice(unsigned x) { v = x * 2; v = 3; v = 4; return v; }\n");
  const std::string text =
      "#include \"shape.h\"\nvolatile unsigned v;\n"
      "FAR unsigned plain(unsigned x) { v = x * 6; v = 20; v = 21; return v; }\n"
      "extern \"C\" void reset_handler() { static Shape s; Shape* volatile p = &s;\n"
      "  for (;;) v = p->area() + p->size() + twice(v) + plain(v); }\n";
  for (const char* more : {"", "-flto -flto-partition=max"}) {
    program("start.cc", text, std::string(Toolchain::kFlags) + "-fno-exceptions -fno-rtti " + more);
    samples.samples.clear();
    sample("reset_handler", 30);
    size_t editable = 0;
    for (const Evicted& one : evicted(100'000).evicted) {
      if (one.name == "reset_handler") continue;
      EXPECT_EQ(one.has_source, one.name.find("plain") != std::string::npos) << one.name << more;
      editable += one.has_source ? 1 : 0;
    }
    EXPECT_EQ(editable, 1u) << more;
  }
}

// Without exception numbers nobody knows what a handler calls further down.
TEST_F(Evict, SamplesThatDoNotKnowInterruptsSaySo) {
  sample("small", 30);
  EXPECT_THAT(evicted(16).notes, Contains(HasSubstr("record with --mode callers")));
  samples.has_exception = true;
  EXPECT_THAT(evicted(16).notes, Not(Contains(HasSubstr("--mode callers"))));
}

TEST_F(Evict, TheRegionIsChosenAsForPlacing) {
  sample("small", 30);
  const auto refused = [&](const std::string& region) {
    EvictOptions wanted;
    wanted.bytes = 16;
    wanted.region = region;
    Eviction out;
    const Failure failure = evict(&index, samples, target, wanted, &out);
    return failure ? failure->message : "";
  };
  EXPECT_EQ(refused("OCRAM"), "target large has no region OCRAM (it has ITCM, DTCM, FLASH)");
  EXPECT_EQ(refused("FLASH"),
            "region FLASH of target large is not fast: nothing is won there (fast: ITCM, DTCM)");
  use("name = slow\nregion = FLASH 0x60000000 1M cached code data\n");
  EXPECT_THAT(refused(""), HasSubstr("target slow has no fast memory for code"));
}

}  // namespace
}  // namespace millrace::placement
