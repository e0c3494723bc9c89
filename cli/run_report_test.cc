// SPDX-License-Identifier: Apache-2.0
#include "cli/run_report.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace millrace::cli {
namespace {

// What a device says of itself is shown, but it cannot drive the terminal or add lines.
TEST(RunReport, ShowsNoControlCharactersOfTheDevice) {
  host::RunResult result;
  result.hello.emplace();
  std::snprintf(result.hello->firmware_name, sizeof result.hello->firmware_name, "%s",
                "\x1b[31m\xff\nok: fine");
  result.end = host::RunEnd::refused;
  result.end_detail = "\x1b[2Jno\nway";
  result.verdict.failed = true;
  result.verdict.sentence = "refused: \x1b]0;title\x07";
  result.port.path = "/dev/tty\nX";
  const std::string text = run_report(result, Colour(nullptr));
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find('\xff'), std::string::npos) << text;
  EXPECT_NE(text.find("?[31m??ok: fine"), std::string::npos) << text;
  EXPECT_NE(text.find("?[2Jno?way"), std::string::npos) << text;
  EXPECT_NE(text.find("FAILED: refused: ?]0;title?"), std::string::npos) << text;
  EXPECT_NE(text.find("/dev/tty?X"), std::string::npos) << text;
}

TEST(RunReport, OneOfAThingIsSingular) {
  host::RunResult result;
  result.settings.frame_count = 1;
  result.frames = 1;
  result.in_bytes = 512;
  result.duration_ns = 1000;
  result.reads.reads = 1;
  result.reads.longest_silence_offset = 1;
  const std::string text = run_report(result, Colour(nullptr));
  EXPECT_NE(text.find("1 of 1 frame\n"), std::string::npos) << text;
  EXPECT_NE(text.find("after 1 byte;"), std::string::npos) << text;
}

}  // namespace
}  // namespace millrace::cli
