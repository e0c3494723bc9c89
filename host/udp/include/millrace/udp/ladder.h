// SPDX-License-Identifier: Apache-2.0
// The published ladder: steps of rising rates, several passes, the figures they give; a search for
// the highest rate without loss; and how the device comes out of an overload.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/link/echo_counters.h"
#include "millrace/udp/step.h"

namespace millrace::udp {

enum class SearchKind : uint8_t { none, ndr, pdr };  // no loss at all; loss up to pdr_loss

struct LadderSettings {
  StepPlan plan;  // but for the rate; with in_flight there is one step a pass
  double first_per_s = 500, width_per_s = 500, top_per_s = 30'000;
  uint32_t passes = 3;
  double lossless_share = 0.99;  // a step with this share answered is lossless, as published
  SearchKind search = SearchKind::none;
  double pdr_loss = 0.001;
  double resolution_per_s = 50;
  uint32_t confirmations = 2;  // further trials in a row at the rate that was found
  bool has_aftermath = true;   // overload, recovery, pings
  uint32_t pings = 10;
};

struct Pass {
  std::vector<StepResult> steps;
  double peak_per_s = 0;  // highest reply rate of a valid step; 0: none was valid
};

struct Trial {
  double rate_per_s = 0, loss = 0;
  HostFault fault = HostFault::none;
  bool passed = false;
};

struct SearchResult {
  std::optional<double> rate_per_s;  // none: not even the first rate
  bool is_host_limited = false;      // the host, not the device, ended it
  std::vector<Trial> trials;
};

struct Aftermath {
  StepResult overload;  // at twice the peak
  StepResult recovery;  // at half the peak, at once
  // From the end of the overload to the last request that was lost. None: not within the step.
  std::optional<int64_t> recovery_ns;
  PingCount pings;
};

// What a device with counters (spec/echo_counters.md) says, and where requests were lost by that.
// From the start of the last pass to the end.
struct DeviceCounts {
  link::EchoCounters counters;      // differences; those that are values, as they were at the end
  uint64_t sent = 0, received = 0;  // by this host: requests, replies of any kind
  uint64_t lost_before() const;     // on the way to the device, or in its driver
  uint64_t lost_inside() const;
  uint64_t lost_behind() const;
};

// A rate up to which all is well, and what ended it.
struct RateLimit {
  std::optional<double> rate_per_s;  // none: not even the first step
  bool is_host_limited = false;      // the next step was not valid
};

enum class BehaviourKind : uint8_t {
  overload_collapse,
  mid_range_loss,
  host_limited,
  tick_quantised_rtt,
  one_datagram_ntbs,
};
const char* name_of(BehaviourKind kind);

struct Behaviour {
  BehaviourKind kind;
  std::string sentence;
};

struct LadderResult {
  LadderSettings settings;
  PortInfo port;
  std::vector<Pass> passes;
  RateLimit lossless, ndr, pdr;  // of the ladder's steps, all passes
  SearchResult search;
  std::optional<Aftermath> aftermath;
  std::optional<TransferCounts> transfers;
  std::optional<DeviceCounts> device;
  std::vector<Behaviour> behaviours;
  bool is_interrupted = false;
  std::optional<host::Error> trouble;  // the device went away; the rest is what was measured
};

// A fresh port for each pass: a virtual board starts anew, as a board that is flashed again does.
using PortMaker = std::function<host::Result<std::unique_ptr<DatagramPort>>()>;

struct LadderHooks {
  std::function<bool()> keep_going = [] { return true; };
  // After each step; `part`: "pass 1", "search", "overload", "recovery".
  std::function<void(const std::string& part, const StepResult&)> on_step =
      [](const std::string&, const StepResult&) {};
};

// Errors: those of making a port. What happens later is in the result.
host::Result<LadderResult> run_ladder(const PortMaker& make_port, const LadderSettings& settings,
                                      uint32_t session_id, const LadderHooks& hooks);

// Of the rates of `passes`, those up to which every step of each loses at most `most_loss`.
RateLimit limit_of(const std::vector<Pass>& passes, double most_loss);
std::vector<Behaviour> behaviours_of(const LadderResult& result);
// The period in ns that the round trips are multiples of, plus a constant: one of the usual timer
// ticks. None: they are not, or fewer than 200.
std::optional<uint32_t> period_of_rtt(const std::vector<uint32_t>& rtt_ns);

}  // namespace millrace::udp
