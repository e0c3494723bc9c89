// SPDX-License-Identifier: Apache-2.0
#include "millrace/udp/ladder.h"

#include <algorithm>
#include <cmath>

#include "millrace/udp/device_counters.h"
#include "millrace/udp/payload.h"

namespace millrace::udp {

using host::Result;

namespace {

constexpr uint32_t kMostTrials = 64;
constexpr int kMostLateReads = 1000;  // of replies that are behind the last step
// Most servers have no counters. One that has may be full of requests when it is asked again.
constexpr int64_t kFirstPatienceNs = 600'000'000, kLastPatienceNs = 5'000'000'000;
constexpr double kNotRecovered = 0.9;  // lost requests in the last tenth of the step

class Ladder {
 public:
  Ladder(const PortMaker& make_port, const LadderSettings& settings, uint32_t session_id,
         const LadderHooks& hooks)
      : make_port_(make_port), hooks_(hooks) {
    result_.settings = settings;
    session_.id = session_id;
    session_.keep_going = hooks.keep_going;
  }

  Result<LadderResult> run() {
    const LadderSettings& s = result_.settings;
    for (uint32_t pass = 0; pass < s.passes && goes_on(); ++pass) {
      finish_port();
      Result<std::unique_ptr<DatagramPort>> made = make_port_();
      if (!made) return made.error();
      port_ = std::move(*made);
      result_.port = port_->info();
      before_ = read_counters(*port_, kFirstPatienceNs);
      counted_ = {};
      climb(pass);
    }
    result_.lossless = limit_of(result_.passes, 1 - s.lossless_share);
    result_.ndr = limit_of(result_.passes, 0);
    result_.pdr = limit_of(result_.passes, s.pdr_loss);
    if (s.search != SearchKind::none && goes_on()) search();
    if (s.has_aftermath && s.plan.in_flight == 0 && goes_on()) look_after();
    if (port_ != nullptr) finish_counts();
    finish_port();
    result_.behaviours = behaviours_of(result_);
    return std::move(result_);
  }

 private:
  bool goes_on() {
    if (port_ != nullptr && !result_.trouble) result_.trouble = port_->trouble();
    if (!hooks_.keep_going()) result_.is_interrupted = true;
    return !result_.is_interrupted && !result_.trouble;
  }

  void finish_port() {
    if (port_ == nullptr) return;
    if (!result_.trouble) result_.trouble = port_->trouble();  // of the last step
    const host::Status finished = port_->finish();
    if (!finished && !result_.trouble) result_.trouble = finished.error();
    port_.reset();
  }

  StepResult step(const std::string& part, double rate) {
    StepPlan plan = result_.settings.plan;
    plan.rate_per_s = rate;
    StepResult result = run_step(*port_, plan, session_);
    if (result.is_interrupted) result_.is_interrupted = true;
    counted_.sent += result.sent;
    counted_.received +=
        result.answered + result.late + result.duplicate + result.altered + result.earlier;
    hooks_.on_step(part, result);
    return result;
  }

  // Replies that came while the counters were asked for: the device has counted them.
  void take_remaining() {
    const auto take = [this](const Arrival& arrival) {
      Payload payload;
      if (decode_payload(arrival.bytes, session_.id, &payload) != PayloadStatus::foreign) {
        ++counted_.received;
      }
    };
    for (int i = 0; i < kMostLateReads && port_->receive(0, take) != 0; ++i) {
    }
  }

  void finish_counts() {
    result_.transfers = port_->transfers();
    if (!before_ || port_->trouble()) return;
    const std::optional<link::EchoCounters> after = read_counters(*port_, kLastPatienceNs);
    if (!after) return;
    take_remaining();
    counted_.counters = difference(*after, *before_);
    result_.device = counted_;
    if (result_.transfers) return;
    const auto count = [this](link::EchoCounter which) -> uint64_t {
      return counted_.counters[which];
    };
    using enum link::EchoCounter;
    result_.transfers = TransferCounts{count(frames_sent), count(tx_transfers),
                                       count(frames_received), count(rx_transfers)};
  }

  void climb(uint32_t number) {
    const LadderSettings& s = result_.settings;
    const std::string part = "pass " + std::to_string(number + 1);
    Pass pass;
    // By number, so that no error adds up.
    for (uint32_t i = 0;; ++i) {
      const double rate = s.first_per_s + i * s.width_per_s;
      if (rate > s.top_per_s + 1e-6 || !goes_on()) break;
      pass.steps.push_back(step(part, rate));
      const StepResult& last = pass.steps.back();
      if (last.is_valid()) pass.peak_per_s = std::max(pass.peak_per_s, last.answered_per_s);
      if (s.plan.in_flight != 0) break;
    }
    if (!pass.steps.empty()) result_.passes.push_back(std::move(pass));
  }

