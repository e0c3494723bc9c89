// SPDX-License-Identifier: Apache-2.0
#include "cli/record_target.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(RecordLoad, EveryKindIsRead) {
  EXPECT_EQ(parse_load("none")->kind, LoadKind::none);
  const auto paced = parse_load("udp:1K@1500.5");
  ASSERT_TRUE(paced);
  EXPECT_EQ(paced->kind, LoadKind::udp);
  EXPECT_EQ(paced->bytes, 1024u);
  EXPECT_EQ(paced->rate_per_s, 1500.5);
  const auto closed = parse_load("udp:32x64");
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->rate_per_s, 0);
  EXPECT_EQ(closed->in_flight, 64u);
  EXPECT_EQ(parse_load("serial:both")->direction, link::Direction::both);
  EXPECT_EQ(parse_load("serial:out")->direction, link::Direction::out);
}

TEST(RecordLoad, AnythingElseIsRefused) {
  for (const char* text : {"",         "udp",        "udp:",       "udp:32",       "udp:32@",
                           "udp:32@0", "udp:32@-5",  "udp:32@1e9", "udp:32@nan",   "udp:32@5s",
                           "udp:31@5", "udp:1473@5", "udp:32x0",   "udp:32x65537", "udp:@5",
                           "serial",   "serial:",    "serial:up",  "NONE",         "udp:32 @5"}) {
    const auto load = parse_load(text);
    ASSERT_FALSE(load) << text;
    EXPECT_EQ(load.error().code, host::ErrorCode::usage) << text;
  }
}

TEST(RecordTarget, ImageOfABoardName) {
  EXPECT_EQ(board_image("board:a/b.elf?host=ideal"), "a/b.elf");
  EXPECT_EQ(board_image("board:b.elf"), "b.elf");
  EXPECT_EQ(board_image("/dev/ttyACM0"), "");
}

}  // namespace
}  // namespace millrace::cli
