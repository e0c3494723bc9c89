// SPDX-License-Identifier: Apache-2.0
#include "gdb/stop_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gdb/testing/fake_gdb_board.h"

namespace millrace::board::gdb {
namespace {

using Change = StopPoints::Change;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct StopPointsTest : ::testing::Test {
  testing::FakeGdbBoard board;
  StopPoints points{board};
};

TEST_F(StopPointsTest, BothKindsAtOneAddressAreOneOfTheBoard) {
  EXPECT_EQ(points.insert(PointKind::software, 0x60001001, 2), Change::done);  // Thumb bit
  EXPECT_EQ(points.insert(PointKind::hardware, 0x60001000, 2), Change::done);
  EXPECT_EQ(points.insert(PointKind::hardware, 0x60001000, 2), Change::done);
  EXPECT_THAT(board.breakpoints, ElementsAre(0x60001000));
  EXPECT_EQ(points.remove(PointKind::hardware, 0x60001000, 2), Change::done);
  EXPECT_THAT(board.breakpoints, ElementsAre(0x60001000));
  EXPECT_EQ(points.remove(PointKind::software, 0x60001000, 2), Change::done);
  EXPECT_EQ(points.remove(PointKind::software, 0x60001000, 2), Change::done);
  EXPECT_THAT(board.breakpoints, IsEmpty());
}

TEST_F(StopPointsTest, WatchpointsSayWhatWasHit) {
  EXPECT_EQ(points.insert(PointKind::write, 0x20000010, 4), Change::done);
  EXPECT_EQ(points.insert(PointKind::read, 0x20000020, 2), Change::done);
  EXPECT_EQ(points.insert(PointKind::access, 0x20000032, 1), Change::done);
  EXPECT_EQ(board.watchpoints.size(), 3u);
  EXPECT_TRUE(board.watchpoints.contains({0x20000010, 4, false, true}));
  EXPECT_TRUE(board.watchpoints.contains({0x20000020, 2, true, false}));
  EXPECT_TRUE(board.watchpoints.contains({0x20000032, 1, true, true}));
  EXPECT_EQ(points.watch_text(0x20000013), "watch:20000013;");
  EXPECT_EQ(points.watch_text(0x20000020), "rwatch:20000020;");
  EXPECT_EQ(points.watch_text(0x20000030), "awatch:20000032;");  // a word over the byte
  EXPECT_EQ(points.watch_text(0x20000100), "");
}

TEST_F(StopPointsTest, RangesThatAreNoneAreRefused) {
  EXPECT_EQ(points.insert(PointKind::write, 0x20000000, 0), Change::bad_range);
  EXPECT_EQ(points.insert(PointKind::write, 0xFFFFFFFE, 4), Change::bad_range);
  EXPECT_EQ(points.insert(PointKind::write, 0xFFFFFFFC, 4), Change::done);
  EXPECT_EQ(points.insert(PointKind::write, 0, 0xFFFFFFFF), Change::done);
}

TEST_F(StopPointsTest, TheirNumberIsLimited) {
  for (uint32_t i = 0; i < StopPoints::kMaxBreakpoints; ++i) {
    ASSERT_EQ(points.insert(PointKind::software, 2 * i, 2), Change::done);
  }
  EXPECT_EQ(points.insert(PointKind::software, 0x10000, 2), Change::too_many);
  for (uint32_t i = 0; i < StopPoints::kMaxWatchpoints; ++i) {
    ASSERT_EQ(points.insert(PointKind::write, 4 * i, 4), Change::done);
  }
  EXPECT_EQ(points.insert(PointKind::write, 0x10000, 4), Change::too_many);
  points.clear();
  EXPECT_THAT(board.breakpoints, IsEmpty());
  EXPECT_THAT(board.watchpoints, IsEmpty());
  EXPECT_EQ(points.insert(PointKind::software, 0x10000, 2), Change::done);
}

}  // namespace
}  // namespace millrace::board::gdb
