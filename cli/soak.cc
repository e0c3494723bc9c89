// SPDX-License-Identifier: Apache-2.0
// Each phase reproduces one way in which people lost data (docs/cli.md says which):
//   long      1,048,576 frames, the length at which the published harness's failures showed
//   burst     3 s of silence on an open port, then full rate: USB autosuspend
//   boundary  frames one byte below, at and above packet sizes, both directions, also one frame at
//             a time: a message that ends on a packet boundary needs a zero-length packet
//   reopen    open, measure, close, again and again: stale bytes, DTR, buffers that survive
//   replug    the device goes away in the middle of a run and comes back under any name
#include "cli/soak.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/fault_text.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Endpoint;
using host::Error;
using host::Result;
using host::RunEnd;
using host::RunResult;
using host::RunSettings;
using host::Transport;
using host::VerdictKind;

namespace {

constexpr int64_t kMillisecond = 1000000;
constexpr size_t kMaxNotes = 5;

// Opens the port and keeps it quiet for a while before anyone may use it.
class QuietEndpoint final : public Endpoint {
 public:
  QuietEndpoint(Endpoint& inner, int64_t quiet_ms, const std::atomic<bool>* stop)
      : inner_(inner), quiet_ms_(quiet_ms), stop_(stop) {}
  const std::string& name() const override { return inner_.name(); }
  host::Clock& clock() override { return inner_.clock(); }
  Result<std::unique_ptr<Transport>> open(const host::OpenOptions& options) override {
    Result<std::unique_ptr<Transport>> transport = inner_.open(options);
    if (!transport) return transport;
    const int64_t end = clock().now_ns() + quiet_ms_ * kMillisecond;
    while (clock().now_ns() < end && (stop_ == nullptr || !stop_->load())) {
      clock().sleep_until(std::min(end, clock().now_ns() + 50 * kMillisecond));
    }
    return transport;
  }
  Result<std::unique_ptr<Transport>> reopen(const host::OpenOptions& options,
                                            int64_t deadline_ns) override {
    return inner_.reopen(options, deadline_ns);
  }

 private:
  Endpoint& inner_;
  int64_t quiet_ms_;
  const std::atomic<bool>* stop_;
};

std::string describe(const RunSettings& settings) {
  return fmt::format("{}, {} of {} B, ack {}", direction_name(settings.direction),
                     plural(settings.frame_count, "frame"), grouped(settings.frame_size),
                     ack_name(settings.window_frames));
}

class Soak {
 public:
  Soak(Endpoint& endpoint, const SoakPlan& plan, const Replugger& replugger, const Runner& runner,
       const host::RunHooks& hooks, const std::function<void(const std::string&)>& label)
      : endpoint_(endpoint),
        plan_(plan),
        replugger_(replugger),
        runner_(runner),
        hooks_(hooks),
        label_(label),
        settings_(plan.settings) {}

  SoakResult run() {
    for (const std::string& name : plan_.phases) {
      phase_ = SoakPhase{};
      phase_.name = name;
      if (name == "long") long_run();
      if (name == "burst") burst();
      if (name == "boundary") boundary();
      if (name == "reopen") reopen();
      if (name == "replug") replug();
      if (phase_.failed_runs != 0) phase_.status = SoakStatus::failed;
      if (phase_.runs != 0 || phase_.status != SoakStatus::passed) {
        result_.phases.push_back(phase_);
      }
      if (over_) break;
    }
    return std::move(result_);
  }

 private:
  void long_run() {
    RunSettings settings = settings_;
    settings.frame_count = plan_.quick ? 16384 : 1048576;
    measure(endpoint_, settings);
  }

  void burst() {
    RunSettings settings = settings_;
    settings.frame_count =
        std::max<uint32_t>(1, (plan_.quick ? 1U << 20 : 16U << 20) / settings.frame_size);
    QuietEndpoint quiet(endpoint_, plan_.quick ? 300 : 3000, hooks_.interrupted);
    for (int i = 0; i < (plan_.quick ? 2 : 5) && !over_; ++i) measure(quiet, settings);
  }

  void boundary() {
    struct Mode {
      link::Direction direction;
      uint16_t window;
    };
    const Mode modes[] = {{link::Direction::in, 0},
                          {link::Direction::in, 1},
                          {link::Direction::out, 0},
                          {link::Direction::out, 1}};
    for (const Mode& mode : modes) {
      if (mode.direction == link::Direction::out && classic_) continue;
      for (const uint32_t size : boundary_sizes(plan_.quick, max_frame_bytes_)) {
        if (over_) return;
        RunSettings settings = settings_;
        settings.direction = mode.direction;
        settings.window_frames = mode.window;
        settings.frame_size = size;
        settings.frame_count = plan_.quick ? 16 : 256;
        measure(endpoint_, settings);
      }
    }
    if (classic_) note("PC to device was not measured: the device speaks the classic protocol");
  }

  void reopen() {
    RunSettings settings = settings_;
    settings.frame_count = 64;
    for (int i = 0; i < (plan_.quick ? 3 : 20) && !over_; ++i) measure(endpoint_, settings);
  }

