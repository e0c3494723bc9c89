// SPDX-License-Identifier: Apache-2.0
#include "core/snapshot.h"

#include <gtest/gtest.h>

namespace millrace::board {
namespace {

enum class Colour : uint8_t { red, green };

struct Part {
  uint32_t word = 0;
  bool flag = false;
  Colour colour = Colour::red;
  int32_t negative = 0;
  std::array<uint16_t, 3> array{};
  std::vector<uint64_t> list;
  std::vector<uint8_t> memory = std::vector<uint8_t>(10000);

  void snapshot(Snapshot& s) {
    s.field("word", word);
    s.field("flag", flag);
    s.field("colour", colour);
    s.field("negative", negative);
    s.field("array", array);
    s.field("list", list, 100);
    s.memory("memory", memory.data(), memory.size());
  }
};

Part sample() {
  Part part;
  part.word = 0x12345678;
  part.flag = true;
  part.colour = Colour::green;
  part.negative = -7;
  part.array = {1, 2, 65535};
  part.list = {5, UINT64_MAX};
  for (size_t i = 0; i < 4096; ++i) part.memory[i] = 0xFF;
  part.memory[9999] = 3;
  return part;
}

std::vector<uint8_t> saved(Part part) {
  Snapshot s;
  part.snapshot(s);
  return s.take();
}

TEST(Snapshot, RestoresWhatWasSaved) {
  const Part from = sample();
  Snapshot s(saved(from));
  Part to;
  to.snapshot(s);
  ASSERT_TRUE(s.ok()) << s.error();
  EXPECT_EQ(to.word, from.word);
  EXPECT_EQ(to.flag, from.flag);
  EXPECT_EQ(to.colour, from.colour);
  EXPECT_EQ(to.negative, from.negative);
  EXPECT_EQ(to.array, from.array);
  EXPECT_EQ(to.list, from.list);
  EXPECT_EQ(to.memory, from.memory);
}

TEST(Snapshot, FormatIsNameSizeAndLittleEndianBytes) {
  Snapshot s;
  uint32_t word = 0x12345678;
  s.field("ab", word);
  EXPECT_EQ(s.take(), (std::vector<uint8_t>{2, 'a', 'b', 4, 0, 0, 0, 0x78, 0x56, 0x34, 0x12}));
}

TEST(Snapshot, EveryTruncationIsAnErrorWithASentence) {
  const std::vector<uint8_t> whole = saved(sample());
  for (size_t size = 0; size < whole.size(); size += size < 300 ? 1 : 97) {
    Snapshot s(std::vector<uint8_t>(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
    Part part;
    part.snapshot(s);
    EXPECT_FALSE(s.ok()) << size;
    EXPECT_EQ(s.error().rfind("snapshot: the field ", 0), 0u) << s.error();
  }
}

TEST(Snapshot, AnotherNameOrSizeStopsAndLeavesTheRestAlone) {
  Snapshot save;
  uint32_t word = 1;
  uint16_t half = 2;
  save.field("word", word);
  save.field("half", half);
  const std::vector<uint8_t> bytes = save.take();

  Snapshot other_name(bytes);
  uint32_t value = 9;
  other_name.field("wort", value);
  EXPECT_EQ(value, 9u);
  EXPECT_NE(other_name.error().find("wort"), std::string::npos);

  Snapshot other_size(bytes);
  uint64_t wide = 9;
  other_size.field("word", wide);
  EXPECT_EQ(wide, 9u);
  EXPECT_FALSE(other_size.ok());
  half = 77;
  other_size.field("half", half);
  EXPECT_EQ(half, 77);
}

TEST(Snapshot, ListLongerThanItsLimitIsRefused) {
  std::vector<uint8_t> list(50);
  Snapshot save;
  save.field("list", list, 100);
  Snapshot s(save.take());
  std::vector<uint8_t> restored;
  s.field("list", restored, 49);
  EXPECT_FALSE(s.ok());
  EXPECT_TRUE(restored.empty());
}

TEST(Snapshot, UniformPagesTakeTwoBytes) {
  std::vector<uint8_t> flash(1u << 20, 0xFF);
  Snapshot s;
  s.memory("flash", flash.data(), flash.size());
  EXPECT_EQ(s.take().size(), 1 + 5 + 4 + 8 + 2 * 256u);  // header, length, 256 pages
}

}  // namespace
}  // namespace millrace::board
