// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/checked_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "firmware/app/fake_port.h"

namespace millrace::firmware {
namespace {

constexpr size_t kAll = FakePort::kEverything;

const uint8_t kData[100] = {1, 2, 3};

TEST(CheckedWriter, ShortWriteIsCountedAndTheRestIsLeft) {
  FakePort port;
  port.script = {30, 0, 70};
  CheckedWriter writer(port);
  writer.start_run(false, 0, 1000);
  EXPECT_EQ(writer.write_stream(kData, 100, 1000).accepted, 30u);
  EXPECT_EQ(writer.write_stream(kData + 30, 70, 1500).accepted, 0u);
  EXPECT_EQ(writer.write_stream(kData + 30, 70, 1700).accepted, 70u);
  const WriterTotals totals = writer.totals(9999);
  EXPECT_EQ(totals.short_writes, 2u);
  EXPECT_EQ(totals.accepted_bytes, 100u);
  EXPECT_EQ(totals.discarded_bytes, 0u);
  // Blocked from the first short write at 1000 until the one at 1700 took everything.
  EXPECT_EQ(totals.longest_blocked_us, 700u);
  EXPECT_EQ(totals.total_blocked_us, 700u);
}

TEST(CheckedWriter, LongestAndTotalBlockedTimeAreKeptApart) {
  FakePort port;
  port.script = {0, kAll, 0, kAll, 0, kAll};
  CheckedWriter writer(port);
  writer.start_run(false, 0, 0);
  const uint64_t times[] = {10, 15, 100, 400, 1000, 1020};
  for (const uint64_t at : times) (void)writer.write_stream(kData, 100, at);
  EXPECT_EQ(writer.totals(5000).longest_blocked_us, 300u);  // 400 - 100
  EXPECT_EQ(writer.totals(5000).total_blocked_us, 5u + 300u + 20u);
}

TEST(CheckedWriter, BlockedTimeIncludesTheBlockUnderWay) {
  FakePort port;
  port.accept = 0;
  CheckedWriter writer(port);
  writer.start_run(false, 0, 0);
  (void)writer.write_stream(kData, 100, 100);
  EXPECT_TRUE(writer.blocked());
  EXPECT_EQ(writer.totals(350).longest_blocked_us, 250u);
  EXPECT_EQ(writer.totals(350).total_blocked_us, 250u);
  EXPECT_EQ(writer.totals(uint64_t{1} << 40).longest_blocked_us, 0xffffffffu);
}

TEST(CheckedWriter, NothingIsDiscardedWithoutDiscardMode) {
  FakePort port;
  port.accept = 0;
  CheckedWriter writer(port);
  writer.start_run(false, 120'000, 0);
  for (uint64_t at = 0; at < 10'000'000; at += 50'000) {
    EXPECT_EQ(writer.write_stream(kData, 100, at).done(), 0u);
  }
  EXPECT_EQ(writer.totals(0).discards, 0u);
}

TEST(CheckedWriter, DiscardsTheRestOfAWriteAfterTheTimeWithoutProgress) {
  FakePort port;
  port.script = {60};
  port.accept = 0;
  CheckedWriter writer(port);
  writer.start_run(true, 120'000, 0);
  EXPECT_EQ(writer.write_stream(kData, 100, 5'000).accepted, 60u);  // progress at 5 ms
  EXPECT_EQ(writer.write_stream(kData + 60, 40, 124'999).done(), 0u);
  const WriteResult late = writer.write_stream(kData + 60, 40, 125'000);  // 120 ms after it
  EXPECT_EQ(late.accepted, 0u);
  EXPECT_EQ(late.discarded, 40u);
  // Stuck: the next write is thrown away whole and at once.
  EXPECT_EQ(writer.write_stream(kData, 100, 125'001).discarded, 100u);
  const WriterTotals totals = writer.totals(125'001);
  EXPECT_EQ(totals.discarded_bytes, 140u);
  EXPECT_EQ(totals.discards, 2u);
  EXPECT_EQ(totals.accepted_bytes, 60u);
}

TEST(CheckedWriter, AWriteThatIsTakenInPartEndsTheDiscarding) {
  FakePort port;
  port.script = {0, 0, 10, 0};
  CheckedWriter writer(port);
  writer.start_run(true, 1'000, 0);
  (void)writer.write_stream(kData, 100, 0);
  EXPECT_EQ(writer.write_stream(kData, 100, 1'000).discarded, 100u);
  const WriteResult partial = writer.write_stream(kData, 100, 1'100);
  EXPECT_EQ(partial.accepted, 10u);
  EXPECT_EQ(partial.discarded, 0u);
  EXPECT_EQ(writer.write_stream(kData + 10, 90, 1'200).done(), 0u);  // waits anew
}

TEST(CheckedWriter, APauseOfTheApplicationIsNotTheLinksFault) {
  FakePort port;
  port.script = {kAll, 0};
  CheckedWriter writer(port);
  writer.start_run(true, 1'000, 0);
  (void)writer.write_stream(kData, 100, 0);
  // Nothing was offered for a second; the first short write starts the clock.
  EXPECT_EQ(writer.write_stream(kData, 100, 1'000'000).discarded, 0u);
}

TEST(CheckedWriter, MessagesAreNeverDiscardedNorCountedAsStream) {
  FakePort port;
  port.accept = 0;
  CheckedWriter writer(port);
  writer.start_run(true, 1'000, 0);
  EXPECT_EQ(writer.write_message(kData, 100, 0), 0u);
  EXPECT_EQ(writer.write_message(kData, 100, 5'000'000), 0u);
  port.accept = kAll;
  EXPECT_EQ(writer.write_message(kData, 100, 5'000'001), 100u);
  EXPECT_EQ(writer.totals(0).accepted_bytes, 0u);
  EXPECT_EQ(writer.totals(0).discards, 0u);
  EXPECT_EQ(writer.totals(0).longest_blocked_us, 5'000'001u);
}

TEST(CheckedWriter, StartRunBeginsFromZero) {
  FakePort port;
  port.accept = 1;
  CheckedWriter writer(port);
  writer.start_run(false, 0, 0);
  (void)writer.write_stream(kData, 100, 0);
  writer.start_run(false, 0, 10);
  const WriterTotals totals = writer.totals(1000);
  EXPECT_EQ(totals.short_writes, 0u);
  EXPECT_EQ(totals.total_blocked_us, 0u);
  EXPECT_EQ(totals.accepted_bytes, 0u);
}

}  // namespace
}  // namespace millrace::firmware
