// SPDX-License-Identifier: Apache-2.0
#include "image/hex_image.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::board {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kEndRecord = ":00000001FF\n";

std::string record(uint8_t type, uint16_t offset, const std::vector<uint8_t>& data) {
  std::string line = fmt::format(":{:02X}{:04X}{:02X}", data.size(), offset, type);
  size_t sum = data.size() + (offset >> 8) + (offset & 0xFF) + type;
  for (const uint8_t byte : data) {
    line += fmt::format("{:02X}", byte);
    sum += byte;
  }
  return line + fmt::format("{:02X}\n", (256 - sum % 256) % 256);
}

std::string hex_error_of(const std::string& text) {
  Image image;
  const std::string error = parse_hex("a.hex", text, &image);
  EXPECT_FALSE(error.empty()) << text;
  return error;
}

Image hex_parsed(const std::string& text) {
  Image image;
  EXPECT_EQ(parse_hex("a.hex", text, &image), "");
  return image;
}

TEST(HexImage, RecordsOfTheSpecificationHaveTheChecksumsThatThisTestComputes) {
  EXPECT_EQ(record(1, 0, {}), kEndRecord);
  EXPECT_EQ(record(2, 0, {0x12, 0x00}), ":020000021200EA\n");
  EXPECT_EQ(record(4, 0, {0xFF, 0xFF}), ":02000004FFFFFC\n");
  EXPECT_EQ(record(5, 0, {0x00, 0x00, 0x00, 0xCD}), ":04000005000000CD2A\n");
}

