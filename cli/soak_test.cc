// SPDX-License-Identifier: Apache-2.0
#include "cli/soak.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/fake_link.h"

namespace millrace::cli {
namespace {

struct SoakTest : testing::Test {
  SoakTest() {
    plan.settings.frame_size = 512;
    replugger.endpoint = [] {
      return host::Result<std::unique_ptr<host::Endpoint>>(
          std::unique_ptr<host::Endpoint>(std::make_unique<FakeEndpoint>()));
    };
  }
  SoakResult run() {
    return run_soak(endpoint, plan, replugger, fake.runner(), host::RunHooks{},
                    [](const std::string&) {});
  }
  FakeEndpoint endpoint;
  FakeRunner fake;
  SoakPlan plan;
  Replugger replugger;
};

TEST_F(SoakTest, LongIsTheLengthOfThePublishedRuns) {
  plan.phases = {"long"};
  const SoakResult soak = run();
  ASSERT_EQ(fake.asked.size(), 1U);
  EXPECT_EQ(fake.asked[0].frame_count, 1048576U);
  EXPECT_EQ(soak.phases.at(0).status, SoakStatus::passed);
}

TEST_F(SoakTest, BurstsFollowSilenceOnAnOpenPort) {
  plan.phases = {"burst"};
  run();
  EXPECT_EQ(fake.opened_after_ns, std::vector<int64_t>(5, 3000000000));
}

TEST_F(SoakTest, BoundarySizesGoBothWaysOneFrameAtATimeToo) {
  plan.phases = {"boundary"};
  plan.quick = true;
  run();
  EXPECT_EQ(boundary_sizes(true, UINT32_MAX),
            (std::vector<uint32_t>{63, 64, 65, 511, 512, 513, 2047, 2048, 2049}));
  EXPECT_EQ(fake.asked.size(), 9U * 4);
  EXPECT_EQ(std::count_if(fake.asked.begin(), fake.asked.end(),
                          [](const host::RunSettings& settings) {
                            return settings.direction == link::Direction::out &&
                                   settings.window_frames == 1;
                          }),
            9);
}

TEST_F(SoakTest, ClassicDevicesAreNotAskedForOut) {
  plan.phases = {"boundary"};
  plan.quick = true;
  fake.alter = [](size_t, host::RunResult& result) { result.protocol = host::Protocol::classic; };
  const SoakResult soak = run();
  EXPECT_EQ(fake.asked.size(), 9U * 2);
  EXPECT_NE(soak_notes(soak).find("classic"), std::string::npos);
  EXPECT_EQ(soak.code, kOk);
}

TEST_F(SoakTest, AFailureIsNamedWithItsRun) {
  plan.phases = {"boundary", "reopen"};
  plan.quick = true;
  fake.alter = [](size_t i, host::RunResult& result) {
    if (i == 4) make_fail(result, host::VerdictKind::timed_out, host::RunEnd::timed_out);
  };
  const SoakResult soak = run();
  EXPECT_EQ(soak.code, kFailed);
  ASSERT_EQ(soak.phases.size(), 2U);
  EXPECT_EQ(soak.phases[0].status, SoakStatus::failed);
  EXPECT_EQ(soak.phases[0].telling_run, "in, 16 frames of 512 B, ack none");
  EXPECT_EQ(soak.phases[0].verdict->kind, host::VerdictKind::timed_out);
  EXPECT_EQ(soak.phases[1].status, SoakStatus::passed);
}

TEST_F(SoakTest, ReplugPassesOnlyIfItWasNoticedAndTheNextRunIsWhole) {
  plan.phases = {"replug"};
  fake.alter = [](size_t i, host::RunResult& result) {
    if (i == 0) make_fail(result, host::VerdictKind::replugged, host::RunEnd::complete);
  };
  SoakResult soak = run();
  EXPECT_EQ(soak.phases.at(0).status, SoakStatus::passed);
  EXPECT_EQ(soak.code, kOk);

  fake = FakeRunner{};  // nothing was unplugged
  soak = run();
  EXPECT_EQ(soak.phases.at(0).status, SoakStatus::failed);
  EXPECT_EQ(soak.code, kFailed);
}

TEST_F(SoakTest, ReplugWithNobodyThereIsNotAFailure) {
  plan.phases = {"replug"};
  replugger.impossible = "nobody there";
  const SoakResult soak = run();
  EXPECT_EQ(soak.phases.at(0).status, SoakStatus::not_run);
  EXPECT_EQ(soak.code, kOk);
}

TEST_F(SoakTest, CtrlCIsNoFailureOfThePhase) {
  for (const char* phase : {"boundary", "replug"}) {
    plan.phases = {phase, "long"};
    plan.quick = true;
    fake = FakeRunner{};
    fake.alter = [](size_t, host::RunResult& result) {
      make_fail(result, host::VerdictKind::interrupted, host::RunEnd::interrupted);
    };
    const SoakResult soak = run();
    ASSERT_EQ(soak.phases.size(), 1U);
    EXPECT_EQ(soak.phases[0].status, SoakStatus::interrupted);
    EXPECT_EQ(soak.phases[0].failed_runs, 0U);
    EXPECT_EQ(soak.phases[0].telling_run, "");
    EXPECT_EQ(soak.code, kInterrupted);
    EXPECT_EQ(soak_table(soak).text().find("failed\n"), std::string::npos);
    EXPECT_NE(soak_table(soak).text().find("interrupted"), std::string::npos);
  }
}

TEST_F(SoakTest, AFaultBeforeCtrlCIsAFailure) {
  plan.phases = {"long"};
  fake.alter = [](size_t, host::RunResult& result) {
    make_fail(result, host::VerdictKind::bit_errors, host::RunEnd::interrupted);
  };
  const SoakResult soak = run();
  EXPECT_EQ(soak.phases.at(0).status, SoakStatus::failed);
  EXPECT_EQ(soak.code, kInterrupted);
}

TEST_F(SoakTest, EndsWithTheDevice) {
  fake.alter = [](size_t, host::RunResult& result) {
    make_fail(result, host::VerdictKind::device_gone, host::RunEnd::gone);
  };
  const SoakResult soak = run();
  EXPECT_EQ(soak.phases.size(), 1U);
  EXPECT_EQ(soak.code, kGone);
}

}  // namespace
}  // namespace millrace::cli
