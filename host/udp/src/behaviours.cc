// SPDX-License-Identifier: Apache-2.0
// Names for what a ladder shows. Each has a rule that the sentence repeats with its numbers.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "millrace/host/text.h"
#include "millrace/udp/ladder.h"

namespace millrace::udp {

namespace {

constexpr double kCollapsed = 0.7;     // of the peak, at twice the peak
constexpr double kConcentrated = 0.9;  // mean resultant length of the round trips' phases
constexpr double kClassShare = 0.05;   // of a multiple that counts
constexpr size_t kLeastClasses = 3;
constexpr size_t kLeastSamples = 200;
// 100 Hz, 250 Hz, 1 kHz (SysTick; a frame at full speed), 10 kHz (Zephyr), a microframe, 32,768 Hz.
constexpr uint32_t kTicksNs[] = {10'000'000, 4'000'000, 1'000'000, 500'000,
                                 250'000,    125'000,   100'000,   30'518};

using Behaviours = std::vector<Behaviour>;

double peak_of(const LadderResult& result) {
  double peak = 0;
  for (const Pass& pass : result.passes) peak = std::max(peak, pass.peak_per_s);
  return peak;
}

std::string rate(double per_s) { return host::grouped(static_cast<uint64_t>(std::llround(per_s))); }

void find_collapse(const LadderResult& result, Behaviours* out) {
  const double peak = peak_of(result);
  const StepResult* worst = nullptr;
  const auto look = [&](const StepResult& step) {
    if (!step.is_valid() || step.is_interrupted || step.plan.rate_per_s < 2 * peak - 1) return;
    if (worst == nullptr || step.answered_per_s < worst->answered_per_s) worst = &step;
  };
  for (const Pass& pass : result.passes) {
    for (const StepResult& step : pass.steps) look(step);
  }
  if (result.aftermath) look(result.aftermath->overload);
  if (peak <= 0 || worst == nullptr || worst->answered_per_s >= kCollapsed * peak) return;
  out->push_back(
      {BehaviourKind::overload_collapse,
       fmt::format("collapse under overload: {}/s answered at {}/s offered, {:.0f} % of the "
                   "peak of {}/s",
                   rate(worst->answered_per_s), rate(worst->plan.rate_per_s),
                   100 * worst->answered_per_s / peak, rate(peak))});
}

// The first band of steps that lose, with a step behind it that does not.
void find_mid_range_loss(const LadderResult& result, Behaviours* out) {
  const double most = 1 - result.settings.lossless_share + 1e-12;
  size_t passes = 0;
  double low = 0, high = 0, worst = 0, again = 0;
  for (const Pass& pass : result.passes) {
    double from = 0, to = 0, most_lost = 0;
    bool was_good = false;
    for (const StepResult& step : pass.steps) {
      if (!step.is_valid() || step.is_interrupted) continue;
      if (step.loss() > most) {
        if (!was_good) continue;  // from the first step on: that is no band
        if (from == 0) from = step.plan.rate_per_s;
        to = step.plan.rate_per_s;
        most_lost = std::max(most_lost, step.loss());
      } else {
        was_good = true;
        if (from == 0) continue;
        ++passes;
        low = low == 0 ? from : std::min(low, from);
        high = std::max(high, to);
        again = std::max(again, step.plan.rate_per_s);
        worst = std::max(worst, most_lost);
        break;
      }
    }
  }
  if (passes == 0) return;
  out->push_back(
      {BehaviourKind::mid_range_loss,
       fmt::format("mid-range loss: between {} and {}/s up to {:.2f} % are lost, at {}/s nothing "
                   "again (in {} of {} passes)",
                   rate(low), rate(high), 100 * worst, rate(again), passes, result.passes.size())});
}

void find_host_limit(const LadderResult& result, Behaviours* out) {
  size_t invalid = 0;
  const StepResult* first = nullptr;
  for (const Pass& pass : result.passes) {
    for (const StepResult& step : pass.steps) {
      if (step.is_valid()) continue;
      ++invalid;
      if (first == nullptr || step.plan.rate_per_s < first->plan.rate_per_s) first = &step;
    }
  }
  if (first == nullptr) return;
  const char* const why = first->fault == HostFault::pace         ? "it did not send at the rate"
                          : first->fault == HostFault::late_calls ? "its send calls came late"
                          : first->fault == HostFault::socket_overflow
                              ? "the socket's buffer overflowed"
                              : "its interface dropped replies";
  out->push_back(
      {BehaviourKind::host_limited,
       fmt::format("host-limited: {} at {}/s: {}",
                   invalid == 1 ? "a step is not valid,"
                                : fmt::format("{} steps are not valid, the first", invalid),
                   rate(first->plan.rate_per_s), why)});
}

void find_tick(const LadderResult& result, Behaviours* out) {
  std::map<uint32_t, size_t> found;
  size_t looked_at = 0;
  for (const Pass& pass : result.passes) {
    for (const StepResult& step : pass.steps) {
      if (step.rtt_sample.size() < kLeastSamples) continue;
      ++looked_at;
      if (const auto tick = period_of_rtt(step.rtt_sample)) ++found[*tick];
    }
  }
  for (const auto& [tick, steps] : found) {
    if (2 * steps < looked_at) continue;
    out->push_back({BehaviourKind::tick_quantised_rtt,
                    fmt::format("tick-quantised round trips: multiples of {} us, in {} of {} steps",
                                static_cast<double>(tick) / 1000, steps, looked_at)});
    return;
  }
}

void find_single_datagrams(const LadderResult& result, Behaviours* out) {
  if (!result.transfers || result.transfers->transfers_in < kLeastSamples) return;
  const TransferCounts& t = *result.transfers;
  const double in = static_cast<double>(t.frames_in) / static_cast<double>(t.transfers_in);
  const double sent = t.transfers_out == 0 ? 0
                                           : static_cast<double>(t.frames_out) /
                                                 static_cast<double>(t.transfers_out);
  // Where requests came one by one, so may the replies.
  if (in > 1.01 || sent < 1.5) return;
  out->push_back(
      {BehaviourKind::one_datagram_ntbs,
       fmt::format("one-datagram NTBs: the device's transfers hold {:.2f} datagrams, the "
                   "host's {:.2f}",
                   in, sent)});
}

}  // namespace

const char* name_of(BehaviourKind kind) {
  switch (kind) {
    case BehaviourKind::overload_collapse:
      return "overload_collapse";
    case BehaviourKind::mid_range_loss:
      return "mid_range_loss";
    case BehaviourKind::host_limited:
      return "host_limited";
    case BehaviourKind::tick_quantised_rtt:
      return "tick_quantised_rtt";
    case BehaviourKind::one_datagram_ntbs:
      return "one_datagram_ntbs";
  }
  return "";
}

// Multiples of T, plus a constant, have one phase modulo T. Of the ticks that fit the longest is
// taken, since all that divide it fit too; that three multiples must occur keeps a narrow peak from
// passing for a long tick.
std::optional<uint32_t> period_of_rtt(const std::vector<uint32_t>& rtt_ns) {
  if (rtt_ns.size() < kLeastSamples) return std::nullopt;
  const auto n = static_cast<double>(rtt_ns.size());
  for (const uint32_t tick : kTicksNs) {
    double x = 0, y = 0;
    for (const uint32_t rtt : rtt_ns) {
      const double angle = 2 * std::numbers::pi * (rtt % tick) / tick;
      x += std::cos(angle);
      y += std::sin(angle);
    }
    if (std::hypot(x, y) / n < kConcentrated) continue;
    const double phase = std::atan2(y, x) / (2 * std::numbers::pi) * tick;
    std::map<int64_t, size_t> classes;
    for (const uint32_t rtt : rtt_ns) ++classes[std::llround((rtt - phase) / tick)];
    const auto counts = std::count_if(classes.begin(), classes.end(), [n](const auto& each) {
      return static_cast<double>(each.second) >= kClassShare * n;
    });
    if (static_cast<size_t>(counts) >= kLeastClasses) return tick;
  }
  return std::nullopt;
}

std::vector<Behaviour> behaviours_of(const LadderResult& result) {
  Behaviours out;
  find_collapse(result, &out);
  find_mid_range_loss(result, &out);
  find_host_limit(result, &out);
  find_tick(result, &out);
  find_single_datagrams(result, &out);
  return out;
}

}  // namespace millrace::udp
