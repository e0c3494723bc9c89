// SPDX-License-Identifier: Apache-2.0
#include "millrace/host/serial_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "dialogue.h"
#include "in_stream.h"
#include "link_probe.h"
#include "millrace/host/usb_ceiling.h"
#include "millrace/link/classic_stream.h"
#include "stream_session.h"
#include "verdict_rules.h"

namespace millrace::host {
namespace {

constexpr uint32_t kMaxFrameBytes = uint32_t{1} << 26;
constexpr uint32_t kMaxReadBytes = uint32_t{1} << 24;
// Nothing else can be tried while these waits last, so they are those of a loaded machine.
constexpr int64_t kLeastPatienceNs = 1000 * kMillisecond;
constexpr int64_t kMostPatienceNs = 5000 * kMillisecond;
constexpr int64_t kLinkAnswerNs = 300 * kMillisecond;
constexpr int64_t kReopenSliceNs = 100 * kMillisecond;

Error usage(std::string message) { return {ErrorCode::usage, std::move(message)}; }

Status check(const RunSettings& s) {
  if (s.frame_size < 1 || s.frame_size > kMaxFrameBytes) {
    return usage(fmt::format("frame size {}: must be 1 to {}", s.frame_size, kMaxFrameBytes));
  }
  if (s.frame_count < 1) return usage("frame count 0: must be at least 1");
  if (s.read_size < 1 || s.read_size > kMaxReadBytes) {
    return usage(fmt::format("read size {}: must be 1 to {}", s.read_size, kMaxReadBytes));
  }
  if (s.timeout_ms < 1 || s.timeout_ms > 3600000) {
    return usage(fmt::format("timeout {} ms: must be 1 ms to 1 h", s.timeout_ms));
  }
  if (s.follow_replug_ms < 0) return usage("the wait for a replugged device must not be negative");
  if (s.window_frames > 0 && s.direction == link::Direction::both) {
    return usage("acknowledgements go with direction in or out, not with both");
  }
  if (s.protocol == Protocol::classic) {
    if (s.direction != link::Direction::in) {
      return usage("the classic protocol has no OUT stream: use direction in");
    }
    if (s.window_frames > 1) {
      return usage("the classic protocol knows acknowledgement of none or each frame, no window");
    }
    if (s.discard_mode || s.counters_interval_ms > 0) {
      return usage("the classic protocol has neither discard mode nor counters");
    }
  }
  return {};
}

const char* const kEchoes = "the port sends back what is written to it (loopback, or echo is on)";

bool contains(std::span<const uint8_t> sample, std::span<const uint8_t> part) {
  return std::search(sample.begin(), sample.end(), part.begin(), part.end()) != sample.end();
}

// What came back is the probe itself.
bool is_echo(std::span<const uint8_t> sample) {
  uint8_t probe[link::kProbeBytes];
  link::encode_probe(probe);
  return contains(sample, probe);
}

std::vector<uint8_t> handshake_of(const RunSettings& s) {
  link::Handshake handshake;
  handshake.frame_size = s.frame_size;
  handshake.frame_count = s.frame_count;
  handshake.acknowledge = s.window_frames > 0 ? 1 : 0;
  uint8_t bytes[link::kHandshakeBytes];
  link::encode_handshake(handshake, bytes);
  return {bytes, bytes + sizeof(bytes)};
}

// Of what the classic protocol cannot do.
bool needs_extended(const RunSettings& s) {
  return s.direction != link::Direction::in || s.window_frames > 1 || s.discard_mode;
}

// What the run needs and the device says it does not have; empty: nothing. A limit of 0 is not
// told.
std::string missing_capability(const link::Hello& hello, const RunSettings& s) {
  const auto can = [&hello](uint8_t bit) { return (hello.capabilities & bit) != 0; };
  if (s.direction != link::Direction::in && !can(link::kCanStreamOut)) {
    return "has no OUT stream (use direction in)";
  }
  if (s.window_frames > 0 && !can(link::kCanWindow)) {
    return "has no acknowledgements (use none)";
  }
  if (s.window_frames > hello.max_window_frames && hello.max_window_frames > 0) {
    return fmt::format("takes a window of at most {} frames, not {}", hello.max_window_frames,
                       s.window_frames);
  }
  if (s.discard_mode && !can(link::kCanDiscard)) return "has no discard mode";
  if (s.counters_interval_ms > 0 && !can(link::kCanCountDuringRun)) {
    return "has no counters during a run";
  }
  if (s.frame_size > hello.max_frame_bytes && hello.max_frame_bytes > 0) {
    return fmt::format("takes frames of at most {}, not {}", bytes_text(hello.max_frame_bytes),
                       grouped(s.frame_size));
  }
  return "";
}

// Why a STARTED refuses.
std::string refusal(const link::Started& started) {
  if (started.status > link::StartStatus::flags) {
    return fmt::format("it refused the run with status {}, which this version does not know{}{}",
                       static_cast<unsigned>(started.status), started.reason[0] != 0 ? ": " : "",
                       started.reason);
  }
  return started.reason[0] != 0 ? started.reason : "no reason given";
}

class Run {
 public:
  Run(Endpoint& endpoint, const RunSettings& settings, const RunHooks& hooks)
      : endpoint_(endpoint), clock_(endpoint.clock()), settings_(settings), hooks_(hooks) {
    result_.settings = settings;
  }

