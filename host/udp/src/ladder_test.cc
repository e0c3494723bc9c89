// SPDX-License-Identifier: Apache-2.0
#include "millrace/udp/ladder.h"

#include <gmock/gmock.h>

#include "testing/fake_echo.h"

namespace millrace::udp {
namespace {

using testing::FakeEcho;
using testing::FakeEchoPort;
using ::testing::HasSubstr;

LadderSettings settings_to(double top, double width = 2500) {
  LadderSettings s;
  s.plan.duration_ns = 200'000'000;
  s.first_per_s = s.width_per_s = width;
  s.top_per_s = top;
  return s;
}

LadderResult climb(const FakeEcho& fake, const LadderSettings& settings,
                   std::optional<TransferCounts> transfers = std::nullopt) {
  const PortMaker make = [&]() -> host::Result<std::unique_ptr<DatagramPort>> {
    auto port = std::make_unique<FakeEchoPort>(fake);
    port->transfers_ = transfers;
    return std::unique_ptr<DatagramPort>(std::move(port));
  };
  host::Result<LadderResult> result = run_ladder(make, settings, 9, {});
  EXPECT_TRUE(result);
  return std::move(*result);
}

// The sentence of a behaviour that was found, or empty.
std::string said(const LadderResult& result, BehaviourKind kind) {
  for (const Behaviour& each : result.behaviours) {
    if (each.kind == kind) return each.sentence;
  }
  return {};
}

TEST(Ladder, AStepThatIsCutShortIsNoLimit) {
  size_t steps = 0;
  uint64_t asked = 0;
  LadderHooks hooks;
  hooks.on_step = [&](const std::string&, const StepResult&) { ++steps; };
  hooks.keep_going = [&] { return steps < 2 || ++asked < 4; };
  const FakeEcho fake;
  const PortMaker make = [&]() -> host::Result<std::unique_ptr<DatagramPort>> {
    return std::unique_ptr<DatagramPort>(std::make_unique<FakeEchoPort>(fake));
  };
  const host::Result<LadderResult> r = run_ladder(make, settings_to(30'000), 9, hooks);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->is_interrupted);
  ASSERT_EQ(r->passes.size(), 1u);
  ASSERT_EQ(r->passes[0].steps.size(), 3u);
  EXPECT_TRUE(r->passes[0].steps[2].is_interrupted);
  EXPECT_EQ(r->ndr.rate_per_s, 5000.0);  // of the two that were whole
  EXPECT_FALSE(r->aftermath);
}

TEST(Ladder, FindsPeakAndLosslessRateOfAnHonestDevice) {
  const LadderResult r = climb({}, settings_to(30'000));
  ASSERT_EQ(r.passes.size(), 3u);
  for (const Pass& pass : r.passes) {
    ASSERT_EQ(pass.steps.size(), 12u);
    EXPECT_NEAR(pass.peak_per_s, 20'000, 50);
  }
  EXPECT_EQ(r.lossless.rate_per_s, 20'000);
  EXPECT_EQ(r.ndr.rate_per_s, 20'000);
  EXPECT_FALSE(r.lossless.is_host_limited);
  EXPECT_TRUE(r.behaviours.empty()) << r.behaviours[0].sentence;
  ASSERT_TRUE(r.aftermath);
  EXPECT_NEAR(r.aftermath->overload.plan.rate_per_s, 40'000, 100);
  EXPECT_EQ(r.aftermath->recovery.lost(), 0u);
  EXPECT_EQ(r.aftermath->pings.answered, 10u);
}

TEST(Ladder, AFilledQueueIsNotLossless) {
  FakeEcho fake;
  fake.queue = 100'000;
  const LadderResult r = climb(fake, settings_to(30'000));
  const StepResult& step = r.passes[0].steps[9];  // 25,000/s: 5,000 requests in 200 ms
  EXPECT_EQ(step.lost() + step.late, 0u);
  EXPECT_NEAR(static_cast<double>(step.backlog), 5000 - 200 / 0.05, 3);
  EXPECT_EQ(r.lossless.rate_per_s, 20'000);
  EXPECT_EQ(r.ndr.rate_per_s, 20'000);
}

TEST(Ladder, LosslessIsNinetyNinePercentAndNdrIsNothing) {
  FakeEcho fake;
  fake.lose_every = 250;  // 0.4 %
  const LadderResult r = climb(fake, settings_to(10'000));
  EXPECT_EQ(r.lossless.rate_per_s, 10'000);
  EXPECT_FALSE(r.ndr.rate_per_s);
  EXPECT_FALSE(r.pdr.rate_per_s);  // 0.1 %
}

TEST(Ladder, SearchFindsTheRateWithinItsResolution) {
  LadderSettings s = settings_to(30'000);
  s.search = SearchKind::ndr;
  s.has_aftermath = false;
  const LadderResult r = climb({}, s);
  ASSERT_TRUE(r.search.rate_per_s);
  // 1 % above its 20,000/s its queue of 64 only fills; it would lose from (4,000 + 64) / 0.2 s on.
  EXPECT_NEAR(*r.search.rate_per_s, 20'200, 60);
  const size_t n = r.search.trials.size();
  EXPECT_EQ(r.search.trials[n - 1].rate_per_s, r.search.trials[n - 2].rate_per_s);
  EXPECT_TRUE(r.search.trials[n - 1].passed && r.search.trials[n - 2].passed);
}

TEST(Ladder, SearchWithALossAllowed) {
  LadderSettings s = settings_to(30'000);
  s.search = SearchKind::pdr;
  s.pdr_loss = 0.2;
  s.has_aftermath = false;
  const LadderResult r = climb({}, s);
  ASSERT_TRUE(r.search.rate_per_s);
  EXPECT_NEAR(*r.search.rate_per_s, 20'320 / 0.8, 60);
}

TEST(Ladder, SearchBelowTheFirstRateFindsNothing) {
  LadderSettings s = settings_to(30'000);
  s.search = SearchKind::ndr;
  FakeEcho fake;
  fake.lose_every = 100;
  EXPECT_FALSE(climb(fake, s).search.rate_per_s);
}

TEST(Behaviour, CollapseUnderOverload) {
  FakeEcho fake;
  fake.drop_cost_ns = 40'000;  // at 40,000/s all time goes into what is thrown away
  const LadderResult r = climb(fake, settings_to(20'000));
  EXPECT_THAT(said(r, BehaviourKind::overload_collapse), HasSubstr("collapse under overload"));
  EXPECT_NEAR(r.passes[0].peak_per_s, 20'000, 50);
  EXPECT_LT(r.aftermath->overload.answered_per_s, 5000);
}

TEST(Behaviour, MidRangeLoss) {
  FakeEcho fake;  // 7,500 and 10,000/s, but neither 5,000 nor 12,500
  fake.band_gap_low_ns = 90'000;
  fake.band_gap_high_ns = 140'000;
  const LadderResult r = climb(fake, settings_to(20'000));
  EXPECT_EQ(
      said(r, BehaviourKind::mid_range_loss),
      "mid-range loss: between 7,500 and 10,000/s up to 10.00 % are lost, at 12,500/s nothing "
      "again (in 3 of 3 passes)");
  EXPECT_EQ(r.lossless.rate_per_s, 5000);
}

TEST(Behaviour, HostLimited) {
  FakeEcho fake;
  fake.send_ns = 60'000;  // 16,667/s
  fake.service_ns = 20'000;
  const LadderResult r = climb(fake, settings_to(20'000));
  EXPECT_EQ(said(r, BehaviourKind::host_limited),
            "host-limited: 6 steps are not valid, the first at 17,500/s: it did not send at the "
            "rate");
  EXPECT_EQ(r.lossless.rate_per_s, 15'000);
  EXPECT_TRUE(r.lossless.is_host_limited);
}

TEST(Behaviour, TickQuantisedRoundTrips) {
  FakeEcho fake;
  fake.tick_ns = 1'000'000;
  fake.service_ns = 1000;
  const LadderResult r = climb(fake, settings_to(5000, 1000));
  EXPECT_THAT(said(r, BehaviourKind::tick_quantised_rtt), HasSubstr("multiples of 1000 us"));
}

TEST(Behaviour, EvenlySpreadRoundTripsHaveNoTick) {
  std::vector<uint32_t> rtt;
  for (uint32_t i = 0; i < 3000; ++i) rtt.push_back(100'000 + i * 1237 % 3'000'000);
  EXPECT_FALSE(period_of_rtt(rtt));
  rtt.assign(3000, 250'000);  // one value is no series of multiples
  EXPECT_FALSE(period_of_rtt(rtt));
}

TEST(Behaviour, OneDatagramNtbs) {
  const LadderResult single = climb({}, settings_to(5000), TransferCounts{1000, 1000, 1000, 100});
  EXPECT_THAT(said(single, BehaviourKind::one_datagram_ntbs), HasSubstr("hold 1.00 datagrams"));
  const LadderResult many = climb({}, settings_to(5000), TransferCounts{1000, 200, 1000, 100});
  EXPECT_EQ(said(many, BehaviourKind::one_datagram_ntbs), "");
  const LadderResult idle = climb({}, settings_to(5000), TransferCounts{1000, 1000, 1000, 1000});
  EXPECT_EQ(said(idle, BehaviourKind::one_datagram_ntbs), "");
}

TEST(Ladder, CountersOfTheDeviceSayWhereRequestsWereLost) {
  FakeEcho fake;
  fake.has_counters = true;
  fake.lose_every = 100;                 // inside: it counts them as requests
  fake.overflow_every = 1000;            // behind
  LadderSettings s = settings_to(5000);  // 500 and 1,000 requests in each of three passes
  s.has_aftermath = false;
  const LadderResult r = climb(fake, s);
  ASSERT_TRUE(r.device);
  EXPECT_EQ(r.device->sent, 1500u);
  EXPECT_EQ(r.device->lost_before(), 0u);
  EXPECT_EQ(r.device->lost_inside(), 15u);
  EXPECT_EQ(r.device->lost_behind(), 1u);  // of 1,485 replies
  EXPECT_FALSE(climb({}, s).device);
}

TEST(Ladder, RecoveryIsTheLastLostRequest) {
  FakeEcho fake;  // its clock starts at 1 s; pass, overload, settling: then deaf for a while
  LadderSettings s = settings_to(2500);
  s.passes = 1;
  fake.deaf_until_ns = 1'101'000'000 + 20'000;  // 100 ms of the only step
  const LadderResult step = climb(fake, s);
  EXPECT_EQ(step.passes[0].steps[0].last_lost_ns, 99'600'000);  // 400 us apart, the one before
}

TEST(Ladder, ADeviceThatGoesAwayInTheLastStepIsMissed) {
  FakeEcho fake;
  LadderSettings s = settings_to(2500);
  s.passes = 1;
  s.has_aftermath = false;
  fake.dies_at_ns = 1'100'000'000;  // in the middle of the only step
  const LadderResult r = climb(fake, s);
  ASSERT_TRUE(r.trouble);
  EXPECT_EQ(r.trouble->code, host::ErrorCode::gone);
}

TEST(Ladder, ADeviceThatGoesAwayKeepsWhatWasMeasured) {
  FakeEcho fake;
  fake.dies_at_ns = 2'000'000'000;
  const LadderResult r = climb(fake, settings_to(30'000));
  ASSERT_TRUE(r.trouble);
  EXPECT_EQ(r.trouble->code, host::ErrorCode::gone);
  EXPECT_EQ(r.passes.size(), 1u);
  EXPECT_GT(r.passes[0].steps.size(), 2u);
  EXPECT_FALSE(r.aftermath);
}

}  // namespace
}  // namespace millrace::udp
