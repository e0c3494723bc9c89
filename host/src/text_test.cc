// SPDX-License-Identifier: Apache-2.0
#include "millrace/host/text.h"

#include <gtest/gtest.h>

namespace millrace::host {
namespace {

TEST(Printable, TextStays) {
  EXPECT_EQ(printable("Teensy 4.1, 12 \u00b5s, Gr\u00fc\u00dfe, \u20ac, \u65e5\u672c, \U0001f600"),
            "Teensy 4.1, 12 \u00b5s, Gr\u00fc\u00dfe, \u20ac, \u65e5\u672c, \U0001f600");
}

TEST(Printable, EachByteOfAControlCharacterBecomesAQuestionMark) {
  EXPECT_EQ(printable("\x1b[2Ja\nb\rc\td\x7f"), "?[2Ja?b?c?d?");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("\u009b31m"), "??31m") << "the one-character CSI";
  EXPECT_EQ(printable("a\u202e"
                      "b"),
            "a???b")
      << "right-to-left override";
  EXPECT_EQ(printable("\u061c"), "??") << "Arabic letter mark";
}

TEST(Printable, EachByteThatIsNoUtf8BecomesAQuestionMark) {
  EXPECT_EQ(printable("\xff\xfe"), "??");
  EXPECT_EQ(printable("\xff\xc3"), "??");
  EXPECT_EQ(printable("\xc0\xaf"), "??") << "overlong /";
  EXPECT_EQ(printable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????") << "above U+10FFFF";
  EXPECT_EQ(printable("a\xe6\x97"), "a??") << "cut short";
  EXPECT_EQ(printable("\xe6\x97z"), "??z");
}

TEST(MegabytesPerS, HasThreeSignificantDigits) {
  EXPECT_EQ(megabytes_per_s(181.2e6), "181");
  EXPECT_EQ(megabytes_per_s(36.94e6), "36.9");
  EXPECT_EQ(megabytes_per_s(2.64e6), "2.64");
  EXPECT_EQ(megabytes_per_s(0.0123e6), "0.012");
}

}  // namespace
}  // namespace millrace::host