  Result<RunResult> run();

 private:
  bool greet();
  bool greet_late();
  bool start_extended();
  bool start_classic();
  void stream();
  void ask_after_silence();
  void follow_replug();
  void explain_no_answer();
  void note_sample(const std::vector<uint8_t>& sample);
  void note_unasked();
  void add_foreign(uint64_t bytes);
  bool is_handshake_echoed() const;
  bool is_interrupted() const;
  bool end_interrupted();
  int64_t patience_ns() const;
  void figures();
  bool end_with(RunEnd end, std::string detail);
  bool end_gone(const IoResult& io);

  Endpoint& endpoint_;
  Clock& clock_;
  const RunSettings& settings_;
  const RunHooks& hooks_;
  RunResult result_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Dialogue> dialogue_;
  SessionStart start_;
  uint64_t dropped_before_hello_ = 0;
  std::vector<uint8_t> unasked_;  // the first bytes between HELLO and STARTED
  uint64_t unasked_bytes_ = 0;
};

Result<RunResult> Run::run() {
  if (Status status = check(settings_); !status) return status.error();
  auto opened = endpoint_.open(settings_.open);
  if (!opened) return opened.error();
  transport_ = std::move(*opened);
  result_.port = transport_->identity();
  result_.transport_settings = transport_->settings();
  dialogue_ = std::make_unique<Dialogue>(*transport_, hooks_.interrupted);

  note_holders(*transport_, &result_);
  if (!result_.other_holders.empty() && hooks_.warning) {
    hooks_.warning(also_open(result_, "has", "have") + " (end it first)");
  }
  if (greet()) stream();
  if (result_.in_totals.faults > 0 || result_.end == RunEnd::timed_out ||
      result_.end == RunEnd::no_answer || result_.end == RunEnd::refused) {
    note_holders(*transport_, &result_);
  }
  if (result_.end == RunEnd::timed_out) ask_after_silence();
  if (result_.end == RunEnd::gone) follow_replug();
  if (result_.end == RunEnd::gone || result_.end == RunEnd::reset ||
      result_.end == RunEnd::stopped || result_.end == RunEnd::interrupted ||
      result_.end == RunEnd::no_answer) {
    count_tail_as_not_delivered(&result_);
  }
  figures();
  result_.verdict = judge(result_);
  return std::move(result_);
}

// Each step returns false when the run has ended; result_.end then says how.
bool Run::greet() {
  if (settings_.protocol == Protocol::classic) {
    const IoResult io = dialogue_->drain(kQuietNs, kStaleLimitNs);
    if (io.kind == IoKind::gone || io.kind == IoKind::error) return end_gone(io);
    return start_classic();
  }
  // No wait for quiet: HELLO comes behind everything stale, and a device that still streams an old
  // run is stopped by the probe.
  IoResult io;
  const bool may_fall_back =
      settings_.protocol == Protocol::automatic && !needs_extended(settings_);
  result_.hello = dialogue_->probe(may_fall_back ? kHelloWaitNs : patience_ns(), &io);
  if (io.kind == IoKind::gone || io.kind == IoKind::error) return end_gone(io);
  if (result_.hello) return start_extended();
  if (is_interrupted()) return end_interrupted();
  if (settings_.protocol == Protocol::extended || is_echo(dialogue_->sample())) {
    end_with(RunEnd::no_answer, "no HELLO came");
    if (!dialogue_->sample().empty()) note_sample(dialogue_->sample());
    explain_no_answer();
    return false;
  }
  if (needs_extended(settings_)) {
    if (dialogue_->sample().empty()) {
      explain_no_answer();
      return end_with(RunEnd::refused,
                      "no HELLO came, and the classic protocol has no OUT stream, window or "
                      "discard mode (a device that answers nothing looks the same)");
    }
    end_with(RunEnd::no_answer, "what came is no HELLO");
    note_sample(dialogue_->sample());
    return false;
  }
  result_.hello = dialogue_->await_hello(kQuietNs, &io);
  if (io.kind == IoKind::gone || io.kind == IoKind::error) return end_gone(io);
  if (result_.hello) return start_extended();
  return start_classic();
}

// The device answered the probe behind the classic handshake, and streams now. Another probe ends
// that; nothing of the classic attempt counts.
bool Run::greet_late() {
  RunResult fresh;
  fresh.settings = settings_;
  fresh.port = std::move(result_.port);
  fresh.transport_settings = std::move(result_.transport_settings);
  fresh.other_holders = std::move(result_.other_holders);
  result_ = std::move(fresh);
  result_.protocol = Protocol::extended;
  start_ = SessionStart{};
  IoResult io;
  result_.hello = dialogue_->probe(patience_ns(), &io);
  if (io.kind == IoKind::gone || io.kind == IoKind::error) return end_gone(io);
  if (result_.hello) return start_extended();
  if (is_interrupted()) return end_interrupted();
  end_with(RunEnd::timed_out, "the device answered one probe late and the next one not at all");
  return false;
}

bool Run::start_extended() {
  result_.protocol = Protocol::extended;
  const std::string missing = missing_capability(*result_.hello, settings_);
  if (!missing.empty()) return end_with(RunEnd::refused, "by its HELLO it " + missing);
  for (int attempt = 0;; ++attempt) {
    // Behind HELLO nothing but STARTED is to come.
    dialogue_->clear_sample();
    dropped_before_hello_ = dialogue_->dropped_bytes();
    link::RunRequest request;
    request.session_id = result_.hello->session_id;
    request.run_id = static_cast<uint32_t>(clock_.now_ns() / 1000) | 1;
    request.direction = settings_.direction;
    request.discard_mode = settings_.discard_mode;
    request.window_frames = settings_.window_frames;
    request.frame_size = settings_.frame_size;
    request.frame_count = settings_.frame_count;
    request.seed = settings_.seed;
    request.counters_interval_ms = settings_.counters_interval_ms;
    request.discard_after_ms = settings_.discard_after_ms;
    uint8_t payload[link::RunRequest::kBytes];
    link::encode(request, payload);

    start_.run_id = request.run_id;
    start_.start_ns = clock_.now_ns();
    const int64_t deadline = start_.start_ns + patience_ns();
    IoResult io = dialogue_->send(link::MessageType::run, payload, deadline);
    if (io.kind == IoKind::gone || io.kind == IoKind::error) return end_gone(io);
    std::vector<uint8_t> answer;
    link::Started started;
    do {
      io = dialogue_->await(link::MessageType::started, deadline, deadline, &answer);
      if (io.kind == IoKind::gone || io.kind == IoKind::error) return end_gone(io);
      if (io.kind == IoKind::nothing_yet) {
        if (is_interrupted()) return end_interrupted();
        if (dialogue_->sample().empty()) {
          return end_with(RunEnd::timed_out, "the device answered HELLO but not RUN");
        }
        end_with(RunEnd::no_answer,
                 "the device answered HELLO but not RUN, and sends what nobody "
                 "asked for");
        note_sample(dialogue_->sample());
        return false;
      }
    } while (!link::decode(answer.data(), answer.size(), &started) ||
             started.run_id != request.run_id);
    if (started.status == link::StartStatus::started) break;
    if (started.status == link::StartStatus::wrong_session && attempt == 0) {
      // The HELLO was the answer to an earlier probe; the right one has been skipped meanwhile.
      result_.hello = dialogue_->probe(patience_ns(), &io);
      if (result_.hello) continue;
    }
    return end_with(RunEnd::refused, refusal(started));
  }
  result_.stale_input_bytes = dropped_before_hello_;
  unasked_ = dialogue_->sample();
  unasked_bytes_ = dialogue_->dropped_bytes() - dropped_before_hello_;
  start_.rest = dialogue_->take_rest();
  start_.rest_arrival_ns = dialogue_->last_arrival_ns();
  return true;
}

bool Run::start_classic() {
  result_.protocol = Protocol::classic;
  result_.stale_input_bytes = dialogue_->dropped_bytes();
  start_.start_ns = clock_.now_ns();
  const IoResult io = dialogue_->send(handshake_of(settings_),
                                      start_.start_ns + settings_.timeout_ms * kMillisecond);
  if (io.kind == IoKind::gone || io.kind == IoKind::error) return end_gone(io);
  return true;
}

void Run::stream() {
  SessionEnd end = run_session(*transport_, settings_, hooks_, start_, &result_);
  if (end.is_late_hello) {
    if (!greet_late()) return;
    end = run_session(*transport_, settings_, hooks_, start_, &result_);
  }
  if (unasked_bytes_ > 0) note_unasked();
  end_with(end.end, std::move(end.detail));
}

// What came between HELLO and STARTED stands before the stream as foreign bytes do.
void Run::note_unasked() {
  link::Fault fault = foreign_fault(unasked_);
  fault.length = fault.received_length = unasked_bytes_;
  if (result_.faults.size() == RunResult::kMaxFaults) result_.faults.pop_back();
  result_.faults.insert(result_.faults.begin(), fault);
  add_foreign(unasked_bytes_);
}

void Run::add_foreign(uint64_t bytes) {
  link::VerifierTotals& totals = result_.in_totals;
  totals.received_bytes += bytes;
  totals.inserted_bytes += bytes;
  totals.faults += 1;
  totals.faults_of_kind[static_cast<size_t>(link::FaultKind::inserted)] += 1;
}

// A silent device: has it started anew, does it still live, what did it count?
void Run::ask_after_silence() {
  if (result_.protocol == Protocol::classic) {
    if (is_handshake_echoed()) {
      end_with(RunEnd::no_answer, kEchoes);
    } else if (result_.in_totals.received_bytes == 0) {
      end_with(RunEnd::no_answer,
               fmt::format("nothing came within {} ms after the handshake", settings_.timeout_ms));
      explain_no_answer();
    }
    return;
  }
  if (!result_.hello) return;
  IoResult io;
  const std::optional<link::Hello> again = dialogue_->probe(patience_ns(), &io);
  if (io.kind == IoKind::gone) {
    end_gone(io);
    return;
  }
  if (!again) {
    result_.end_detail += "; the device does not answer a probe either";
    if (auto lines = transport_->modem_lines(); lines) result_.modem_lines = *lines;
    return;
  }
  if (again->boot_counter != result_.hello->boot_counter) {
    end_with(RunEnd::reset, fmt::format("boot counter {} before, {} now",
                                        result_.hello->boot_counter, again->boot_counter));
    return;
  }
  result_.end_detail += "; the device still answers a probe";
  const auto counters = dialogue_->ask_counters(patience_ns());
  if (counters && counters->run_id == start_.run_id) result_.counters = *counters;
}

bool Run::is_handshake_echoed() const {
  const std::vector<uint8_t> handshake = handshake_of(settings_);
  return result_.in_totals.verified_bytes < handshake.size() &&
         std::any_of(result_.faults.begin(), result_.faults.end(), [&](const link::Fault& fault) {
           return fault.kind == link::FaultKind::inserted &&
                  contains({fault.received, fault.sample_size}, handshake);
         });
}

void Run::follow_replug() {
  if (settings_.follow_replug_ms == 0) return;
  const int64_t gone_ns = clock_.now_ns();
  dialogue_.reset();
  transport_.reset();
  const int64_t deadline = gone_ns + settings_.follow_replug_ms * kMillisecond;
  // In slices: reopen() knows of no interruption.
  for (;;) {
    if (is_interrupted()) {
      end_with(RunEnd::interrupted, "while the device was away: " + result_.end_detail);
      return;
    }
    const int64_t slice_end = std::min(deadline, clock_.now_ns() + kReopenSliceNs);
    auto opened = endpoint_.reopen(settings_.open, slice_end);
    if (opened) {
      transport_ = std::move(*opened);
      break;
    }
    if (clock_.now_ns() < slice_end) {  // it will never return
      result_.end_detail += "; " + opened.error().message;
      return;
    }
    if (slice_end == deadline) {
      result_.end_detail +=
          fmt::format("; it did not return within {} ms", settings_.follow_replug_ms);
      return;
    }
  }
  result_.replug_ns = std::max<int64_t>(clock_.now_ns() - gone_ns, 1);
  result_.replug_path = transport_->identity().path;
  if (!result_.hello) return;
  dialogue_ = std::make_unique<Dialogue>(*transport_, hooks_.interrupted);
  IoResult io;
  const std::optional<link::Hello> again = dialogue_->probe(patience_ns(), &io);
  if (again) result_.replug_boot_counter = again->boot_counter;
  if (again && again->boot_counter != result_.hello->boot_counter) {
    end_with(RunEnd::reset,
             fmt::format("it went away and came back; boot counter {} before, {} now",
                         result_.hello->boot_counter, again->boot_counter));
  }
}

void Run::explain_no_answer() {
  if (auto lines = transport_->modem_lines(); lines) result_.modem_lines = *lines;
  if (dialogue_->dropped_bytes() == 0 && !is_interrupted()) {
    result_.speaks_link_protocol = speaks_link_protocol(*transport_, kLinkAnswerNs);
  }
}

// What came instead of an answer counts as received and foreign.
void Run::note_sample(const std::vector<uint8_t>& sample) {
  if (is_echo(sample)) {
    result_.end_detail = kEchoes;
  } else {
    result_.end_detail += ": " + show_bytes(sample.data(), sample.size());
  }
  add_foreign(sample.size());
  result_.faults.push_back(foreign_fault(sample));
}

void Run::figures() {
  if (result_.settings.direction != link::Direction::in && result_.counters) {
    result_.out_bytes = result_.counters->out_verified_bytes;
    result_.frames += result_.counters->out_frames;
  }
  const double seconds = static_cast<double>(result_.duration_ns) * 1e-9;
  if (seconds > 0) {
    result_.bytes_per_s = static_cast<double>(result_.in_bytes + result_.out_bytes) / seconds;
  }
  double speed_mbit = result_.port.usb_speed_mbit;
  // What the device claims counts only where the system says that the port is USB, and not how
  // fast.
  if (speed_mbit == 0 && result_.port.is_usb && result_.hello) {
    speed_mbit = result_.hello->usb_speed_mbit;
  }
  result_.ceiling_bytes_per_s = usb_ceiling_bytes_per_s(speed_mbit);
  if (speed_mbit == 480) result_.packets_per_microframe = result_.bytes_per_s / 512 / 8000;
  result_.bridge_buffer_bytes = static_cast<uint64_t>(
      static_cast<double>(result_.reads.longest_silence_ns) * 1e-9 * result_.bytes_per_s);
}

bool Run::is_interrupted() const {
  return hooks_.interrupted != nullptr && hooks_.interrupted->load(std::memory_order_relaxed);
}

bool Run::end_interrupted() { return end_with(RunEnd::interrupted, "before the run began"); }

int64_t Run::patience_ns() const {
  return std::clamp(settings_.timeout_ms * kMillisecond, kLeastPatienceNs, kMostPatienceNs);
}

bool Run::end_with(RunEnd end, std::string detail) {
  result_.end = end;
  result_.end_detail = std::move(detail);
  return false;
}

bool Run::end_gone(const IoResult& io) {
  return end_with(RunEnd::gone,
                  io.error.message.empty() ? "the device went away" : io.error.message);
}

}  // namespace

Result<RunResult> run_serial(Endpoint& endpoint, const RunSettings& settings,
                             const RunHooks& hooks) {
  return Run(endpoint, settings, hooks).run();
}

}  // namespace millrace::host