  bool passes_at(double rate) {
    const LadderSettings& s = result_.settings;
    const StepResult r = step("search", rate);
    const double most = s.search == SearchKind::ndr ? 0 : s.pdr_loss;
    const bool passed =
        r.is_valid() && !r.is_interrupted && r.loss() <= most && r.sent != 0 && r.is_sustained();
    result_.search.trials.push_back({rate, r.loss(), r.fault, passed});
    if (!r.is_valid()) result_.search.is_host_limited = true;
    return passed;
  }

  // Bisection between a rate that passed and one that did not. What is found is tried again; if it
  // fails then, it becomes the upper end, and the rates that passed before are what is left.
  void search() {
    const LadderSettings& s = result_.settings;
    SearchResult& out = result_.search;
    std::vector<double> good;
    double high = s.top_per_s;
    if (passes_at(s.first_per_s)) good.push_back(s.first_per_s);
    if (!good.empty() && goes_on() && passes_at(high)) good.push_back(high);
    uint32_t confirmed = 0;
    while (!good.empty() && goes_on() && out.trials.size() < kMostTrials) {
      const double low = good.back();
      if (high - low > s.resolution_per_s) {
        const double middle = (low + high) / 2;
        confirmed = 0;
        if (passes_at(middle)) {
          good.push_back(middle);
        } else {
          high = middle;
        }
      } else if (confirmed == s.confirmations) {
        out.rate_per_s = low;
        return;
      } else if (passes_at(low)) {
        ++confirmed;
      } else {
        confirmed = 0;
        high = low;
        good.pop_back();
      }
    }
  }

  void look_after() {
    double peak = 0;
    for (const Pass& pass : result_.passes) peak = std::max(peak, pass.peak_per_s);
    if (peak < 2) return;
    Aftermath after;
    const double most = static_cast<double>(kMostDatagrams) * 1e9 /
                        static_cast<double>(result_.settings.plan.duration_ns);
    after.overload = step("overload", std::min(2 * peak, most));
    if (!goes_on()) return;
    after.recovery = step("recovery", peak / 2);
    if (!goes_on()) return;
    const StepResult& r = after.recovery;
    const bool is_lost_late = static_cast<double>(r.last_lost_ns) >
                              kNotRecovered * static_cast<double>(r.plan.duration_ns);
    if (!is_lost_late) after.recovery_ns = std::max<int64_t>(0, r.last_lost_ns);
    if (result_.settings.pings != 0) after.pings = port_->ping(result_.settings.pings);
    result_.aftermath = std::move(after);
  }

  const PortMaker& make_port_;
  const LadderHooks& hooks_;
  std::unique_ptr<DatagramPort> port_;
  std::optional<link::EchoCounters> before_;
  DeviceCounts counted_;
  Session session_;
  LadderResult result_;
};

}  // namespace

uint64_t DeviceCounts::lost_before() const {
  const uint64_t requests = counters[link::EchoCounter::echo_requests];
  return sent > requests ? sent - requests : 0;
}

uint64_t DeviceCounts::lost_inside() const {
  const uint64_t requests = counters[link::EchoCounter::echo_requests];
  const uint64_t replies = counters[link::EchoCounter::echo_replies];
  return requests > replies ? requests - replies : 0;
}

uint64_t DeviceCounts::lost_behind() const {
  const uint64_t replies = counters[link::EchoCounter::echo_replies];
  return replies > received ? replies - received : 0;
}

RateLimit limit_of(const std::vector<Pass>& passes, double most_loss) {
  RateLimit limit;
  for (size_t i = 0;; ++i) {
    double rate = 0;
    for (const Pass& pass : passes) {
      if (i >= pass.steps.size()) return limit;
      const StepResult& step = pass.steps[i];
      limit.is_host_limited = limit.is_host_limited || !step.is_valid();
      if (!step.is_valid() || step.sent == 0 || step.loss() > most_loss + 1e-12) return limit;
      if (!step.is_sustained() || step.is_interrupted) return limit;
      rate = step.plan.in_flight != 0 ? step.answered_per_s : step.plan.rate_per_s;
    }
    if (passes.empty()) return limit;
    limit.rate_per_s = rate;
  }
}

Result<LadderResult> run_ladder(const PortMaker& make_port, const LadderSettings& settings,
                                uint32_t session_id, const LadderHooks& hooks) {
  return Ladder(make_port, settings, session_id, hooks).run();
}

}  // namespace millrace::udp
