// SPDX-License-Identifier: Apache-2.0
#include "millrace/sampling/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace millrace::sampling {
namespace {

using host::Error;
using host::ErrorCode;
using host::Result;
using link::SamplerCommand;
using link::SamplerState;
using link::SamplerStatusCode;

class FakeClock final : public host::Clock {
 public:
  int64_t now_ns() override { return now; }
  void sleep_until(int64_t deadline_ns) override { now = std::max(now, deadline_ns); }
  bool is_virtual() const override { return true; }
  int64_t now = 0;
};

// A target that takes a sample every interval; sample i of a run has the PC 0x1000 + 2 i.
class FakeTarget final : public SamplerChannel {
 public:
  Result<std::vector<uint8_t>> ask(std::span<const uint8_t> bytes) override {
    ++asked;
    link::SamplerRequest request;
    SamplerStatusCode result;
    if (!link::decode_sampler_request(bytes.data(), bytes.size(), &request, &result)) {
      ADD_FAILURE() << "no request";
      return std::vector<uint8_t>();
    }
    if (before) {
      const auto instead = before(request);
      if (instead) return *instead;
    }
    std::vector<uint8_t> out(link::kSamplerReplyBytes);
    if (refuse != SamplerStatusCode::ok && request.command == SamplerCommand::start) {
      out.resize(link::encode_sampler_refusal(request.command, request.tag, refuse, out.data()));
      return out;
    }
    if (request.command == SamplerCommand::read) {
      std::vector<uint32_t> words;
      const uint32_t stored = status_now().stored_words;
      for (uint32_t i = request.first_word; i < stored && words.size() < request.words; ++i) {
        words.push_back(0x1000 + 2 * i);
      }
      out.resize(link::encode_sampler_words(request.tag, request.first_word,
                                            static_cast<uint16_t>(run_number), words.data(),
                                            static_cast<uint16_t>(words.size()), out.data()));
      return out;
    }
    if (request.command == SamplerCommand::start) {
      ++run_number;
      mode = request.mode;
      interval_ns = request.interval_ns;
      seeds.push_back(request.seed);
      start_ns = stop_ns = clock_.now;
      running = true;
    }
    if (request.command == SamplerCommand::stop && running) {
      stop_ns = clock_.now;
      running = false;
    }
    out.resize(link::encode_sampler_status(request.command, request.tag, status_now(), out.data()));
    return out;
  }
  host::Clock& clock() override { return clock_; }
  const std::string& name() const override { return name_; }
  uint16_t words_per_reply() const override { return 7; }

  link::SamplerStatus status_now() const {
    link::SamplerStatus status;
    status.state = running           ? SamplerState::sampling
                   : run_number == 0 ? SamplerState::empty
                                     : SamplerState::stopped;
    status.mode = mode;
    status.capacity_words = capacity;
    status.run_number = run_number;
    status.least_interval_ns = 2'000;
    status.most_interval_ns = 1'000'000'000;
    const uint32_t each = link::sampler_record_words(mode);
    const auto taken = static_cast<uint64_t>((running ? clock_.now : stop_ns) - start_ns) /
                       std::max(1u, interval_ns);
    const uint64_t kept = is_dead ? 0 : std::min<uint64_t>(taken, capacity / each);
    status.stored_words = static_cast<uint32_t>(kept * each);
    status.lost = is_dead ? 0 : taken - kept;
    status.run_cycles = taken * 100;
    status.handler_cycles = taken * 3;
    status.events = 2;
    return status;
  }

  FakeClock clock_;
  std::string name_ = "fake";
  std::function<std::optional<std::vector<uint8_t>>(const link::SamplerRequest&)> before;
  SamplerStatusCode refuse = SamplerStatusCode::ok;
  uint32_t capacity = 100, run_number = 0, interval_ns = 1;
  uint8_t mode = 0;
  int64_t start_ns = 0, stop_ns = 0;
  bool running = false, is_dead = false;
  int asked = 0;
  std::vector<uint32_t> seeds;
};

RecordPlan plan_of(uint64_t samples, uint8_t mode = link::kSamplerPc) {
  RecordPlan plan;
  plan.samples = samples;
  plan.mode = mode;
  plan.seed = 10;
  return plan;
}

Result<Recording> record_all(FakeTarget& target, const RecordPlan& plan) {
  return record(target, plan, waiting(target.clock_), RecordHooks());
}

TEST(Record, SamplesComeInOrder) {
  FakeTarget target;
  const Result<Recording> r = record_all(target, plan_of(40));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->samples(), 40u);
  EXPECT_EQ(r->rounds, 1u);
  for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(r->words[i], 0x1000 + 2 * i);
}

TEST(Record, MoreThanTheBufferTakesRounds) {
  FakeTarget target;
  const Result<Recording> r = record_all(target, plan_of(250));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->samples(), 250u);
  EXPECT_EQ(r->rounds, 3u);
  EXPECT_EQ(r->status.events, 6u);  // 2 a round
  EXPECT_EQ(r->words[100], 0x1000u);
  EXPECT_EQ(target.seeds, (std::vector<uint32_t>{10, 11, 12}));
}