  // The interrupted run must say that it was followed, and the one after it must be whole.
  void replug() {
    if (!replugger_.impossible.empty()) {
      phase_.status = SoakStatus::not_run;
      note(replugger_.impossible);
      return;
    }
    const Result<std::unique_ptr<Endpoint>> endpoint = replugger_.endpoint();
    if (!endpoint) return end(endpoint.error());
    RunSettings settings = settings_;
    settings.follow_replug_ms = std::max<int64_t>(settings.follow_replug_ms, 30000);
    settings.frame_size = 4096;
    settings.frame_count = 1048576;
    label_("replug: waiting for the device to go away and come back");
    const Result<RunResult> result = runner_(**endpoint, settings, hooks_);
    if (!result) return end(result.error());
    ++phase_.runs;
    phase_.bytes += result->in_bytes;
    phase_.duration_ns += result->duration_ns;
    phase_.verdict = result->verdict;
    const bool followed = result->verdict.kind == VerdictKind::replugged ||
                          result->verdict.kind == VerdictKind::device_reset;
    if (cut_short(*result)) return finish(*result);
    if (!followed) {
      ++phase_.failed_runs;
      phase_.telling_run = "the run in which it was to go away";
      result_.code = worse(result_.code, kFailed);
      finish(result.value());
      return;
    }
    if (!result_.port) result_.port = result->port;
    note(result->verdict.sentence);
    settings.frame_count = 64;
    measure(**endpoint, settings);
  }

  void measure(Endpoint& endpoint, const RunSettings& settings) {
    label_(phase_.name + ": " + describe(settings));
    const Result<RunResult> result = runner_(endpoint, settings, hooks_);
    if (!result) return end(result.error());
    const bool failed = result->failed() && !cut_short(*result);
    const bool first_failure = failed && phase_.failed_runs == 0;
    ++phase_.runs;
    phase_.bytes += result->in_bytes + result->out_bytes;
    phase_.duration_ns += result->duration_ns;
    if (failed) {
      ++phase_.failed_runs;
      for (const link::Fault& fault : result->faults) {
        note(describe(settings) + ": " + fault_sentence(fault));
      }
    }
    if (first_failure) phase_.telling_run = describe(settings);
    if (first_failure || phase_.failed_runs == 0) phase_.verdict = result->verdict;
    finish(result.value());
  }

  void finish(const RunResult& result) {
    if (cut_short(result)) phase_.status = SoakStatus::interrupted;
    if (!result_.port) result_.port = result.port;
    if (result.hello) max_frame_bytes_ = result.hello->max_frame_bytes;
    // Saves the 300 ms of asking a classic device again before each run.
    if (settings_.protocol == host::Protocol::automatic && result.end == RunEnd::complete) {
      settings_.protocol = result.protocol;
      classic_ = result.protocol == host::Protocol::classic;
    }
    result_.code = worse(result_.code, exit_code(result));
    over_ = over_ || result.end == RunEnd::interrupted || result.end == RunEnd::gone ||
            result.end == RunEnd::no_answer;
  }

  void end(const Error& error) {
    if (error.code == host::ErrorCode::interrupted) phase_.status = SoakStatus::interrupted;
    result_.error = error;
    result_.code = worse(result_.code, exit_code(error));
    over_ = true;
  }

  void note(const std::string& text) {
    if (phase_.notes.size() < kMaxNotes) phase_.notes.push_back(text);
  }

  Endpoint& endpoint_;
  const SoakPlan& plan_;
  const Replugger& replugger_;
  const Runner& runner_;
  const host::RunHooks& hooks_;
  const std::function<void(const std::string&)>& label_;
  RunSettings settings_;
  SoakPhase phase_;
  SoakResult result_;
  uint32_t max_frame_bytes_ = UINT32_MAX;
  bool classic_ = false;
  bool over_ = false;
};

}  // namespace

const std::vector<std::string>& soak_phases() {
  static const std::vector<std::string> phases = {"long", "burst", "boundary", "reopen", "replug"};
  return phases;
}

std::vector<uint32_t> boundary_sizes(bool quick, uint32_t max_bytes) {
  const std::vector<uint32_t> multiples =
      quick ? std::vector<uint32_t>{64, 512, 2048}
            : std::vector<uint32_t>{64, 512, 1024, 1536, 2048, 4096, 8192};
  std::vector<uint32_t> sizes;
  for (const uint32_t multiple : multiples) {
    for (const uint32_t size : {multiple - 1, multiple, multiple + 1}) {
      if (size <= max_bytes) sizes.push_back(size);
    }
  }
  return sizes;
}

SoakResult run_soak(Endpoint& endpoint, const SoakPlan& plan, const Replugger& replugger,
                    const Runner& runner, const host::RunHooks& hooks,
                    const std::function<void(const std::string&)>& label) {
  return Soak(endpoint, plan, replugger, runner, hooks, label).run();
}

}  // namespace millrace::cli
