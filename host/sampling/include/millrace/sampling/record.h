// SPDX-License-Identifier: Apache-2.0
// Records with the sampler of a target (spec/sampler_control.md): starts it, lets the target work,
// stops it and reads it out, as often as the samples that are wanted need its buffer.
//
//   UdpSamplerChannel channel(port);                       // a udp::DatagramPort, real or virtual
//   UdpLoad load(port, step_plan);
//   Result<Recording> r = record(channel, RecordPlan(), load.workload(), RecordHooks());
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/host/clock.h"
#include "millrace/host/result.h"
#include "millrace/link/sampler_control.h"

namespace millrace::sampling {

// One request to a sampler and its reply.
class SamplerChannel {
 public:
  virtual ~SamplerChannel() = default;
  // The reply, whatever it is; empty if none came in time. Errors: the target cannot be reached at
  // all, or went away.
  virtual host::Result<std::vector<uint8_t>> ask(std::span<const uint8_t> request) = 0;
  virtual host::Clock& clock() = 0;
  virtual const std::string& name() const = 0;  // for sentences
  // Words that one reply can hold.
  virtual uint16_t words_per_reply() const = 0;
};

struct RecordPlan {
  uint8_t mode = link::kSamplerPc;
  uint32_t interval_ns = 100'000;
  uint16_t jitter_permille = 250;
  uint64_t samples = 16'384;  // at least so many
  int64_t duration_ns = 0;    // not 0: instead, for so long, whatever comes
  uint32_t seed = 0;          // of the distances; 0: the target's own
};

inline constexpr uint64_t kMostSamples = 4'000'000;
inline constexpr int64_t kMostDurationNs = 3'600'000'000'000;

struct RecordProgress {
  uint64_t samples = 0, wanted = 0;  // wanted: an estimate with a duration
  uint32_t round = 0;                // from 1
};

struct RecordHooks {
  std::function<bool()> keep_going = [] { return true; };
  std::function<void(const RecordProgress&)> progress = [](const RecordProgress&) {};
};

// Lets the target work until `until_ns` of the channel's clock, or until keep_going() says no.
// Errors: the target went away, or there is no such load.
using Workload =
    std::function<host::Status(int64_t until_ns, const std::function<bool()>& keep_going)>;
// Only waits: for a target that has its work from somewhere else.
Workload waiting(host::Clock& clock);

struct Recording {
  // Of the last round; counts and cycles are sums of all.
  link::SamplerStatus status;
  std::vector<uint32_t> words;  // records of link::sampler_record_words(status.mode)
  uint32_t rounds = 0;
  bool is_interrupted = false;
  std::optional<host::Error> trouble;  // what ended it early; what came until then is here

  uint64_t samples() const {
    const uint32_t words_each = link::sampler_record_words(status.mode);
    return words_each == 0 ? 0 : words.size() / words_each;
  }
};

// What the sampler says of itself. Errors: not_found (nobody answers), protocol.
host::Result<link::SamplerStatus> ask_status(SamplerChannel& channel);

// Errors: those of ask_status(), usage (the target refuses the plan). What happens once samples
// were taken is in the result. REQUIRES: 1 <= samples <= kMostSamples, or 0 < duration_ns <=
// kMostDurationNs.
host::Result<Recording> record(SamplerChannel& channel, const RecordPlan& plan,
                               const Workload& workload, const RecordHooks& hooks);

}  // namespace millrace::sampling