TEST(Record, CallersNeedThreeWordsEach) {
  FakeTarget target;
  const Result<Recording> r = record_all(target, plan_of(50, link::kSamplerCallers));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->words.size(), 150u);
  EXPECT_EQ(r->samples(), 50u);
  EXPECT_EQ(r->rounds, 2u);  // 33 fit in 100 words
}

TEST(Record, DurationEndsWhateverCame) {
  FakeTarget target;
  RecordPlan plan = plan_of(1);
  plan.duration_ns = 15'000'000;  // 150 samples of 100 us
  const Result<Recording> r = record_all(target, plan);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->samples(), 150u);
  EXPECT_EQ(r->rounds, 2u);
  EXPECT_EQ(target.clock_.now, 15'000'000);
}

TEST(Record, InterruptedKeepsWhatCame) {
  FakeTarget target;
  RecordHooks hooks;
  hooks.keep_going = [&] { return target.clock_.now < 12'000'000; };
  const Result<Recording> r = record(
      target, plan_of(1000),
      [&](int64_t until, const std::function<bool()>& keep_going) {
        while (target.clock_.now < until && keep_going()) target.clock_.now += 1'000'000;
        return host::Status();
      },
      hooks);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_TRUE(r->is_interrupted);
  EXPECT_EQ(r->samples(), 120u);
  EXPECT_FALSE(target.running);
}

TEST(Record, LostRepliesAreAskedForAgain) {
  FakeTarget target;
  int count = 0;
  target.before = [&](const link::SamplerRequest&) -> std::optional<std::vector<uint8_t>> {
    if (++count % 3 != 0) return std::vector<uint8_t>();  // two of three are lost
    return std::nullopt;
  };
  const Result<Recording> r = record_all(target, plan_of(40));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->samples(), 40u);
}

TEST(Record, NobodyThere) {
  FakeTarget target;
  target.before = [](const link::SamplerRequest&) { return std::vector<uint8_t>(); };
  const Result<Recording> r = record_all(target, plan_of(40));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::not_found);
  EXPECT_EQ(target.asked, 3);
}

TEST(Record, RefusedIntervalSaysWhatIsPossible) {
  FakeTarget target;
  target.refuse = SamplerStatusCode::interval;
  const Result<Recording> r = record_all(target, plan_of(40));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::usage);
  EXPECT_NE(r.error().message.find("give 2 to 1000000 us"), std::string::npos) << r.error().message;
}

TEST(Record, ATimerThatDoesNotRunIsSaid) {
  FakeTarget target;
  target.is_dead = true;
  const Result<Recording> r = record_all(target, plan_of(40));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->samples(), 0u);
  ASSERT_TRUE(r->trouble);
  EXPECT_NE(r->trouble->message.find("took no sample"), std::string::npos);
}

TEST(Record, SomebodyElseStartedIt) {
  FakeTarget target;
  target.before = [&](const link::SamplerRequest& request) -> std::optional<std::vector<uint8_t>> {
    if (request.command == SamplerCommand::read && request.first_word == 14) ++target.run_number;
    return std::nullopt;
  };
  const Result<Recording> r = record_all(target, plan_of(40));
  ASSERT_TRUE(r) << r.error().message;
  ASSERT_TRUE(r->trouble);
  EXPECT_EQ(r->trouble->code, ErrorCode::busy);
  EXPECT_EQ(r->samples(), 14u);  // two replies of 7 words
}

TEST(Record, GoneKeepsTheRoundsBefore) {
  FakeTarget target;
  int starts = 0;
  const Workload workload = [&](int64_t until, const std::function<bool()>&) -> host::Status {
    if (++starts == 2) return Error{ErrorCode::gone, "fake: the device went away"};
    target.clock_.now = until;
    return {};
  };
  const Result<Recording> r = record(target, plan_of(250), workload, RecordHooks());
  ASSERT_TRUE(r) << r.error().message;
  ASSERT_TRUE(r->trouble);
  EXPECT_EQ(r->trouble->code, ErrorCode::gone);
  EXPECT_EQ(r->samples(), 100u);
}

TEST(Record, NonsenseIsRefused) {
  for (const size_t at : {0u, 4u, 6u, 12u, 13u}) {
    FakeTarget target;
    target.before =
        [&](const link::SamplerRequest& request) -> std::optional<std::vector<uint8_t>> {
      std::vector<uint8_t> out(link::kSamplerStatusBytes);
      link::encode_sampler_status(request.command, request.tag, target.status_now(), out.data());
      out[at] = 0xee;
      return out;
    };
    const Result<Recording> r = record_all(target, plan_of(40));
    ASSERT_FALSE(r) << at;
    EXPECT_EQ(r.error().code, ErrorCode::protocol);
  }
}

}  // namespace
}  // namespace millrace::sampling
