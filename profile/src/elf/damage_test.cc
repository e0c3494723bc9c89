// SPDX-License-Identifier: Apache-2.0
// Damaged debug information costs lines, never names, and never a crash.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "elf/elf_file.h"
#include "testing/toolchain.h"

namespace millrace::profile {
namespace {

class DamageTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    testing::Toolchain t;
    t.write("main.c",
            "volatile int sink;\nstatic inline int twice(int x) { return sink + x; }\n"
            "int dead(int x) { return x * 7; }\n"
            "__attribute__((noinline)) int hot(int x) { return twice(x) * 3; }\n"
            "int main(void) { return hot(2); }\n");
    t.compile("main.c");
    t.link("main.o", "*(.text.hot)");
    std::ifstream file(t.path("out.elf"), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    ASSERT_GT(bytes_.size(), 1000u);
  }
  // Asks for everything; the names of the functions.
  static std::vector<std::string> names(std::vector<uint8_t> bytes, bool* ok) {
    ElfIndex index;
    *ok = !ElfIndex::parse("damaged", std::move(bytes), "", "", &index);
    std::vector<std::string> out;
    if (!*ok) return out;
    for (const Function& function : index.functions()) {
      out.push_back(function.name);
      for (uint32_t pc = function.start; pc < function.start + function.size; pc += 2) {
        index.locate(pc);
        index.link_register_at(pc);
      }
    }
    return out;
  }
  static std::vector<uint8_t> bytes_;
};

std::vector<uint8_t> DamageTest::bytes_;

TEST_F(DamageTest, NoByteOfTheDebugInformationIsTrusted) {
  bool ok = false;
  const std::vector<std::string> expected = names(bytes_, &ok);
  ASSERT_TRUE(ok);
  ASSERT_EQ(expected.size(), 3u);  // hot, main, and the veneer from one to the other
  ElfFile file;
  ASSERT_EQ(file.read(bytes_), "");
  size_t damaged = 0;
  for (const ElfHeaderSection& section : file.headers()) {
    if (!section.name.starts_with(".debug_")) continue;
    for (uint32_t i = 0; i < section.size; ++i) {
      for (const uint8_t value : std::initializer_list<uint8_t>{0x00, 0x7F, 0xFF}) {
        std::vector<uint8_t> bad = bytes_;
        bad[section.offset + i] = value;
        EXPECT_EQ(names(bad, &ok), expected) << section.name << " " << i;
        EXPECT_TRUE(ok);
        ++damaged;
      }
    }
  }
  EXPECT_GT(damaged, 1000u);
}

TEST_F(DamageTest, EveryTruncationIsRefusedWithASentence) {
  // The section headers stand at the end, so that nothing shorter is whole.
  for (size_t size = 1; size < bytes_.size(); ++size) {
    ElfIndex index;
    const Failure failure = ElfIndex::parse(
        "cut", {bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(size)}, "", "", &index);
    ASSERT_TRUE(failure) << size;
    EXPECT_EQ(failure->message.find('\n'), std::string::npos);
  }
}

TEST_F(DamageTest, NoByteOfTheHeadersIsTrusted) {
  for (size_t i = 0; i < bytes_.size(); i += i < 200 || i + 1500 > bytes_.size() ? 1 : 7) {
    std::vector<uint8_t> bad = bytes_;
    bad[i] = static_cast<uint8_t>(bad[i] ^ 0x81);
    bool ok = false;
    names(bad, &ok);  // either is fine; what matters is that it ends
  }
}

}  // namespace
}  // namespace millrace::profile
