// SPDX-License-Identifier: Apache-2.0
#include "cli/print.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(PrintableSentence, KeepsBothEndsOfALongOne) {
  EXPECT_EQ(printable_sentence(std::string(800, 'a')), std::string(800, 'a'));
  const std::string cut = printable_sentence("open " + std::string(100000, 'x') + ": not found");
  EXPECT_EQ(cut.size(), 400U + 5 + 400);
  EXPECT_EQ(cut.substr(0, 8), "open xxx");
  EXPECT_EQ(cut.substr(cut.size() - 11), ": not found");
}

TEST(PrintableSentence, DoesNotCutACharacter) {
  // Two bytes a character behind one: byte 400 and the byte 400 from the end are second bytes.
  std::string text = "a";
  for (int i = 0; i < 1000; ++i) text += "\u00b5";
  text += "b";
  EXPECT_EQ(printable(printable_sentence(text)), printable_sentence(text));
  EXPECT_EQ(printable_sentence(text).find('?'), std::string::npos);
}

TEST(WriteText, AFullDiskIsNoException) {
  std::FILE* full = std::fopen("/dev/full", "w");
  if (full == nullptr) return;  // only Linux has it
  write_text(full, std::string(100000, 'x'));
  write_now(full, "x");
  std::fclose(full);
  EXPECT_EQ(stdout_error(), 0);  // it was another file
}

}  // namespace
}  // namespace millrace::cli
