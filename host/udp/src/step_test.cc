// SPDX-License-Identifier: Apache-2.0
// Every way in which a request can come to nothing, one by one.
#include "millrace/udp/step.h"

#include <gtest/gtest.h>

#include "testing/fake_echo.h"

namespace millrace::udp {
namespace {

using testing::FakeEcho;
using testing::FakeEchoPort;

constexpr double kRate = 10'000;  // 2,000 requests in 200 ms, half of what the device can

StepPlan plan_at(double rate) {
  StepPlan plan;
  plan.rate_per_s = rate;
  plan.duration_ns = 200'000'000;
  return plan;
}

StepResult run(const FakeEcho& fake, const StepPlan& plan = plan_at(kRate)) {
  FakeEchoPort port(fake);
  Session session{7, 0, [] { return true; }};
  return run_step(port, plan, session);
}

TEST(Step, AllAnsweredAtTheRate) {
  const StepResult r = run({});
  EXPECT_EQ(r.planned, 2000u);
  EXPECT_EQ(r.sent, 2000u);
  EXPECT_EQ(r.answered, 2000u);
  EXPECT_EQ(r.lost() + r.late + r.duplicate + r.reordered + r.altered + r.foreign, 0u);
  EXPECT_EQ(r.rtt.min(), 90'000u);  // 20 + 50 + 20 us
  EXPECT_EQ(r.rtt.max(), 90'000u);
  EXPECT_NEAR(r.sent_per_s, kRate, 1e-6);
  EXPECT_EQ(r.lateness.max(), 0u);
  EXPECT_NEAR(r.answered_per_s, kRate, 5);  // the last reply comes after the end
  EXPECT_TRUE(r.is_valid());
  EXPECT_EQ(r.last_lost_ns, -1);
}

// The host was away for all of it: that says nothing of the device.
TEST(Step, AClosedLoopThatSentNothingIsNotValid) {
  FakeEcho fake;
  StepPlan plan;
  plan.in_flight = 2;
  plan.duration_ns = 100'000'000;
  fake.stall_ns = 2 * plan.duration_ns;
  fake.stall_every_ns = 1'000 * plan.duration_ns;
  const StepResult r = run(fake, plan);
  EXPECT_EQ(r.sent, 0u);
  EXPECT_EQ(r.fault, HostFault::pace);
}

// 15/s for 100 ms are 1.5, of which 2 are sent; 0.5/s are one, at least: both are the rate offered.
TEST(Step, AFewRequestsInAShortStepAreNoHigherRate) {
  for (const double rate_per_s : {15.0, 0.5, 25.0}) {
    StepPlan plan = plan_at(rate_per_s);
    plan.duration_ns = 100'000'000;
    const StepResult r = run({}, plan);
    EXPECT_EQ(r.answered, r.planned);
    EXPECT_NEAR(r.answered_per_s, rate_per_s, 1e-6);
  }
}

TEST(Step, OverloadIsServedAtTheRateOfTheDevice) {
  const StepResult r = run({}, plan_at(40'000));
  EXPECT_EQ(r.sent, 8000u);
  EXPECT_NEAR(r.answered_per_s, 20'000, 50);
  // The last request comes 199,975 us behind the first: 3,999 are done then, and 64 in the queue.
  EXPECT_EQ(r.answered, 3999u + 64);
  EXPECT_TRUE(r.is_valid());
}

TEST(Step, AQueueThatGrowsIsNotSustainedHoweverShortTheStep) {
  FakeEcho fake;
  fake.queue = 100'000;
  // A twentieth too many: after 25 ms, the middle of the first quarter, a request waits a twentieth
  // of that longer than at the start, 1.25 ms, after 175 ms 8.75 ms.
  const StepResult r = run(fake, plan_at(21'000));
  EXPECT_EQ(r.answered, 4200u);
  EXPECT_NEAR(static_cast<double>(r.rtt_growth_ns), 7'500'000, 300'000);  // buckets of 3 %
  EXPECT_NEAR(static_cast<double>(r.backlog), 200, 2);
  EXPECT_FALSE(r.is_sustained());
}

TEST(Step, ALongWayIsNoQueue) {
  FakeEcho fake;
  fake.way_ns = 3'000'000;
  const StepResult r = run(fake);
  EXPECT_NEAR(static_cast<double>(r.backlog), 60, 1);  // 6 ms of 10,000/s
  EXPECT_EQ(r.rtt_growth_ns, 0);
  EXPECT_TRUE(r.is_sustained());
}

TEST(Step, EachLossIsCountedAsItself) {
  FakeEcho fake;
  fake.lose_every = 100;
  EXPECT_EQ(run(fake).lost(), 20u);
  EXPECT_NEAR(run(fake).loss(), 0.01, 1e-9);
  EXPECT_EQ(run(fake).last_lost_ns, 199'900'000);  // number 1,999
  fake = {};
  fake.duplicate_every = 100;
  EXPECT_EQ(run(fake).duplicate, 19u);  // nothing is waited for behind the last reply
  EXPECT_EQ(run(fake).answered, 2000u);
  fake = {};
  fake.alter_every = 100;
  EXPECT_EQ(run(fake).altered, 20u);
  EXPECT_EQ(run(fake).lost(), 20u);
  fake = {};
  fake.swap_every = 100;  // 150 us later, behind one at 100 us distance; the last has none behind
  EXPECT_EQ(run(fake).reordered, 19u);
  EXPECT_EQ(run(fake).answered, 2000u);
}

TEST(Step, LateRepliesAreNotAnswers) {
  StepPlan plan = plan_at(kRate);
  plan.late_ns = 89'999;
  const StepResult r = run({}, plan);
  EXPECT_EQ(r.late, 2000u);
  EXPECT_EQ(r.answered, 0u);
  EXPECT_EQ(r.lost(), 0u);
  EXPECT_EQ(r.loss(), 1.0);
}

TEST(Step, RepliesToAnEarlierStepAreNotCountedInThisOne) {
  FakeEcho fake;
  fake.way_ns = 150'000'000;
  FakeEchoPort port(fake);
  Session session{7, 0, [] { return true; }};
  StepPlan plan = plan_at(1000);
  plan.settle_ns = 0;
  const StepResult first = run_step(port, plan, session);
  plan.settle_ns = 200'000'000;
  const StepResult second = run_step(port, plan, session);
  EXPECT_EQ(first.answered + first.late, 0u);
  EXPECT_EQ(second.earlier, 200u);
}

TEST(Step, AQueueThatEmptiesInLargeTransfersIsWaitedFor) {
  FakeEcho fake;
  fake.service_ns = 2'000'000;
  fake.queue = 1000;
  fake.replies_at_once = 64;  // one transfer each 128 ms
  FakeEchoPort port(fake);
  Session session{7, 0, [] { return true; }};
  StepPlan plan = plan_at(3200);  // 640 requests: ten transfers, 1.28 s
  plan.settle_ns = 150'000'000;
  const StepResult first = run_step(port, plan, session);
  EXPECT_EQ(first.answered + first.late, 640u);
  EXPECT_EQ(run_step(port, plan, session).earlier, 0u);
}

TEST(Step, RefusedSendsAreRequestsWithoutAnswer) {
  FakeEcho fake;
  fake.refuse_every = 100;
  const StepResult r = run(fake);
  EXPECT_EQ(r.refused, 20u);
  EXPECT_EQ(r.sent, 1980u);
  EXPECT_EQ(r.lost(), 0u);
  EXPECT_DOUBLE_EQ(r.loss(), 0.01);
  EXPECT_EQ(r.fault, HostFault::none);
}

TEST(Step, AnOverflownSocketIsTheHosts) {
  FakeEcho fake;
  fake.overflow_every = 1000;
  const StepResult r = run(fake);
  EXPECT_EQ(r.lost(), 2u);
  EXPECT_EQ(r.drops.socket_overflow, 2u);
  EXPECT_EQ(r.fault, HostFault::socket_overflow);
}

TEST(Step, RepliesThatTheInterfaceDroppedAreTheHosts) {
  FakeEcho fake;
  fake.interface_drop_every = 1000;
  const StepResult r = run(fake);
  EXPECT_EQ(r.lost(), 2u);
  EXPECT_EQ(r.drops.interface_rx, 2u);
  EXPECT_EQ(r.fault, HostFault::interface_drops);
}

TEST(Step, AnInterfaceThatGoesTakesItsCountersAlong) {
  FakeEcho fake;
  fake.earlier_drops = 480;
  fake.dies_at_ns = 1'050'000'000;  // begins at 1,000 ms
  const StepResult r = run(fake);
  EXPECT_GT(r.answered, 0u);
  EXPECT_EQ(r.drops.interface_rx, 0u);
  EXPECT_EQ(r.drops.interface_tx, 0u);
}

TEST(Step, SlowSendCallsAreTheHosts) {
  FakeEcho fake;
  fake.send_ns = 110'000;  // for one each 100 us
  const StepResult r = run(fake);
  EXPECT_NEAR(r.pacing_error, 100.0 / 110 - 1, 0.001);
  EXPECT_EQ(r.fault, HostFault::pace);
}

TEST(Step, BurstsAfterAPauseAreTheHosts) {
  FakeEcho fake;
  fake.stall_ns = 5'000'000;
  fake.stall_every_ns = 20'000'000;
  fake.queue = 1000;
  const StepResult r = run(fake);
  EXPECT_LT(std::abs(r.pacing_error), kMostPacingError);
  EXPECT_GT(r.late_sends, 200u);
  EXPECT_EQ(r.fault, HostFault::late_calls);
}

TEST(Step, ClosedLoopKeepsSoManyUnderWay) {
  StepPlan plan = plan_at(0);
  plan.in_flight = 8;
  const StepResult r = run({}, plan);
  EXPECT_NEAR(r.answered_per_s, 20'000, 100);  // never idle
  EXPECT_EQ(r.lost(), 0u);
  EXPECT_EQ(r.rtt.max(), 440'000u);  // the last of the first eight: two ways, and eight echoes
  EXPECT_NEAR(static_cast<double>(r.rtt.quantile(0.5)), 400'000, 13'000);  // later: eight echoes
  plan.in_flight = 1;
  EXPECT_NEAR(run({}, plan).answered_per_s, 1e9 / 90'000, 50);
}

TEST(Step, ClosedLoopGoesOnBehindALostRequest) {
  StepPlan plan = plan_at(0);
  plan.in_flight = 1;
  plan.late_ns = 10'000'000;
  FakeEcho fake;
  fake.lose_every = 100;  // 99 echoes of 90 us, then 10 ms
  const StepResult r = run(fake, plan);
  EXPECT_NEAR(static_cast<double>(r.lost()), 200.0 / (99 * 0.09 + 10), 1);
  EXPECT_EQ(r.duplicate, 0u);
}

TEST(Step, ADeadPortEndsIt) {
  FakeEcho fake;
  fake.dies_at_ns = 1'100'000'000;
  const StepResult r = run(fake);
  EXPECT_LT(r.sent, 1100u);
  EXPECT_GT(r.sent, 900u);
}

TEST(Step, AnInterruptEndsIt) {
  FakeEchoPort port({});
  int asked = 0;
  Session session{7, 0, [&asked] { return ++asked < 100; }};
  const StepResult r = run_step(port, plan_at(kRate), session);
  EXPECT_TRUE(r.is_interrupted);
  EXPECT_LT(r.sent, 2000u);
}

}  // namespace
}  // namespace millrace::udp
