// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep.h"

#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "cli/fake_link.h"

namespace millrace::cli {
namespace {

struct SweepTest : testing::Test {
  SweepResult run() {
    return run_sweep(endpoint, plan, fake.runner(), host::RunHooks{}, [](const std::string&) {});
  }
  FakeEndpoint endpoint;
  FakeRunner fake;
  SweepPlan plan;
};

TEST_F(SweepTest, RunsEveryCellOfEveryRepeat) {
  const SweepResult sweep = run();
  EXPECT_EQ(sweep.code, kOk);
  ASSERT_EQ(sweep.cells.size(), 12U);          // 6 sizes x none, each
  ASSERT_EQ(fake.asked.size(), 36U);           // x 3
  EXPECT_EQ(fake.asked[12].frame_size, 128U);  // the second repeat starts over
  for (const SweepCell& cell : sweep.cells) EXPECT_EQ(cell.runs.size(), 3U);
}

TEST_F(SweepTest, AmountOfACell) {
  // 16 MiB / 128 = 131,072 frames; acknowledged runs are cut to 4,096 frames; never below 16.
  EXPECT_EQ(frames_of(plan, 128, 0), 131072U);
  EXPECT_EQ(frames_of(plan, 128, 1), 4096U);
  EXPECT_EQ(frames_of(plan, 4194304, 0), 16U);
}

TEST_F(SweepTest, MarksFailuresAndAveragesTheRest) {
  plan.frame_sizes = {512, 1024};
  plan.windows = {0};
  // Runs 0, 2, 4 are of 512 B: the second of them fails; all of 1024 B fail.
  fake.alter = [](size_t i, host::RunResult& result) {
    if (i == 0) result.bytes_per_s = 10e6;
    if (i == 2 || i % 2 == 1) {
      make_fail(result, host::VerdictKind::lost_unattributed, host::RunEnd::complete);
    }
  };
  const SweepResult sweep = run();
  EXPECT_EQ(sweep.code, kFailed);
  EXPECT_EQ(sweep.cells[0].mark(), "15.0*");  // mean of 10 and 20
  EXPECT_EQ(sweep.cells[1].mark(), "-");
  EXPECT_EQ(sweep_table(sweep).text(),
            "frame B  ack none MB/s\n"
            "-------  -------------\n"
            "    512          15.0*\n"
            "   1024              -\n");
  EXPECT_NE(sweep_details(sweep).text().find("1/3 (33 %)"), std::string::npos);
  EXPECT_NE(sweep_failures(sweep).find("512 B, ack none: failed: it did"), std::string::npos);
}

TEST_F(SweepTest, EndsWithTheDevice) {
  fake.alter = [](size_t i, host::RunResult& result) {
    if (i == 4) make_fail(result, host::VerdictKind::device_gone, host::RunEnd::gone);
  };
  const SweepResult sweep = run();
  EXPECT_EQ(sweep.code, kGone);
  EXPECT_EQ(fake.asked.size(), 5U);
  EXPECT_EQ(sweep.cells[5].mark(), "");
}

// What the user ended is no sample: it fails nothing and its rate is not in a mean.
TEST_F(SweepTest, InterruptedRunIsNotCounted) {
  plan.frame_sizes = {512};
  fake.alter = [](size_t i, host::RunResult& result) {
    if (i == 3) make_fail(result, host::VerdictKind::interrupted, host::RunEnd::interrupted);
  };
  const SweepResult sweep = run();
  EXPECT_EQ(sweep.code, kInterrupted);
  EXPECT_EQ(fake.asked.size(), 4U);  // none, each, none, each
  EXPECT_EQ(sweep.cells[0].runs.size(), 2U);
  ASSERT_EQ(sweep.cells[1].runs.size(), 1U);
  EXPECT_EQ(sweep.cells[1].failed(), 0U);
  EXPECT_EQ(sweep.cells[1].mark(), "20.0");
  EXPECT_EQ(sweep_failures(sweep), "");
  EXPECT_EQ(sweep.interrupted.rfind("512 B, ack each: ", 0), 0U) << sweep.interrupted;
  // One run has no deviation of a sample: 20 MB/s, no SD, minimum 20.
  const std::string details = sweep_details(sweep).text();
  EXPECT_NE(details.find("20.0      -  20.0"), std::string::npos) << details;
}

// With a fault before the interruption the run failed all the same.
TEST_F(SweepTest, InterruptedRunWithAFaultFailed) {
  plan.frame_sizes = {512};
  fake.alter = [](size_t, host::RunResult& result) {
    make_fail(result, host::VerdictKind::bit_errors, host::RunEnd::interrupted);
  };
  const SweepResult sweep = run();
  EXPECT_EQ(sweep.code, kInterrupted);
  EXPECT_EQ(sweep.cells[0].failed(), 1U);
  EXPECT_EQ(sweep.interrupted, "");
}

TEST_F(SweepTest, GoesOnAfterATimeout) {
  fake.alter = [](size_t, host::RunResult& result) {
    make_fail(result, host::VerdictKind::timed_out, host::RunEnd::timed_out);
  };
  EXPECT_EQ(run().code, kFailed);
  EXPECT_EQ(fake.asked.size(), 36U);
}

TEST_F(SweepTest, CsvHasPlainNumbers) {
  plan.frame_sizes = {2048};
  plan.windows = {8};
  // 16 MiB / 2048 = 8,192 frames, cut to 4,096.
  EXPECT_EQ(sweep_csv(run()).csv(),
            "frame_size,ack,frame_count,runs,failed,mean_bytes_per_s,deviation_bytes_per_s,"
            "min_bytes_per_s,max_bytes_per_s,frames_per_s,reads_per_s,verdict\n"
            // 20 MB/s / 2,048 B = 9,766 frames/s
            "2048,window:8,4096,3,0,20000000,0,20000000,20000000,9766,0,device_bound\n");
}

TEST_F(SweepTest, TableGroupsDigits) {
  plan.frame_sizes = {2048};
  plan.windows = {8};
  const std::string text = sweep_details(run()).text();
  EXPECT_NE(text.find("  4,096  "), std::string::npos) << text;
  EXPECT_NE(text.find("  9,766  "), std::string::npos) << text;  // 20 MB/s / 2,048 B
}

}  // namespace
}  // namespace millrace::cli
