// SPDX-License-Identifier: Apache-2.0
// The traps of attribution on a microcontroller, each with a program made here. Line numbers are
// those of the sources below, counted from 1.
#include <gtest/gtest.h>

#include <set>

#include "millrace/profile/elf_index.h"
#include "millrace/profile/similar_names.h"
#include "testing/toolchain.h"

namespace millrace::profile {
namespace {

using testing::find;
using testing::Toolchain;

std::string base(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "file.c:12" of the innermost frame.
std::string line_of(ElfIndex& index, uint32_t pc) {
  const Location location = index.locate(pc);
  if (location.frames.empty() || location.frames[0].at.file == kNone) return "?";
  return base(index.files()[location.frames[0].at.file]) + ":" +
         std::to_string(location.frames[0].at.line);
}

std::vector<std::string> frames_of(ElfIndex& index, uint32_t pc) {
  std::vector<std::string> out;
  for (const Frame& frame : index.locate(pc).frames) out.push_back(index.names()[frame.name]);
  return out;
}

constexpr const char* kTrapMain = "int hot(int); int main(void) { return hot(3); }\n";

TEST(Traps, CollectedFunctionsDoNotTakeTheNameOrLinesOfTheFunctionAtZero) {
  Toolchain t;
  t.write("main.c", kTrapMain);
  t.write("dead.c",
          "int dead_one(int x) { return x * 3 + 1; }\n"
          "int dead_two(int x) { for (int i = 0; i < x; ++i) x ^= i; return x; }\n"
          "int dead_three(int x) { return x / 7; }\n");
  t.write("hot.c",
          "int dead_before(int x) { return x ^ 5; }\n"
          "\n"
          "int hot(int x) {\n"
          "  int sum = 0;\n"
          "  for (int i = 0; i < x; ++i)\n"
          "    sum ^= sum * x + i;\n"
          "  return sum;\n"
          "}\n"
          "int dead_behind(int x) { return x + 77; }\n");
  for (const char* file : {"main.c", "dead.c", "hot.c"}) t.compile(file);
  // The dead units come first, so that a reader that takes the first match takes theirs.
  t.link("dead.o hot.o main.o", "*(.text.hot)");
  ElfIndex index = t.index();
  const Function* hot = find(index, "hot");
  ASSERT_NE(hot, nullptr);
  ASSERT_EQ(hot->start, 0u);
  EXPECT_EQ(base(hot->file), "hot.c");
  EXPECT_EQ(hot->line, 3u);
  for (uint32_t pc = 0; pc < hot->size; pc += 2) {
    EXPECT_EQ(frames_of(index, pc), std::vector<std::string>{"hot"}) << pc;
    const std::string line = line_of(index, pc);
    EXPECT_TRUE(line >= "hot.c:3" && line <= "hot.c:8") << pc << " " << line;
  }
  EXPECT_EQ(find(index, "dead_one"), nullptr);
}

TEST(Traps, WithoutAFunctionAtZeroNothingIsThere) {
  Toolchain t;
  t.write("main.c", kTrapMain);
  t.write("hot.c", "int dead(int x) { return x * 9; }\nint hot(int x) { return x + 1; }\n");
  t.compile("main.c");
  t.compile("hot.c");
  t.link("hot.o main.o", ". = 0x20; *(.text.hot)");
  ElfIndex index = t.index();
  EXPECT_EQ(index.function_at(0), kNone);
  EXPECT_TRUE(index.locate(0).frames.empty());
  ASSERT_NE(find(index, "hot"), nullptr);
  EXPECT_EQ(find(index, "hot")->start, 0x20u);
  EXPECT_EQ(line_of(index, 0x20), "hot.c:2");
}

TEST(Traps, AnInlineFunctionKeptFromOneUnitIsDescribedByAll) {
  Toolchain t;
  t.write("h.h", "struct S { __attribute__((noinline)) static int f(int x) { return x * 5; } };\n");
  t.write("a.cc", "#include \"h.h\"\nint a(int x) { return S::f(x) + 1; }\n");
  t.write("b.cc", "#include \"h.h\"\nint a(int); int main() { return S::f(3) + a(1); }\n");
  t.compile("a.cc");
  t.compile("b.cc");
  t.link("a.o b.o", "*(.text._ZN1S1fEi)");
  ElfIndex index = t.index();
  EXPECT_EQ(frames_of(index, 0), std::vector<std::string>{"S::f(int)"});
  EXPECT_EQ(line_of(index, 0), "h.h:1");
}

TEST(Traps, TheThumbBitIsNoPartOfAnAddress) {
  Toolchain t;
  t.write("main.c", kTrapMain);
  t.write("hot.c", "int hot(int x) { return x + 1; }\n");
  t.compile("main.c");
  t.compile("hot.c");
  t.link("main.o hot.o", "");
  const ElfIndex index = t.index();
  for (const Function& function : index.functions()) EXPECT_EQ(function.start % 2, 0u);
  const Function* hot = find(index, "hot");
  ASSERT_NE(hot, nullptr);
  EXPECT_EQ(index.function_at(hot->start), index.function_named("hot"));
}

TEST(Traps, MappingSymbolsAreNoFunctionsAndLiteralPoolsBelongToTheirFunction) {
  Toolchain t;
  t.write("main.c", kTrapMain);
  t.write("hot.S",
          " .syntax unified\n .thumb\n .text\n .global hot\n .type hot, %function\n .thumb_func\n"
          "hot:\n ldr r0, =0x12345678\n bx lr\n .ltorg\n .size hot, . - hot\n");
  t.compile("main.c");
  t.compile("hot.S", "-mcpu=cortex-m7");
  t.link("main.o hot.o", "");
  const ElfIndex index = t.index();
  for (const Function& function : index.functions()) EXPECT_NE(function.name[0], '$');
  const Function* hot = find(index, "hot");
  ASSERT_NE(hot, nullptr);
  // ldr and bx, two bytes each, and the word of the pool.
  EXPECT_EQ(hot->size, 8u);
  EXPECT_EQ(index.function_at(hot->start + 4), index.function_named("hot"));
}

TEST(Traps, AssemblerSymbolsWithoutSizeReachToTheNextAndLocalLabelsDoNotCutThem) {
  Toolchain t;
  t.write("main.c",
          "int first(void), second(void); int main(void) { return first() + second(); }\n");
  t.write("asm.S",
          " .syntax unified\n .thumb\n .text\n .global first, second, third\n"
          " .type first, %function\n"
          "first:\n movs r0, #9\n"
          "loop:\n subs r0, #1\n bne loop\n bx lr\n"  // 8 bytes in all
          "second:\n movs r0, #1\n bx lr\n"           // no .type: a label
          "third:\n bx lr\n .space 10\n");
  t.compile("main.c");
  t.compile("asm.S", "-mcpu=cortex-m7");
  t.link("main.o asm.o", "", "");
  const ElfIndex index = t.index();
  const Function* first = find(index, "first");
  const Function* second = find(index, "second");
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(find(index, "loop"), nullptr);
  EXPECT_EQ(first->size, 8u);
  EXPECT_TRUE(first->size_is_estimated);
  EXPECT_EQ(second->start, first->start + 8);
  EXPECT_EQ(second->size, 4u);
  EXPECT_EQ(second->kind, FunctionKind::assembler);
}

TEST(Traps, AliasesAreOneFunctionNamedAsInTheSource) {
  Toolchain t;
  t.write("main.c",
          "int a_alias(int) __attribute__((alias(\"real\")));\n"
          "int weak_alias(int) __attribute__((weak, alias(\"real\")));\n"
          "__attribute__((noinline)) int real(int x) { return x * 3; }\n"
          "int main(void) { return a_alias(1) + weak_alias(2); }\n");
  t.compile("main.c");
  t.link("main.o", "");
  const ElfIndex index = t.index();
  const Function* real = find(index, "a_alias");
  ASSERT_NE(real, nullptr);
  EXPECT_EQ(real->name, "real");
  EXPECT_EQ(std::set<std::string>(real->aliases.begin(), real->aliases.end()),
            (std::set<std::string>{"a_alias", "weak_alias"}));
}

TEST(Traps, StaticFunctionsOfOneNameKeepTheirFiles) {
  Toolchain t;
  const std::string body = "__attribute__((noinline)) static int dup(int x) { return x * ";
  t.write("a.c", body + "3; }\nint a(int x) { return dup(x); }\n");
  t.write("b.c", body + "5 + 1; }\nint b(int x) { return dup(x); }\n");
  t.write("main.c", "int a(int), b(int); int main(void) { return a(1) + b(2); }\n");
  for (const char* file : {"a.c", "b.c", "main.c"})
    t.compile(file, std::string(Toolchain::kFlags) + "-fno-optimize-sibling-calls");
  t.link("a.o b.o main.o", "*b.o(.text.dup)");
  ElfIndex index = t.index();
  std::map<std::string, uint32_t> found;
  for (const Function& function : index.functions()) {
    if (function.name == "dup") found[base(function.file)] = function.start;
  }
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found["b.c"], 0u);
  EXPECT_GE(found["a.c"], 0x60000000u);
  EXPECT_EQ(line_of(index, 0), "b.c:1");
}

TEST(Traps, OfEqualStaticFunctionsTheCollectedOneIsNotTaken) {
  Toolchain t;
  const std::string body = "__attribute__((noinline,used)) static int dup(int x) { return x * ";
  t.write("a.c", "\n\n\n" + body + "3; }\nint a(int x) { return dup(x); }\n");
  t.write("b.c", body + "3; }\nint b(int x) { return dup(x); }\n");
  t.write("main.c", "int b(int); int main(void) { return b(2); }\n");
  for (const char* file : {"a.c", "b.c", "main.c"}) t.compile(file);
  t.link("a.o b.o main.o", "*b.o(.text.dup)");
  ElfIndex index = t.index();
  EXPECT_EQ(base(index.functions()[index.function_at(0)].file), "b.c");
  EXPECT_EQ(line_of(index, 0), "b.c:1");
}

TEST(Traps, ClonesAreFunctionsOfTheirOwnWithTheLinesOfTheSource) {
  Toolchain t;
  t.write("main.c",
          "volatile int sink;\n"
          "__attribute__((noinline)) static int work(int mode, int x) {\n"
          "  if (mode == 1) { for (int i = 0; i < x; ++i) sink += i; return x; }\n"
          "  return sink;\n"
          "}\n"
          "int main(void) { int s = 0; for (int i = 0; i < 9; ++i) s += work(1, i); return s; }\n");
  t.compile("main.c", std::string(Toolchain::kFlags) + "-fipa-cp-clone -O3");
  t.link("main.o", "*(.text.work.*)");
  ElfIndex index = t.index();
  const uint32_t number = index.function_at(0);
  ASSERT_NE(number, kNone);
  EXPECT_NE(index.functions()[number].name, "work");
  EXPECT_EQ(base_name_of_clone(index.functions()[number].name), "work");
  EXPECT_EQ(line_of(index, 0).substr(0, 7), "main.c:");
}

TEST(Traps, SuffixesOfClonesAreCutAndOthersAreNot) {
  EXPECT_EQ(base_name_of_clone("f.part.0.isra.1"), "f");
  EXPECT_EQ(base_name_of_clone("f.constprop.0.cold"), "f");
  EXPECT_EQ(base_name_of_clone("f.lto_priv.12"), "f");
  EXPECT_EQ(base_name_of_clone("z_impl.x"), "z_impl.x");
  EXPECT_EQ(base_name_of_clone(".hidden"), ".hidden");
}

TEST(Traps, ParametersAreCutAndAnonymousNamespacesAreNone) {
  EXPECT_EQ(without_parameters("a::(anonymous namespace)::f(int, void (*)(int))"),
            "a::(anonymous namespace)::f");
  EXPECT_EQ(without_parameters("a::S::operator()(int) const"), "a::S::operator()");
  EXPECT_EQ(without_parameters("memcpy"), "memcpy");
}

// As c++filt writes them.
TEST(Traps, BracketsThatHoldNoParametersStay) {
  const std::pair<const char*, const char*> names[] = {
      {"a::encode(a::Hello const&, unsigned char (&) [92])", "a::encode"},
      {"void f<(Mode)3>(int)", "void f<(Mode)3>"},
      {"std::enable_if<((4)>(3)), int>::type g<4>()", "std::enable_if<((4)>(3)), int>::type g<4>"},
      {"int h<std::vector<int> (*)(char)>(int)", "int h<std::vector<int> (*)(char)>"},
      {"a::operator<(a::S const&, a::S const&)", "a::operator<"},
      {"a::S& a::operator<< <int>(a::S&, int)", "a::S& a::operator<< <int>"},
      {"a::S::operator->() const", "a::S::operator->"},
      {"a::S::operator int() const", "a::S::operator int"},
      {"a::operator_of(int)", "a::operator_of"},
      {"f(int)::{lambda(char)#1}::operator()(char) const", "f::{lambda(char)#1}::operator()"},
      {"f(int)::{lambda(char)#1}::_FUN(char)", "f::{lambda(char)#1}::_FUN"},
      {"guard variable for f(void (*)(int))::once", "guard variable for f::once"},
      {"a::S::f() const::once", "a::S::f::once"},
      {"void (*g<int>(int))(char)", "void (*g<int>(int))"},
      {"decltype (1) h<int>(int)", "decltype (1) h<int>"},
      {"(anonymous namespace)::S::~S()", "(anonymous namespace)::S::~S"},
      {"f(", "f("},
      {"(", "("},
      {")>}", ")>}"},
      {"", ""},
  };
  for (const auto& [readable, bare] : names) EXPECT_EQ(without_parameters(readable), bare);
}

TEST(Traps, NamesThatAreNotThereAreToldWithThoseLikeThem) {
  Toolchain t;
  t.write("main.cc",
          "namespace { __attribute__((noinline, used)) int load_hot(int x) { return x * 3; } }\n"
          "int main() { return load_hot(4); }\n");
  t.compile("main.cc");
  t.link("main.o", "");
  ElfIndex index = t.index();
  EXPECT_NE(index.function_named("(anonymous namespace)::load_hot"), kNone);
  const std::vector<std::string> expected = {"(anonymous namespace)::load_hot"};
  EXPECT_EQ(similar_functions(index, "load_hot"), expected);                // a part
  EXPECT_EQ(similar_functions(index, "mian"), std::vector<std::string>());  // two edits of four
  EXPECT_EQ(similar_functions(index, "mai"), std::vector<std::string>{"main"});
  const Error error = no_such_function("--event", index, "load_hot");
  EXPECT_NE(error.message.find("has no function load_hot (there is (anonymous namespace)::load_"),
            std::string::npos);
  EXPECT_NE(no_such_function("--event", index, "xyzzy").message.find("nm -C"), std::string::npos);
}

TEST(Traps, VeneersAreNamedAsSuchAndStandInTheCallersSection) {
  Toolchain t;
  t.write("main.c",
          "int far_away(int);\n"
          "__attribute__((noinline)) int hot(int x) { return far_away(x) + 1; }\n"
          "int main(void) { return hot(3); }\n");
  t.write("far.c", "__attribute__((noinline)) int far_away(int x) { return x * 7; }\n");
  t.compile("main.c");
  t.compile("far.c");
  t.link("main.o far.o", "*(.text.hot)");
  const ElfIndex index = t.index();
  const Function* veneer = nullptr;
  for (const Function& function : index.functions()) {
    if (function.kind == FunctionKind::veneer && function.name == "__far_away_veneer") {
      veneer = &function;
    }
  }
  ASSERT_NE(veneer, nullptr);
  EXPECT_LT(veneer->start, 0x1000u);
  EXPECT_EQ(veneer->size, 8u);  // ldr.w pc, [pc] and the address
}

TEST(Traps, LinkTimeOptimisationKeepsSourceFilesAndInlinedNames) {
  Toolchain t;
  t.write("leaf.c", "int leaf(int x) { return x * x + 3; }\n");
  t.write("mid.c",
          "int leaf(int);\nextern volatile int sink;\n"
          "__attribute__((noinline)) int mid(int x) {\n  sink = leaf(x);\n  return sink;\n}\n");
  t.write("main.c", "volatile int sink;\nint mid(int); int main(void) { return mid(sink); }\n");
  for (const char* file : {"leaf.c", "mid.c", "main.c"}) {
    t.compile(file, std::string(Toolchain::kFlags) + "-flto");
  }
  t.link("leaf.o mid.o main.o", "*(.text.mid)", "-O2 -g -flto -Wl,--gc-sections");
  ElfIndex index = t.index();
  const Function* mid = find(index, "mid");
  ASSERT_NE(mid, nullptr);
  EXPECT_EQ(base(mid->file), "mid.c");
  bool inlined = false;
  for (uint32_t pc = mid->start; pc < mid->start + mid->size; pc += 2) {
    inlined = inlined || frames_of(index, pc) == std::vector<std::string>{"leaf", "mid"};
  }
  EXPECT_TRUE(inlined);
}

TEST(Traps, InlinedCallsAreNamedInnermostFirstWithTheirLines) {
  Toolchain t;
  t.write("main.c",
          "static inline int inner(volatile int *p) {\n"
          "  return *p + 1;\n"
          "}\n"
          "static inline int middle(volatile int *p) {\n"
          "  return inner(p) * 2;\n"
          "}\n"
          "int main(void) {\n"
          "  volatile int x = 3;\n"
          "  return middle(&x);\n"
          "}\n");
  t.compile("main.c");
  t.link("main.o", "");
  ElfIndex index = t.index();
  const Function* function = find(index, "main");
  ASSERT_NE(function, nullptr);
  bool found = false;
  for (uint32_t pc = function->start; pc < function->start + function->size; pc += 2) {
    const Location at = index.locate(pc);
    if (at.frames.size() != 3) continue;
    found = true;
    EXPECT_EQ(frames_of(index, pc), (std::vector<std::string>{"inner", "middle", "main"}));
    EXPECT_EQ(at.frames[0].at.line, 2u);
    EXPECT_EQ(at.frames[1].at.line, 5u);
    EXPECT_EQ(at.frames[2].at.line, 9u);
  }
  EXPECT_TRUE(found);
}

TEST(Traps, CppNamesAreReadableAndFoundInEitherForm) {
  Toolchain t;
  t.write("main.cc",
          "namespace net { struct Socket { int send(const char*, unsigned) const; }; }\n"
          "__attribute__((noinline)) int net::Socket::send(const char* p, unsigned n) const {\n"
          "  return p[n];\n}\n"
          "int main() { return net::Socket().send(\"abc\", 1); }\n");
  t.compile("main.cc");
  t.link("main.o", "");
  ElfIndex index = t.index();
  const uint32_t number = index.function_named("_ZNK3net6Socket4sendEPKcj");
  ASSERT_NE(number, kNone);
  EXPECT_EQ(index.function_named("net::Socket::send"), number);
  EXPECT_EQ(frames_of(index, index.functions()[number].start),
            std::vector<std::string>{"net::Socket::send(char const*, unsigned int) const"});
}

TEST(Traps, RunAndLoadAddressesAreKeptApart) {
  Toolchain t;
  t.write("main.c", "int data[4] = {1, 2, 3, 4};\n" + std::string(kTrapMain));
  t.write("hot.c", "extern int data[]; int hot(int x) { return data[x]++; }\n");
  t.compile("main.c");
  t.compile("hot.c");
  t.link("main.o hot.o", "*(.text.hot)");
  const ElfIndex index = t.index();
  for (const Section& section : index.sections()) {
    if (section.name == ".itcm") {
      EXPECT_EQ(section.address, 0u);
      EXPECT_GE(section.load_address, 0x60000000u);
    }
    if (section.name == ".data") {
      EXPECT_EQ(section.address, 0x20000000u);
      EXPECT_GE(section.load_address, 0x60000000u);
      EXPECT_EQ(index.function_at(section.load_address), kNone);
    }
  }
  const std::span<const uint8_t> bytes = index.bytes_at(0x20000004, 4);
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_EQ(bytes[0], 2u);
}

TEST(Traps, DebugInformationInOlderFormsReadsTheSame) {
  for (const char* version : {"-gdwarf-2 ", "-gdwarf-3 ", "-gdwarf-4 ", "-gdwarf-5 "}) {
    SCOPED_TRACE(version);
    Toolchain t;
    t.write("main.c", kTrapMain);
    t.write("hot.c",
            "int dead(int x) { return x * 9; }\n\nint hot(int x) {\n  __asm volatile(\"nop\");\n"
            "  return x;\n}\n");
    t.compile("main.c", std::string(Toolchain::kFlags) + version);
    t.compile("hot.c", std::string(Toolchain::kFlags) + version);
    t.link("hot.o main.o", "*(.text.hot)");
    ElfIndex index = t.index();
    EXPECT_EQ(line_of(index, 0), "hot.c:4");
    EXPECT_EQ(index.functions()[index.function_at(0)].line, 3u);
  }
}

TEST(Traps, TheMapNamesTheArchiveOfEachFunction) {
  Toolchain t;
  t.write("main.c", kTrapMain);
  t.write("hot.c", "int hot(int x) { return x + 1; }\n");
  t.compile("main.c");
  t.compile("hot.c");
  t.run("arm-none-eabi-ar rc libfast.a hot.o");
  t.link("main.o libfast.a", "*(.text.hot)");
  const ElfIndex index = t.index(true);
  ASSERT_NE(find(index, "hot"), nullptr);
  EXPECT_EQ(find(index, "hot")->library, "libfast.a");
  EXPECT_EQ(find(index, "main")->library, "main.o");
  ASSERT_EQ(index.map_regions().size(), 3u);
  EXPECT_EQ(index.map_regions()[1].name, "DTCM");
  EXPECT_EQ(index.map_regions()[1].origin, 0x20000000u);
  EXPECT_EQ(index.map_regions()[1].length, 131072u);
}

TEST(Traps, TheLinkRegisterHoldsTheCallerUntilItIsSaved) {
  Toolchain t;
  t.write("main.c",
          "volatile int sink;\nint other(int);\n"
          "__attribute__((noinline)) int leaf(int x) { sink = x; return x + 1; }\n"
          "__attribute__((noinline)) int outer(int x) { return leaf(x) + sink; }\n"
          "int main(void) { return outer(2); }\n");
  t.compile("main.c");
  t.link("main.o", "");
  const ElfIndex index = t.index();
  const Function* leaf = find(index, "leaf");
  const Function* outer = find(index, "outer");
  ASSERT_NE(leaf, nullptr);
  ASSERT_NE(outer, nullptr);
  for (uint32_t pc = leaf->start; pc < leaf->start + leaf->size; pc += 2) {
    EXPECT_EQ(index.link_register_at(pc), LinkRegister::holds_caller);
  }
  EXPECT_EQ(index.link_register_at(outer->start), LinkRegister::holds_caller);
  EXPECT_EQ(index.link_register_at(outer->start + 2), LinkRegister::saved);  // behind the push
  EXPECT_EQ(index.link_register_at(0x20000000), LinkRegister::unknown);
}

TEST(Traps, WaitingForAnInterruptIsSeenThroughBarriers) {
  Toolchain t;
  t.write("main.S",
          " .syntax unified\n .thumb\n .text\n .global main\n .type main, %function\n"
          "main:\n cpsid i\n dsb\n wfi\n cpsie i\n isb\n adds r0, #1\n bx lr\n"
          " .size main, . - main\n");
  t.compile("main.S", "-mcpu=cortex-m7");
  t.link("main.o", "");
  const ElfIndex index = t.index();
  const uint32_t start = find(index, "main")->start;
  // cpsid 2, dsb 4, wfi at 6, cpsie at 8, isb at 10, adds at 14, bx at 16.
  EXPECT_FALSE(index.is_waiting(start));
  EXPECT_FALSE(index.is_waiting(start + 2));
  EXPECT_TRUE(index.is_waiting(start + 6));
  EXPECT_TRUE(index.is_waiting(start + 8));
  EXPECT_TRUE(index.is_waiting(start + 10));
  EXPECT_TRUE(index.is_waiting(start + 14));
  EXPECT_FALSE(index.is_waiting(start + 16));
}

TEST(Traps, StrippedProgramsStillHaveSections) {
  Toolchain t;
  t.write("main.c", kTrapMain);
  t.write("hot.c", "int hot(int x) { return x + 1; }\n");
  t.compile("main.c");
  t.compile("hot.c");
  t.link("main.o hot.o", "*(.text.hot)");
  const Identity hash = t.index().image_hash();
  t.run("arm-none-eabi-strip out.elf");
  const ElfIndex index = t.index();
  EXPECT_FALSE(index.has_symbols());
  EXPECT_TRUE(index.functions().empty());
  ASSERT_EQ(index.notes().size(), 1u);
  EXPECT_NE(index.notes()[0].find("stripped"), std::string::npos);
  EXPECT_NE(index.section_at(0), kNone);
  EXPECT_EQ(index.image_hash(), hash);  // what is loaded is the same
}

TEST(Traps, DebugInformationWithoutSymbolsNamesFunctions) {
  Toolchain t;
  t.write("main.c", kTrapMain);
  t.write("hot.c", "int hot(int x) { return x + 1; }\n");
  t.compile("main.c");
  t.compile("hot.c");
  t.link("main.o hot.o", "");
  t.run("arm-none-eabi-objcopy --strip-all --keep-section='.debug*' out.elf");
  const ElfIndex index = t.index();
  EXPECT_NE(find(index, "hot"), nullptr);
}

}  // namespace
}  // namespace millrace::profile
