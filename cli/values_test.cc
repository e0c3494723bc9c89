// SPDX-License-Identifier: Apache-2.0
#include "cli/values.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

uint64_t number(const std::string& text, Scale scale) {
  const auto result = parse_number(text, scale, 0, UINT64_MAX);
  EXPECT_TRUE(result) << text;
  return result ? *result : 0;
}

TEST(ParseNumber, SuffixesDependOnTheScale) {
  EXPECT_EQ(number("4096", Scale::bytes), 4096U);
  EXPECT_EQ(number("4K", Scale::bytes), 4096U);
  EXPECT_EQ(number("4k", Scale::bytes), 4096U);
  EXPECT_EQ(number("1M", Scale::bytes), 1048576U);
  EXPECT_EQ(number("4k", Scale::count), 4000U);
  EXPECT_EQ(number("1M", Scale::count), 1000000U);
  EXPECT_EQ(number("1Mi", Scale::count), 1048576U);
  EXPECT_EQ(number("2G", Scale::bytes), uint64_t{2} << 30);
  EXPECT_EQ(number("0x2a", Scale::count), 42U);
}

TEST(ParseNumber, RefusesWhatIsNoNumberInRange) {
  for (const char* text : {"", "-1", "+1", "1.5", "4 K", "K", "4KB", "4KiB", "0x", "0xg", "1e3",
                           "18446744073709551616", "17179869184G"}) {
    EXPECT_FALSE(parse_number(text, Scale::bytes, 0, UINT64_MAX)) << text;
  }
  EXPECT_FALSE(parse_number("0", Scale::bytes, 1, 10));
  EXPECT_FALSE(parse_number("11", Scale::bytes, 1, 10));
  EXPECT_TRUE(parse_number("10", Scale::bytes, 1, 10));
  EXPECT_EQ(parse_number("0", Scale::bytes, 1, 16777216).error().message,
            "must be a number in 1..16,777,216");
  // In the range, but not as numbers are written here.
  for (const char* text : {"1e3", "4KiB", "1.5K", "1_000", ""}) {
    EXPECT_EQ(parse_number(text, Scale::bytes, 1, 16777216).error().message,
              "must be a number in 1..16,777,216, written as 4096, 4K or 0x1000")
        << text;
    EXPECT_EQ(parse_number(text, Scale::count, 1, 65535).error().message,
              "must be a number in 1..65,535, written as 4096, 4k (4,000), 4Ki or 0x1000")
        << text;
  }
  EXPECT_EQ(parse_number("1e3", Scale::count, 1, 8).error().message, "must be a number in 1..8");
}

TEST(Whole, RoundsAndGroups) {
  EXPECT_EQ(whole(0), "0");
  EXPECT_EQ(whole(9765.625), "9,766");
}

TEST(ParseAck, NamesWindows) {
  EXPECT_EQ(*parse_ack("none"), 0);
  EXPECT_EQ(*parse_ack("each"), 1);
  EXPECT_EQ(*parse_ack("window:8"), 8);
  for (const char* text : {"", "all", "window", "window:", "window:0", "window:65536", "8"}) {
    EXPECT_FALSE(parse_ack(text)) << text;
  }
  for (const uint16_t window : std::vector<uint16_t>{0, 1, 2, 65535}) {
    EXPECT_EQ(*parse_ack(ack_name(window)), window);
  }
}

TEST(ParseLists, EveryItemMustBeRight) {
  EXPECT_EQ(*parse_sizes("128,1K"), (std::vector<uint32_t>{128, 1024}));
  EXPECT_EQ(*parse_acks("none,window:4"), (std::vector<uint16_t>{0, 4}));
  for (const char* text : {"", "128,", ",128", "128,0", "128,,256", "17M"}) {
    EXPECT_FALSE(parse_sizes(text)) << text;
  }
}

TEST(Formatting, ReadsAsPeopleWrite) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(18446744073709551615U), "18,446,744,073,709,551,615");
  EXPECT_EQ(duration(999), "999 ns");
  EXPECT_EQ(duration(12345), "12.3 us");
  EXPECT_EQ(duration(2.5e9), "2.50 s");
  EXPECT_EQ(human_bytes(9999), "9,999 B");
  EXPECT_EQ(human_bytes(44300), "44.3 KB");
  EXPECT_EQ(plural(1, "frame"), "1 frame");
  EXPECT_EQ(plural(2000, "frame"), "2,000 frames");
}

}  // namespace
}  // namespace millrace::cli
