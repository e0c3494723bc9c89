// SPDX-License-Identifier: Apache-2.0
// The buffer of a sampler holds some thousand records, so more are recorded in rounds: start, work,
// stop, read. Nothing is read while the target is sampled: the transfers would be in the profile.
#include "millrace/sampling/record.h"

#include <fmt/core.h>

#include <algorithm>

#include "millrace/host/text.h"
#include "millrace/link/bytes.h"

namespace millrace::sampling {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;
using link::SamplerCommand;
using link::SamplerReply;
using link::SamplerRequest;
using link::SamplerStatus;
using link::SamplerStatusCode;

namespace {

constexpr int kAttempts = 3;
constexpr int64_t kSliceNs = 100'000'000;
// A target whose words stop coming does not keep us for ever.
constexpr uint32_t kMostWords = 3 * kMostSamples;

class Recorder {
 public:
  Recorder(SamplerChannel& channel, const RecordPlan& plan, const Workload& workload,
           const RecordHooks& hooks)
      : channel_(channel), plan_(plan), workload_(workload), hooks_(hooks) {}

  Result<Recording> run() {
    const Result<SamplerStatus> info = status_of(SamplerCommand::info);
    if (!info) return info.error();
    const uint32_t record_words = link::sampler_record_words(plan_.mode);
    const uint64_t capacity = info->capacity_words / record_words;
    if (capacity == 0) {
      return Error{
          ErrorCode::protocol,
          fmt::format("{}: the sampler's buffer of {} words holds no record (a larger one: "
                      "MILLRACE_SAMPLER_ENTRIES)",
                      name(), info->capacity_words)};
    }
    const uint64_t wanted = plan_.duration_ns > 0
                                ? static_cast<uint64_t>(plan_.duration_ns) / plan_.interval_ns
                                : plan_.samples;
    int64_t left_ns = plan_.duration_ns;
    bool is_complete = false;
    while (!is_complete && !recording_.trouble && !recording_.is_interrupted) {
      const uint64_t have = recording_.samples();
      // With a duration: until it is over, whatever comes. Else a little longer than the samples
      // need, since the distances are random: 16,384 of them vary by 0.2 %.
      int64_t round_ns = 0;
      if (plan_.duration_ns > 0) {
        round_ns = std::min(left_ns, time_of(capacity));
        left_ns -= round_ns;
      } else {
        round_ns = time_of(std::min(capacity, wanted - have));
        if (wanted - have < capacity) round_ns += round_ns / 64 + time_of(4);
      }
      const Status done = round(round_ns, wanted);
      if (!done) {
        if (recording_.rounds == 0) return done.error();
        recording_.trouble = done.error();
      }
      hooks_.progress({recording_.samples(), wanted, recording_.rounds});
      is_complete = plan_.duration_ns > 0 ? left_ns <= 0 : recording_.samples() >= wanted;
      if (!is_complete && !recording_.trouble && !recording_.is_interrupted &&
          recording_.samples() == have) {
        recording_.trouble = Error{
            ErrorCode::protocol,
            fmt::format("{}: the sampler took no sample in {:.0f} ms (does its timer run, and "
                        "is its interrupt the highest?)",
                        name(), static_cast<double>(round_ns) / 1e6)};
      }
    }
    if (plan_.duration_ns == 0 && recording_.samples() > wanted) {
      recording_.words.resize(wanted * record_words);
    }
    return std::move(recording_);
  }

  Result<SamplerStatus> status_of(SamplerCommand command);

 private:
  std::string name() const { return host::printable(channel_.name()); }

  int64_t time_of(uint64_t samples) const {
    return static_cast<int64_t>(samples * plan_.interval_ns);
  }

  // Everything that may go wrong in a round before samples are there is an error; what comes later
  // leaves what was read in recording_.
  Status round(int64_t round_ns, uint64_t wanted) {
    const Result<SamplerStatus> started = status_of(SamplerCommand::start);
    if (!started) return started.error();
    const uint32_t round_number = recording_.rounds + 1;
    const int64_t until_ns = channel_.clock().now_ns() + round_ns;
    const auto keep_going = [&] {
      const int64_t left = std::max<int64_t>(0, until_ns - channel_.clock().now_ns());
      const auto now = static_cast<uint64_t>(round_ns - std::min(left, round_ns));
      hooks_.progress({recording_.samples() + now / plan_.interval_ns, wanted, round_number});
      return hooks_.keep_going();
    };
    const Status worked = workload_(until_ns, keep_going);
    recording_.is_interrupted = !hooks_.keep_going();
    if (!worked) return worked;
    const Result<SamplerStatus> stopped = status_of(SamplerCommand::stop);
    if (!stopped) return stopped.error();
    if (stopped->run_number != started->run_number) return taken_over();
    ++recording_.rounds;
    add(*stopped);
    return read(*stopped);
  }

  void add(const SamplerStatus& round) {
    SamplerStatus sum = round;
    sum.lost += recording_.status.lost;
    sum.overruns += recording_.status.overruns;
    sum.run_cycles += recording_.status.run_cycles;
    sum.handler_cycles += recording_.status.handler_cycles;
    sum.events += recording_.status.events;
    recording_.status = sum;
  }

  Error taken_over() const {
    return {ErrorCode::busy, fmt::format("{}: somebody else has started the sampler meanwhile (one "
                                         "at a time)",
                                         name())};
  }

