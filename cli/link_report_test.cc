// SPDX-License-Identifier: Apache-2.0
#include "cli/link_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/table.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LinkRun usb_run() {
  LinkRun run;
  run.direction = "in";
  run.bytes = 26'624'000;
  run.seconds = 1;
  run.wrong_bytes = 0;
  run.device_buffer_bytes = 524'288;
  run.port.emplace();
  run.port->path = "/dev/ttyACM0";
  run.port->is_usb = true;
  run.port->usb_speed_mbit = 480;
  return run;
}

TEST(LinkReport, NamesPortAndCeiling) {
  // 13 packets of 512 bytes, 8,000 times a second: 53.248 MB/s; half of it came.
  const std::string text = link_report(usb_run());
  EXPECT_THAT(text, HasSubstr("26.6 MB/s of 53.248 MB/s (50.0 %), 0 bytes wrong\n"));
  EXPECT_THAT(text, HasSubstr("port /dev/ttyACM0, USB 480 Mbit/s"));
  EXPECT_THAT(text, Not(HasSubstr("predicted")));
}

TEST(LinkReport, SaysWhatIsPredictedAndWhatIsNotUsb) {
  LinkRun run = usb_run();
  run.is_predicted = true;
  EXPECT_THAT(link_report(run), HasSubstr("(50.0 %), predicted, 0 bytes wrong"));
  run.port = host::PortIdentity();
  run.port->path = "/dev/pts/3";
  EXPECT_THAT(link_report(run), HasSubstr("0 bytes wrong (not USB: no ceiling)\n"));
}

TEST(LinkReport, ClaimsNothingThatNobodyCompared) {
  LinkRun run = usb_run();
  run.wrong_bytes.reset();
  EXPECT_THAT(link_report(run), Not(HasSubstr("wrong")));
  EXPECT_FALSE(run.failed());
  run.wrong_bytes = 1;
  EXPECT_TRUE(run.failed());
}

TEST(LinkReport, GapsAreFailures) {
  LinkRun run = usb_run();
  run.statistics.gaps = 1;
  EXPECT_TRUE(run.failed());
}

TEST(LinkReport, GivesNoRatesOfAFewBytes) {
  LinkRun run = usb_run();
  run.bytes = 12;
  run.seconds = 0;
  run.statistics.wire_in_bytes = 100;
  run.statistics.ack_out_bytes = 88;
  const std::string text = link_report(run);
  EXPECT_THAT(text, HasSubstr("received 12 bytes, 0 bytes wrong\n"));
  EXPECT_THAT(text, HasSubstr("on the wire 100 bytes, acknowledgements 88 bytes\n"));
}

TEST(LinkReport, KeepsTo100ColumnsAndTheDevicesWords) {
  LinkRun run = usb_run();
  run.statistics.smoothed_rtt_us = run.statistics.min_rtt_us = 123'456'789;
  run.statistics.longest_silence_us = 123'456'789;
  run.statistics.damaged_frames = run.statistics.skipped_bytes = uint64_t{1} << 60;
  run.statistics.duplicate_frames = run.statistics.resent_frames = uint64_t{1} << 60;
  run.device_says = {"wrong 372073", std::string("a\x1b") + "b"};
  const std::string text = link_report(run);
  EXPECT_THAT(text, HasSubstr("device: wrong 372073\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 100u) << line;
}

}  // namespace
}  // namespace millrace::cli
