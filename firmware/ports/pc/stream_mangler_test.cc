// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/pc/stream_mangler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <string>

namespace millrace::firmware {
namespace {

std::string bytes(size_t size) {
  std::string data(size, '\0');
  uint32_t x = 1;
  for (char& c : data) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  return data;
}

// The result must not depend on how the stream is cut into pieces.
std::string mangle(const std::string& query, const std::string& data) {
  const ParsedFaultPlan parsed = parse_fault_plan(query);
  EXPECT_EQ(parsed.error, "");
  std::string result;
  for (const size_t piece : {size_t{1'000'000'000}, size_t{1}, size_t{37}}) {
    StreamMangler mangler(parsed.plan);
    EXPECT_TRUE(mangler.alters());
    for (int run = 0; run < 2; ++run) {  // the second run is as the first
      mangler.begin_run();
      std::vector<uint8_t> out;
      for (size_t at = 0; at < data.size(); at += piece) {
        mangler.feed(reinterpret_cast<const uint8_t*>(data.data()) + at,
                     std::min(piece, data.size() - at), &out);
      }
      const std::string got(out.begin(), out.end());
      if (piece == 1'000'000'000 && run == 0) result = got;
      EXPECT_EQ(got, result) << query << " in pieces of " << piece;
    }
  }
  return result;
}

TEST(StreamMangler, APlanWithoutSuchFaultsAltersNothing) {
  EXPECT_FALSE(StreamMangler(parse_fault_plan("split=1&stall=1@1&rate=5&cooked").plan).alters());
}

TEST(StreamMangler, Drops) {
  const std::string data = bytes(1000);
  EXPECT_EQ(mangle("drop=100@200", data), data.substr(0, 200) + data.substr(300));
  EXPECT_EQ(mangle("drop=10@0,10@990", data), data.substr(10, 980));
  std::string expected;
  for (size_t at = 0; at < 1000; at += 100) {
    expected += at < 100 ? data.substr(at, 100) : data.substr(at, 50) + data.substr(at + 53, 47);
  }
  EXPECT_EQ(mangle("drop=3@150+100", data), expected);
  EXPECT_EQ(mangle("drop=1@0+1", data), "");
}

TEST(StreamMangler, Duplicates) {
  const std::string data = bytes(1000);
  EXPECT_EQ(mangle("dup=100@200", data), data.substr(0, 300) + data.substr(200));
  EXPECT_EQ(mangle("dup=1000@0", data), data + data);
  const std::string twice = mangle("dup=2@0+2", data);
  EXPECT_EQ(twice.size(), 2000u);
  EXPECT_EQ(twice.substr(0, 8), data.substr(0, 2) + data.substr(0, 4) + data.substr(2, 2));
}

TEST(StreamMangler, Inserts) {
  const std::string data = bytes(100);
  EXPECT_EQ(mangle("insert=AT@10", data), data.substr(0, 10) + "AT" + data.substr(10));
  EXPECT_EQ(mangle("insert=hex:0d0a@0", data), "\r\n" + data);
  EXPECT_EQ(mangle("insert=x@50+25", data),
            data.substr(0, 50) + "x" + data.substr(50, 25) + "x" + data.substr(75));
}

TEST(StreamMangler, FlipsOneBitInEachByte) {
  const std::string data = bytes(1000);
  const std::string got = mangle("flip=5@100+400", data);
  ASSERT_EQ(got.size(), data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    const bool hit = (i >= 100 && i < 105) || (i >= 500 && i < 505) || (i >= 900 && i < 905);
    const std::bitset<8> difference(static_cast<unsigned char>(got[i] ^ data[i]));
    EXPECT_EQ(difference.count(), hit ? 1u : 0u) << i;
  }
}

TEST(StreamMangler, PutsOlderLinesInPlace) {
  const std::string data = bytes(1000);
  std::string expected = data;
  expected.replace(320, 64, data.substr(320 - 96, 64));
  EXPECT_EQ(mangle("stale=2@320:96", data), expected);
  // The source is what stood there, also where it was replaced itself.
  expected = data;
  expected.replace(320, 64, data.substr(320 - 32, 64));
  EXPECT_EQ(mangle("stale=2@320:32", data), expected);
}

TEST(StreamMangler, RemembersAMegabyte) {
  const std::string data = bytes(1'200'000);
  std::string expected = data;
  expected.replace(1'100'000 / 32 * 32, 32, data.substr(1'100'000 / 32 * 32 - 1'048'576, 32));
  EXPECT_EQ(mangle("stale=1@1099968:1048576", data).substr(1'000'000),
            std::string(data).replace(1'099'968, 32, data.substr(51'392, 32)).substr(1'000'000));
}

TEST(StreamMangler, ManglesLikeATerminal) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  std::string expected = all;
  expected[0x0d] = 0x0a;
  EXPECT_EQ(mangle("mangle=icrnl", all), expected);
  expected = all;
  expected.erase(0x0d, 1);
  EXPECT_EQ(mangle("mangle=igncr", all), expected);
  expected = all;
  expected.erase(0x13, 1).erase(0x11, 1);
  EXPECT_EQ(mangle("mangle=ixon", all), expected);
  EXPECT_EQ(mangle("mangle=istrip", all), all.substr(0, 128) + all.substr(0, 128));
}

TEST(StreamMangler, FaultsCombine) {
  const std::string data = bytes(1000);
  EXPECT_EQ(mangle("drop=10@100&insert=AT@105&dup=5@200", data),
            data.substr(0, 100) + "AT" + data.substr(110, 95) + data.substr(200));
}

}  // namespace
}  // namespace millrace::firmware