  Status read(const SamplerStatus& status) {
    const uint32_t record_words = link::sampler_record_words(status.mode);
    const uint32_t stored = status.stored_words - status.stored_words % record_words;
    if (stored > kMostWords) {
      return Error{ErrorCode::protocol, fmt::format("{}: {} words are no buffer of a sampler",
                                                    name(), status.stored_words)};
    }
    const size_t begin = recording_.words.size();
    for (uint32_t at = 0; at < stored;) {
      SamplerRequest request;
      request.command = SamplerCommand::read;
      request.first_word = at;
      request.words =
          static_cast<uint16_t>(std::min<uint32_t>(channel_.words_per_reply(), stored - at));
      Result<std::vector<uint8_t>> bytes = ask(request);
      SamplerReply reply;
      link::SamplerWords words;
      Status failed;
      if (!bytes) {
        failed = bytes.error();
      } else if (!link::decode_sampler_reply(bytes->data(), bytes->size(), &reply) ||
                 !link::decode_sampler_words(reply, &words) || words.first_word != at ||
                 words.words == 0 || words.words > stored - at) {
        failed =
            Error{ErrorCode::protocol,
                  fmt::format("{}: the sampler answers READ of word {} with something else (is "
                              "it of this version?)",
                              name(), at)};
      } else if (words.run_number != (status.run_number & 0xffffu)) {
        failed = taken_over();
      }
      if (!failed) {
        // Whole records of what came.
        recording_.words.resize(recording_.words.size() -
                                (recording_.words.size() - begin) % record_words);
        return failed;
      }
      for (uint16_t i = 0; i < words.words; ++i) {
        recording_.words.push_back(link::load_le32(words.data + size_t{4} * i));
      }
      at += words.words;
    }
    return {};
  }

  Error refusal(SamplerStatusCode code) const {
    switch (code) {
      case SamplerStatusCode::interval:
        return {ErrorCode::usage,
                fmt::format("{}: an interval of {} us is not possible (give {} to {} us)", name(),
                            plan_.interval_ns / 1000.0, info_.least_interval_ns / 1000.0,
                            info_.most_interval_ns / 1000)};
      case SamplerStatusCode::mode:
        return {ErrorCode::usage, fmt::format("{}: the sampler has no such mode", name())};
      case SamplerStatusCode::jitter:
        return {ErrorCode::usage,
                fmt::format("{}: a jitter of {} permille is not possible (0 to "
                            "{})",
                            name(), plan_.jitter_permille, link::kSamplerMaxJitter)};
      default:
        return {ErrorCode::protocol, fmt::format("{}: the sampler refuses, code {} (is it of this "
                                                 "version?)",
                                                 name(), static_cast<unsigned>(code))};
    }
  }

  // Errors: not_found if nobody answers.
  Result<std::vector<uint8_t>> ask(SamplerRequest request) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      request.tag = ++tag_;
      uint8_t wire[link::kSamplerRequestBytes];
      const size_t size = link::encode_sampler_request(request, wire);
      Result<std::vector<uint8_t>> bytes = channel_.ask({wire, size});
      if (!bytes) return bytes.error();
      SamplerReply reply;
      // A reply to what was asked before comes late.
      if (link::decode_sampler_reply(bytes->data(), bytes->size(), &reply) && reply.tag != tag_) {
        continue;
      }
      if (!bytes->empty()) return bytes;
    }
    return Error{ErrorCode::not_found,
                 fmt::format("{}: no sampler answers (firmware with a sampler and its control "
                             "channel, docs/profile.md)",
                             name())};
  }

  SamplerChannel& channel_;
  const RecordPlan& plan_;
  const Workload& workload_;
  const RecordHooks& hooks_;
  SamplerStatus info_;
  Recording recording_;
  uint32_t tag_ = 0;
};

Result<SamplerStatus> Recorder::status_of(SamplerCommand command) {
  SamplerRequest request;
  request.command = command;
  request.mode = plan_.mode;
  request.interval_ns = plan_.interval_ns;
  request.jitter_permille = plan_.jitter_permille;
  // Not the same distances in each round.
  request.seed = plan_.seed == 0 ? 0 : plan_.seed + recording_.rounds;
  Result<std::vector<uint8_t>> bytes = ask(request);
  if (!bytes) return bytes.error();
  SamplerReply reply;
  SamplerStatus status;
  if (!link::decode_sampler_reply(bytes->data(), bytes->size(), &reply) ||
      reply.command != command) {
    return Error{ErrorCode::protocol,
                 fmt::format("{}: what answers is no sampler (spec/sampler_control.md)", name())};
  }
  if (reply.result != SamplerStatusCode::ok) return refusal(reply.result);
  if (!link::decode_sampler_status(reply, &status)) {
    return Error{
        ErrorCode::protocol,
        fmt::format("{}: the sampler's reply makes no sense (is it of this version?)", name())};
  }
  info_ = status;
  return status;
}

}  // namespace

Workload waiting(host::Clock& clock) {
  return [&clock](int64_t until_ns, const std::function<bool()>& keep_going) {
    while (clock.now_ns() < until_ns && keep_going()) {
      clock.sleep_until(std::min(until_ns, clock.now_ns() + kSliceNs));
    }
    return Status();
  };
}

Result<SamplerStatus> ask_status(SamplerChannel& channel) {
  const RecordPlan plan;
  const RecordHooks hooks;
  const Workload workload;
  return Recorder(channel, plan, workload, hooks).status_of(SamplerCommand::info);
}

Result<Recording> record(SamplerChannel& channel, const RecordPlan& plan, const Workload& workload,
                         const RecordHooks& hooks) {
  return Recorder(channel, plan, workload, hooks).run();
}

}  // namespace millrace::sampling
