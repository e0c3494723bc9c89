// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <gtest/gtest.h>

#include "cli/statistics.h"

namespace millrace::cli {
namespace {

Table example() {
  Table table({"<port", "MB/s"});
  table.add({"a,b", "36.9*"});
  table.add({"say \"hi\"|", "-"});
  return table;
}

TEST(Table, TextAlignsColumns) {
  EXPECT_EQ(example().text(),
            "port        MB/s\n"
            "---------  -----\n"
            "a,b        36.9*\n"
            "say \"hi\"|      -\n");
}

TEST(Table, LastColumnFoldsWhereTheTableIsTooWide) {
  Table table({"<name", "value", "<source"});
  table.add({"a", "1", "the first page of the manual, and the second"});
  table.add({"b", "22", "page 3"});
  // 4 + 2 + 5 + 2 = 13 columns before the last one, which gets 17 of 30.
  EXPECT_EQ(table.text(30),
            "name  value  source\n"
            "----  -----  -----------------\n"
            "a         1  the first page of\n"
            "             the manual, and\n"
            "             the second\n"
            "b        22  page 3\n");
  EXPECT_EQ(table.text(100), table.text());
}

TEST(Table, MarkdownEscapesBars) {
  EXPECT_EQ(example().markdown(),
            "| port | MB/s |\n"
            "|---|--:|\n"
            "| a,b | 36.9* |\n"
            "| say \"hi\"\\| | - |\n");
}

TEST(Table, CsvQuotesAsRfc4180) {
  EXPECT_EQ(example().csv(),
            "port,MB/s\n"
            "\"a,b\",36.9*\n"
            "\"say \"\"hi\"\"|\",-\n");
}

TEST(Wrap, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(wrap("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrap("incomprehensible a", 5, 1), "incomprehensible\n a");
  EXPECT_EQ(wrap("  two", 5, 1), "  two");
  EXPECT_EQ(wrap("", 5, 1), "");
}

TEST(Columns, CountsCodePoints) { EXPECT_EQ(columns_of("µs"), 2U); }

TEST(Columns, ColoursTakeNone) { EXPECT_EQ(columns_of("\x1b[1;31mmmm\x1b[0mm"), 4U); }

// Keys of 12 columns; the value has 100 - 12 = 88, and goes on below itself.
TEST(KeyRow, WrapsTheValueBelowItself) {
  constexpr KeyRow row(12);
  EXPECT_EQ(row("target", "teensy41"), "target      teensy41\n");
  EXPECT_EQ(row("", "two\x1b[2J"), "            two?[2J\n");
  const std::string full(88, 'x');
  EXPECT_EQ(row("note", full + " y"), "note        " + full + "\n            y\n");
  EXPECT_EQ(row("a key beyond it", "v"), "a key beyond it v\n");
}

TEST(KeyRow, ColourDoesNotMoveTheValue) {
  constexpr KeyRow row(8);
  EXPECT_EQ(row("\x1b[31mfaults\x1b[0m", "1"), "\x1b[31mfaults\x1b[0m  1\n");
}

TEST(Statistics, OfASample) {
  // 2, 4, 6: mean 4, squares 4 + 0 + 4 = 8, over n - 1 = 2 gives 4, root 2.
  const Statistics statistics = statistics_of({6, 2, 4});
  EXPECT_EQ(statistics.count, 3U);
  EXPECT_DOUBLE_EQ(statistics.mean, 4);
  EXPECT_DOUBLE_EQ(statistics.deviation, 2);
  EXPECT_DOUBLE_EQ(statistics.min, 2);
  EXPECT_DOUBLE_EQ(statistics.median, 4);
  EXPECT_DOUBLE_EQ(statistics.max, 6);
  EXPECT_DOUBLE_EQ(statistics_of({1, 2}).median, 1.5);
}

TEST(Statistics, OfOneOrNoneIsZeroSpread) {
  EXPECT_DOUBLE_EQ(statistics_of({5}).deviation, 0);
  EXPECT_EQ(statistics_of({}).count, 0U);
}

}  // namespace
}  // namespace millrace::cli
