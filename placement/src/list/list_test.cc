// SPDX-License-Identifier: Apache-2.0
#include "millrace/placement/list.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "testing/toolchain.h"

namespace millrace::placement {
namespace {

using profile::testing::Toolchain;

std::string problem_of(const std::string& text) {
  PlacementList list;
  const Failure failure = parse_list("fast.txt", text, &list);
  return failure ? failure->message : "";
}

PlacementList parsed(const std::string& text) {
  PlacementList list;
  const Failure failure = parse_list("fast.txt", text, &list);
  EXPECT_FALSE(failure) << failure->message;
  return list;
}

TEST(PlacementList, TheVectorsReadAsTheySay) {
  std::ifstream file(MILLRACE_SOURCE_DIR "/spec/vectors/placement_list.txt");
  ASSERT_TRUE(file);
  std::stringstream text;
  text << file.rdbuf();
  const PlacementList list = parsed(text.str());
  std::string all;
  for (const Entry& entry : list.entries) all += entry_text(entry) + "\n";
  EXPECT_EQ(all,
            "usb1_handler\n"
            "_ZN8millrace8firmware9EchoStack7receiveEPKhj\n"
            "helper file=net/tcp.c\n"
            "f#1 file=a.c\n"
            "memcpy file=libc.a:libc_a-memcpy.o section=.text\n"
            "@data crc_table\n"
            "@data table.0 file=crc.c\n"
            "@object libnet.a:checksum.c.obj\n"
            "@object main.o\n"
            "@library libnet.a\n");
  EXPECT_EQ(list.entries[0].line, 3u);
}

TEST(PlacementList, WrittenAndReadAgainItIsTheSame) {
  PlacementList list =
      parsed("a\nb file=x/y.c section=.text.b\n@data d\n@object l:o\n@library l\n");
  list.entries[0].comment = "120 bytes";
  const PlacementList again = parsed(list_text(list, {"made by a test", ""}));
  EXPECT_EQ(again.entries, list.entries);
}

TEST(PlacementList, EveryFaultIsToldWithItsLine) {
  EXPECT_EQ(problem_of("a\n@code b\n"),
            "fast.txt line 2: @code is unknown (known: @data, @object, @library)");
  EXPECT_EQ(
      problem_of("a b\n"),
      "fast.txt line 1: b is unknown behind a name (known: file=, section=; one name a line)");
  EXPECT_EQ(problem_of("file=a.c\n"), "fast.txt line 1: file=a.c where a symbol was expected");
  EXPECT_EQ(problem_of("a file=\n"), "fast.txt line 1: file= without a value");
  EXPECT_EQ(problem_of("a file=b file=c\n"), "fast.txt line 1: file= twice");
  EXPECT_EQ(problem_of("@data\n"), "fast.txt line 1: @data without a name");
  EXPECT_EQ(problem_of("@library l file=a\n"), "fast.txt line 1: file= is for symbols only");
  EXPECT_NE(problem_of(std::string("a\0b", 3)).find("a control byte"), std::string::npos);
  EXPECT_NE(problem_of(std::string(9000, 'a')).find("longer than 8192 bytes"), std::string::npos);
}

TEST(PlacementList, AByteOrderMarkIsSkippedAndWhatIsNoUtf8Refused) {
  EXPECT_EQ(parsed("\xEF\xBB\xBF"
                   "a\n")
                .entries[0]
                .name,
            "a");
  EXPECT_EQ(parsed("\xC3\xA4 # \xF0\x9F\x98\x80\n").entries[0].name, "\xC3\xA4");
  // RFC 3629: a lone trail byte, a cut sequence, two overlong forms, a surrogate, beyond U+10FFFF.
  for (const char* bad :
       {"\x80", "a\xC3", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_EQ(problem_of(std::string("a\n") + bad + "\n"),
              "fast.txt line 2: not UTF-8 (save the file as UTF-8)");
  }
}

TEST(PlacementList, CommentsBlanksAndTheSameTwiceAreNoEntries) {
  EXPECT_EQ(parsed("# c\n\n \t\r\n a # c\na\r\na\tfile=x\n").entries.size(), 2u);
  EXPECT_TRUE(parsed("").entries.empty());
}

TEST(PlacementList, FilesAreNamedByTheirLastParts) {
  EXPECT_TRUE(names_file("tcp.c", "/z/net/tcp.c", ""));
  EXPECT_TRUE(names_file("net/tcp.c", "/z/net/tcp.c", ""));
  EXPECT_FALSE(names_file("p.c", "/z/net/tcp.c", ""));
  EXPECT_TRUE(names_file("libc.a:memcpy.o", "memcpy.o", "/usr/lib/libc.a"));
  EXPECT_FALSE(names_file("libm.a:memcpy.o", "memcpy.o", "libc.a"));
  EXPECT_FALSE(names_file("", "tcp.c", ""));
}

// A program of two builds: `a` has a clone, `gone` was inlined, `dup` is static in two files.
TEST(PlacementList, NamesThatItCannotHoldAreTold) {
  const auto can = [](const std::string& name, const std::string& file) {
    Entry entry;
    entry.name = name;
    entry.file = file;
    return can_be_listed(entry);
  };
  EXPECT_TRUE(can("f", ""));
  EXPECT_TRUE(can("_ZN1a1fEv", "net/tcp.c"));
  EXPECT_TRUE(can("memcpy", "libc.a:libc_a-memcpy.o"));
  EXPECT_FALSE(can("", ""));
  EXPECT_FALSE(can("a b", ""));
  EXPECT_FALSE(can("a=b", ""));
  EXPECT_FALSE(can("@f", ""));
  EXPECT_FALSE(can("#f", ""));
  EXPECT_FALSE(can("f", "my lib/tcp.c"));
  EXPECT_FALSE(can("f", "tcp\n.c"));
  EXPECT_FALSE(can("f", "\xFF.c"));
  EXPECT_FALSE(can(std::string(9000, 'f'), ""));
}

class Matching : public ::testing::Test {
 protected:
  void SetUp() override {
    t.write("one.c",
            "extern volatile int v; extern int two(int);\n"
            "static inline __attribute__((always_inline)) int gone(int x) { return v * x; }\n"
            "__attribute__((noinline)) static int dup(int x) { return v + x; }\n"
            "__attribute__((noinline)) int one(int x) { return gone(x) + dup(x); }\n"
            "const int table[4] = {1, 2, 3, 4};\n"
            "int main(void) { return one(table[v & 3]) + two(2); }\n");
    t.write("two.c",
            "volatile int v;\n"
            "__attribute__((noinline)) static int dup(int x) { return v - x; }\n"
            "void cold_path(void) __asm__(\"path.part.0\");\n"
            "__attribute__((noinline)) void cold_path(void) { v = 5; }\n"
            "int two(int x) { if (x > 5) cold_path(); return dup(x) * 3; }\n");
    t.compile("one.c");
    t.compile("two.c");
    t.link("one.o two.o", "");
    index = t.index(true);
  }
  Match match(const std::string& entry) { return match_list(parsed(entry + "\n"), &index).at(0); }
  std::string sentence(const std::string& entry) {
    const PlacementList list = parsed(entry + "\n");
    return match_sentence(list.entries[0], match_list(list, &index)[0], index);
  }
  Toolchain t;
  ElfIndex index;
};

TEST_F(Matching, EveryStateOfTheSpecification) {
  EXPECT_EQ(match("one").state, MatchState::found);
  EXPECT_EQ(match("path").state, MatchState::by_clone);
  EXPECT_EQ(match("path.part.7").state, MatchState::by_clone);
  EXPECT_EQ(match("one file=two.c").state, MatchState::moved);
  EXPECT_EQ(match("dup").state, MatchState::ambiguous);
  EXPECT_EQ(match("dup").functions.size(), 2u);
  EXPECT_EQ(match("dup file=two.c").state, MatchState::found);
  EXPECT_EQ(match("dup file=two.c").functions.size(), 1u);
  EXPECT_EQ(match("dup file=two.o").functions.size(), 1u);
  EXPECT_EQ(match("gone").state, MatchState::inlined);
  EXPECT_EQ(match("nothing_like_it").state, MatchState::missing);
  EXPECT_EQ(match("@data table").state, MatchState::found);
  EXPECT_EQ(match("@data tables").state, MatchState::missing);
  EXPECT_EQ(match("@object two.o").functions.size(), 3u);
  EXPECT_EQ(match("@object none.o").state, MatchState::missing);
}

TEST_F(Matching, SentencesSayWhatToDo) {
  EXPECT_EQ(sentence("gone"), "gone: inlined everywhere; its code is in one (list that)");
  EXPECT_EQ(sentence("tw"), "tw: not in the program; there is two");
  EXPECT_NE(sentence("dup").find("add file="), std::string::npos);
  EXPECT_NE(sentence("one file=two.c").find("one.c (correct file=)"), std::string::npos);
}

}  // namespace
}  // namespace millrace::placement