TEST(HexImage, LinearBaseAndEntry) {
  const Image image =
      hex_parsed(record(4, 0, {0x60, 0x00}) + record(0, 0x10, {1, 2, 3}) + record(0, 0x13, {4}) +
                 record(0, 0x20, {5}) + record(5, 0, {0x60, 0x00, 0x10, 0x00}) + kEndRecord);
  EXPECT_EQ(image.kind, Image::Kind::hex);
  EXPECT_EQ(image.entry, 0x60001000u);
  ASSERT_EQ(image.segments.size(), 2u);
  EXPECT_EQ(image.segments[0].address, 0x60000010u);
  EXPECT_THAT(image.segments[0].bytes, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(image.segments[1].address, 0x60000020u);
  EXPECT_THAT(image.notes, IsEmpty());
}

TEST(HexImage, RecordsMayComeInAnyOrderAndPastTheEndOfFlash) {
  const Image image =
      hex_parsed(record(4, 0, {0x70, 0x00}) + record(0, 0, {7}) + record(4, 0, {0x60, 0x00}) +
                 record(0, 4, {2}) + record(0, 3, {1}) + kEndRecord);
  ASSERT_EQ(image.segments.size(), 2u);
  EXPECT_EQ(image.segments[0].address, 0x60000003u);
  EXPECT_THAT(image.segments[0].bytes, ElementsAre(1, 2));
  EXPECT_EQ(image.segments[1].address, 0x70000000u);
}

TEST(HexImage, LinearDataRunsAcross64KAndSegmentedDataWraps) {
  Image image = hex_parsed(record(4, 0, {0x60, 0x00}) + record(0, 0xFFFF, {1, 2}) + kEndRecord);
  ASSERT_EQ(image.segments.size(), 1u);
  EXPECT_EQ(image.segments[0].address, 0x6000FFFFu);
  image = hex_parsed(record(2, 0, {0x10, 0x00}) + record(0, 0xFFFF, {1, 2}) + kEndRecord);
  ASSERT_EQ(image.segments.size(), 2u);
  EXPECT_EQ(image.segments[0].address, 0x10000u);  // 0x1000 << 4
  EXPECT_THAT(image.segments[0].bytes, ElementsAre(2));
  EXPECT_EQ(image.segments[1].address, 0x1FFFFu);
  EXPECT_THAT(hex_error_of(record(4, 0, {0xFF, 0xFF}) + record(0, 0xFFFF, {1, 2}) + kEndRecord),
              HasSubstr("a.hex line 2: data reaches beyond the 32-bit address space"));
}

TEST(HexImage, LineEndsBlanksAndLowerCaseDoNotMatter) {
  for (const char* text : {":0100000041BE\r\n:00000001FF\r\n",
                           "\n\n  :0100000041be  \n\t\n"
                           ":00000001ff",
                           ":0100000041BE\r:00000001FF\r"}) {
    EXPECT_TRUE(is_hex(text)) << text;
    const Image image = hex_parsed(text);
    ASSERT_EQ(image.segments.size(), 1u);
    EXPECT_THAT(image.segments[0].bytes, ElementsAre(0x41));
  }
}

TEST(HexImage, ErrorsNameTheLine) {
  const std::string first = record(0, 0, {1});
  EXPECT_EQ(hex_error_of(first + ":0100010041BE\n" + kEndRecord),
            "a.hex line 2: checksum BE should be BD (build or copy it again)");
  EXPECT_THAT(hex_error_of(first + "hello\n" + kEndRecord),
              HasSubstr("a.hex line 2: does not begin with"));
  EXPECT_THAT(hex_error_of(first + ":010001004xBE\n" + kEndRecord),
              HasSubstr("line 2: holds something"));
  EXPECT_THAT(hex_error_of(first + ":01000100\n" + kEndRecord),
              HasSubstr("line 2: 8 hex digits are no"));
  EXPECT_THAT(hex_error_of(first + ":0100010041B\n" + kEndRecord),
              HasSubstr("line 2: 11 hex digits"));
  EXPECT_THAT(hex_error_of(first + ":0200010041BC\n" + kEndRecord),
              HasSubstr("line 2: says 2 data bytes and has 1"));
  EXPECT_THAT(hex_error_of(first + record(6, 0, {}) + kEndRecord),
              HasSubstr("line 2: record type 06 is none of 00 to 05"));
  EXPECT_THAT(hex_error_of(first + record(4, 0, {1}) + kEndRecord),
              HasSubstr("line 2: a record of type 04 has 2 data bytes, not 1"));
  EXPECT_THAT(hex_error_of(first + record(1, 0, {1})),
              HasSubstr("type 01 has 0 data bytes, not 1"));
  EXPECT_THAT(hex_error_of(kEndRecord), HasSubstr("no data record"));
}

TEST(HexImage, MissingEndRecordIsAFileCutShort) {
  EXPECT_THAT(hex_error_of(record(0, 0, {1}) + record(0, 1, {2})),
              HasSubstr("a.hex: ends after line 2 without the end record :00000001FF"));
}

TEST(HexImage, OverlapNamesBothLines) {
  EXPECT_EQ(hex_error_of(record(0, 0x10, {1, 2, 3}) + record(0, 0, {9}) + record(0, 0x12, {3}) +
                         kEndRecord),
            "a.hex: lines 1 and 3 both hold the byte at 0x00000012 (two images in one file: give "
            "the one to run)");
}

TEST(HexImage, AfterTheEndTextIsLeftOutAndRecordsAreRefused) {
  EXPECT_THAT(hex_parsed(record(0, 0, {1}) + kEndRecord + "\nsigned by hand\n").notes,
              ElementsAre("text after the end record of line 2 was left out"));
  EXPECT_THAT(hex_parsed(record(0, 0, {1}) + kEndRecord + "\n\n").notes, IsEmpty());
  EXPECT_THAT(hex_error_of(record(0, 0, {1}) + kEndRecord + record(0, 1, {1}) + kEndRecord),
              HasSubstr("a.hex line 3: a record after the end record of line 2"));
}

TEST(HexImage, StartAddressOfAnX86IsLeftOutWithANote) {
  const Image image = hex_parsed(record(0, 0, {1}) + ":0400000300003800C1\n" + kEndRecord);
  EXPECT_EQ(image.entry, 0u);
  EXPECT_THAT(image.notes, ElementsAre(HasSubstr("line 2 is for an x86")));
}

TEST(HexImage, ManyPiecesAreRefused) {
  std::string text;
  for (unsigned i = 0; i <= kMaxImageSegments; ++i) {
    text += record(0, static_cast<uint16_t>(2 * i), {1});
  }
  EXPECT_THAT(hex_error_of(text + kEndRecord), HasSubstr("more than 4096 separate pieces"));
}

TEST(HexImage, KindIsTheShapeOfTheFirstLine) {
  EXPECT_TRUE(is_hex(":0100000041FF\n"));  // a wrong checksum is still HEX
  EXPECT_FALSE(is_hex(""));
  EXPECT_FALSE(is_hex("\n \n"));
  EXPECT_FALSE(is_hex(":"));
  EXPECT_FALSE(is_hex(":00000001F\n"));
  EXPECT_FALSE(is_hex(":00000001FG\n"));
  EXPECT_FALSE(is_hex("S1130000\n"));
}

const std::string kSmall = record(4, 0, {0x60, 0x00}) + record(0, 0, {0x46, 0x43, 0x46, 0x42}) +
                           record(0, 0x1000, {0xD1, 0x00, 0x20, 0x43}) + kEndRecord;

TEST(HexImage, EveryTruncationIsRefused) {
  for (size_t size = 0; size + 1 < kSmall.size(); ++size) hex_error_of(kSmall.substr(0, size));
}

TEST(HexImage, EverySingleBitFlipIsRefusedOrChangesNothing) {
  const Image whole = hex_parsed(kSmall);
  for (size_t bit = 0; bit < 8 * kSmall.size(); ++bit) {
    std::string damaged = kSmall;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    Image image;
    if (!parse_hex("a.hex", damaged, &image).empty()) continue;
    ASSERT_EQ(image.segments.size(), whole.segments.size()) << bit;
    for (size_t i = 0; i < whole.segments.size(); ++i) {
      EXPECT_EQ(image.segments[i].address, whole.segments[i].address) << bit;
      EXPECT_EQ(image.segments[i].bytes, whole.segments[i].bytes) << bit;
    }
  }
}

}  // namespace
}  // namespace millrace::board
