// SPDX-License-Identifier: Apache-2.0
// Who reads and who writes:
//   IN, no acknowledgement   this thread reads and verifies, as long as that takes no time; while
//   it
//                            searches or reports, a reading thread (block_reader_lending.cc)
//   IN, acknowledged         this thread reads, verifies and writes one byte a frame: any hand-over
//                            between threads would be part of each round trip
//   OUT                      this thread writes, and reads acknowledgements when the window is full
//   both                     the same, and a writing thread
//   virtual time             this thread does all of it, in small steps
// Deadlines of reads stay 200 ms away while nothing is due before: the termios transport can then
// wait inside read() itself, one system call a block instead of two.
#include "stream_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "block_reader.h"
#include "dialogue.h"
#include "in_stream.h"
#include "incoming.h"
#include "millrace/link/classic_stream.h"
#include "out_stream.h"
#include "thread_cpu.h"

namespace millrace::host {
namespace {

constexpr int64_t kTickNs = 100 * kMillisecond;
constexpr int64_t kMostWaitNs = 200 * kMillisecond;
constexpr int64_t kStopWaitNs = 1000 * kMillisecond;
constexpr int64_t kDeviceOutWaitNs = 2500 * kMillisecond;  // the device gives up OUT after 2 s
constexpr int64_t kHolderLookNs = 1000 * kMillisecond;
constexpr int64_t kVirtualStepNs = kMillisecond;
constexpr unsigned kTimedBlocks = 16;  // of so many blocks one is timed while it is verified

// Nothing came since `since_ns`; the run is given up `patience_ns` later.
struct Silence {
  int64_t since_ns = 0;
  int64_t patience_ns = 0;
};

class Session {
 public:
  Session(Transport& transport, const RunSettings& settings, const RunHooks& hooks,
          const SessionStart& start, RunResult* result)
      : transport_(transport),
        clock_(transport.clock()),
        settings_(settings),
        hooks_(hooks),
        start_(start),
        result_(*result),
        has_in_(settings.direction != link::Direction::out),
        has_out_(settings.direction != link::Direction::in),
        timeout_ns_(settings.timeout_ms * kMillisecond),
        stream_bytes_(uint64_t{settings.frame_size} * settings.frame_count),
        next_tick_ns_(start.start_ns + kTickNs) {}

  SessionEnd run();

 private:
  std::optional<SessionEnd> read_step();
  std::optional<SessionEnd> take(const Block& block);
  // What is owed once a block was verified: acknowledgements; an end, if REPORT was in it.
  std::optional<SessionEnd> answer(const Block& block);
  std::optional<SessionEnd> after_report() const;
  std::optional<SessionEnd> in_is_over(int64_t now_ns) const;
  int64_t end_of_stream_wait_ns() const;
  std::optional<SessionEnd> silence(int64_t now_ns) const;
  Silence longest_silence() const;
  int64_t ack_patience_ns() const;
  int64_t next_due_ns() const;
  std::optional<SessionEnd> look_around(int64_t now_ns);
  void begin_stop(RunEnd why, int64_t now_ns);
  SessionEnd run_out();
  std::optional<SessionEnd> take_out_answers(const Block& block);
  void note_foreign(std::span<const uint8_t> bytes);
  void write_thread();
  void report_progress(int64_t now_ns);
  void look_for_other_readers(int64_t now_ns);
  void free_waiting_device(int64_t now_ns);
  void send_acks(int64_t now_ns);
  void write_acks(uint64_t due, int64_t now_ns);

  Transport& transport_;
  Clock& clock_;
  const RunSettings& settings_;
  const RunHooks& hooks_;
  const SessionStart& start_;
  RunResult& result_;
  const bool has_in_;
  const bool has_out_;
  const int64_t timeout_ns_;
  const uint64_t stream_bytes_;

  std::optional<InStream> in_;
  std::optional<OutStream> out_;
  std::unique_ptr<BlockReader> reader_;
  Incoming answers_;          // OUT only
  bool report_came_ = false;  // OUT only
  int64_t last_answer_ns_ = 0;

  int64_t now_ns_ = 0;  // as of the last block: a look at the clock per block is one too many
  int64_t last_early_ack_ns_ = 0;
  uint64_t faults_looked_at_ = 0;  // when holders of the port were looked for
  int64_t next_look_ns_ = 0;
  int64_t next_tick_ns_;
  uint64_t bytes_at_tick_ = 0;
  int64_t last_tick_ns_ = 0;

  std::optional<RunEnd> stopping_;
  int64_t stop_deadline_ns_ = 0;
  std::atomic<bool> abandon_out_{false};
  std::atomic<bool> out_over_{false};
  std::atomic<bool> out_failed_{false};
  int64_t out_cpu_ns_ = 0;
  uint64_t blocks_ = 0;
  int64_t verify_ns_ = 0;  // estimated
};

SessionEnd gone(const IoResult& io) {
  return {RunEnd::gone, io.error.message.empty() ? "the device went away" : io.error.message};
}

SessionEnd Session::run() {
  const bool is_virtual = clock_.is_virtual();
  const bool may_lend = has_in_ && settings_.window_frames == 0 && !is_virtual;
  const bool write_thread = has_in_ && has_out_ && !is_virtual;
  const int64_t watched_ns = clock_.now_ns();
  const int64_t cpu_before = thread_cpu_ns();
  last_tick_ns_ = last_answer_ns_ = start_.start_ns;
  now_ns_ = clock_.now_ns();
  if (has_in_) {
    in_.emplace(settings_, start_.run_id, start_.start_ns, &result_, [this] { reader_->lend(); });
  }
  if (has_out_) out_.emplace(transport_, settings_, &result_);
  std::thread writer;
  reader_ = may_lend ? make_lending_reader(transport_, settings_.read_size)
                     : make_direct_reader(transport_, settings_.read_size);
  if (write_thread) writer = std::thread([this] { this->write_thread(); });

  std::optional<SessionEnd> end;
  if (!start_.rest.empty()) {
    Block rest;
    rest.kind = IoKind::done;
    rest.bytes = start_.rest;
    rest.arrival_ns = start_.rest_arrival_ns;
    if (has_in_) {
      in_->take_rest(rest);
      end = answer(rest);
    } else {
      end = take_out_answers(rest);
    }
  }
  if (!end && !has_in_) end = run_out();
  while (!end) {
    if (has_out_ && !write_thread && !out_over_) {
      const OutStream::State state = out_->step(clock_.now_ns());
      if (state == OutStream::State::finished) out_over_ = true;
      if (state == OutStream::State::failed) end = gone(out_->failure());
    }
    if (!end) end = read_step();
  }

  abandon_out_ = true;
  reader_->stop();
  if (writer.joinable()) writer.join();
  int64_t last_ns = start_.start_ns;
  if (in_) last_ns = in_->complete() ? in_->last_progress_ns() : in_->last_stream_ns();
  if (out_) last_ns = std::max({last_ns, last_answer_ns_, out_->last_progress_ns()});
  result_.duration_ns = last_ns - start_.start_ns;
  if (in_) in_->finish();
  result_.reads.ring_full = reader_->ring_full();
  if (!is_virtual && result_.duration_ns > 0) {
    const int64_t own = thread_cpu_ns() - cpu_before;
    // What it takes to begin and to end is in it: the time of that must be too.
    const auto wall = static_cast<double>(clock_.now_ns() - std::min(watched_ns, start_.start_ns));
    const int64_t total = own + reader_->cpu_ns() + out_cpu_ns_;
    const int64_t verify = std::min(own, verify_ns_);
    result_.cpu.read = static_cast<double>(total - out_cpu_ns_ - verify) / wall;
    result_.cpu.verify = static_cast<double>(verify) / wall;
    const uint64_t bytes = (in_ ? in_->received_bytes() : 0) + (out_ ? out_->sent_bytes() : 0);
    if (bytes > 0) {
      result_.cpu.total_ns_per_byte = static_cast<double>(total) / static_cast<double>(bytes);
    }
  }
  return *end;
}

std::optional<SessionEnd> Session::read_step() {
  int64_t deadline = next_due_ns();
  if (has_out_ && clock_.is_virtual() && !out_over_) {
    deadline = clock_.now_ns() + kVirtualStepNs;
  }
  const Block block = reader_->next(deadline);
  now_ns_ = block.arrival_ns;
  switch (block.kind) {
    case IoKind::done:
      if (auto end = take(block)) return end;
      break;
    case IoKind::nothing_yet:
      break;
    case IoKind::gone:
    case IoKind::error: {
      IoResult io;
      io.error = block.error;
      return gone(io);
    }
  }
  return look_around(block.arrival_ns);
}

std::optional<SessionEnd> Session::take(const Block& block) {
  // The device works on its next frame while this one is verified.
  if (in_->ends_frame(block) && in_->acknowledge_early()) write_acks(1, block.arrival_ns);
  const bool is_timed = blocks_++ % kTimedBlocks == 0;
  const int64_t start_ns = is_timed ? clock_.now_ns() : 0;
  in_->take(block);
  if (is_timed) verify_ns_ += kTimedBlocks * (clock_.now_ns() - start_ns);
  return answer(block);
}

std::optional<SessionEnd> Session::answer(const Block& block) {
  if (settings_.window_frames > 0) send_acks(block.arrival_ns);
  last_answer_ns_ = block.arrival_ns;
  if (in_->report_came()) return after_report();
  if (in_->hello_came() && settings_.protocol == Protocol::automatic) {
    return SessionEnd{RunEnd::refused, "HELLO came late", true};
  }
  return std::nullopt;
}

void Session::send_acks(int64_t now_ns) { write_acks(in_->take_acks_due(), now_ns); }

void Session::write_acks(uint64_t due, int64_t now_ns) {
  uint8_t acks[256];
  while (due > 0) {
    const size_t n = static_cast<size_t>(std::min<uint64_t>(due, sizeof(acks)));
    std::fill_n(acks, n, link::kAckByte);
    // A write that fails shows up in the next read.
    (void)transport_.write({acks, n}, now_ns + timeout_ns_);
    due -= n;
  }
}

// Bytes of a frame were lost: the device waits for its acknowledgement, and the verifier for more
// bytes to see where the stream goes on. One of them has to give way.
void Session::free_waiting_device(int64_t now_ns) {
  if (now_ns - std::max(in_->last_stream_ns(), last_early_ack_ns_) < ack_patience_ns()) return;
  last_early_ack_ns_ = now_ns;
  if (!in_->acknowledge_early()) return;
  (void)transport_.write({&link::kAckByte, 1}, now_ns + timeout_ns_);
}

std::optional<SessionEnd> Session::after_report() const {
  if (result_.hello && result_.counters->boot_counter != result_.hello->boot_counter) {
    return SessionEnd{RunEnd::reset,
                      fmt::format("boot counter {} in HELLO, {} in REPORT",
                                  result_.hello->boot_counter, result_.counters->boot_counter)};
  }
  if (stopping_) return SessionEnd{*stopping_, ""};
  if ((result_.counters->state & link::kRunOutTimedOut) != 0) {
    return SessionEnd{RunEnd::timed_out,
                      "the device waited 2 s for the rest of the OUT stream and gave up"};
  }
  return SessionEnd{RunEnd::complete, ""};
}

// Everything that is not a block: once a block for what costs nothing, once a tick for the rest.
std::optional<SessionEnd> Session::look_around(int64_t now_ns) {
  if (auto end = in_is_over(now_ns)) return end;
  if (!stopping_) {
    std::optional<RunEnd> why;
    if (settings_.stop_on_error && in_ && in_->faults() > 0) why = RunEnd::stopped;
    if (hooks_.interrupted != nullptr && hooks_.interrupted->load(std::memory_order_relaxed)) {
      why = RunEnd::interrupted;
    }
    if (why) {
      begin_stop(*why, now_ns);
      if (start_.run_id == 0) return SessionEnd{*why, ""};
    }
  } else if (now_ns >= stop_deadline_ns_) {
    return SessionEnd{*stopping_, "no REPORT came after STOP"};
  }
  if (out_failed_) return gone(out_->failure());
  if (in_ && settings_.window_frames > 0) free_waiting_device(now_ns);
  if (in_ && in_->faults() > faults_looked_at_) look_for_other_readers(now_ns);
  if (now_ns >= next_tick_ns_) report_progress(now_ns);
  return silence(now_ns);
}

// While it is there: a program that took some bytes and ended is not found behind the run.
void Session::look_for_other_readers(int64_t now_ns) {
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kHolderLookNs;
  faults_looked_at_ = in_->faults();
  reader_->lend();
  note_holders(transport_, &result_);
}

void Session::begin_stop(RunEnd why, int64_t now_ns) {
  stopping_ = why;
  stop_deadline_ns_ = now_ns + kStopWaitNs;
  if (has_out_) {
    out_->request_stop();
  } else if (start_.run_id != 0) {
    Dialogue(transport_).send(link::MessageType::stop, {}, now_ns + kStopWaitNs);
  }
}

std::optional<SessionEnd> Session::in_is_over(int64_t now_ns) const {
  if (!in_ || has_out_ || !in_->complete() || now_ns < end_of_stream_wait_ns()) {
    return std::nullopt;
  }
  return SessionEnd{RunEnd::complete, start_.run_id == 0 ? "" : "the device sent no REPORT"};
}

// A whole stream is followed by REPORT or, in the classic protocol, by quiet: what somebody else
// sends behind it must not go unseen because it came a moment later. Whatever comes, this ends:
// noise must not keep the run alive.
int64_t Session::end_of_stream_wait_ns() const {
  const int64_t last = in_->last_progress_ns() + timeout_ns_;
  return start_.run_id == 0 ? std::min(last, in_->last_arrival_ns() + kQuietNs) : last;
}

int64_t Session::ack_patience_ns() const {
  return std::clamp(timeout_ns_ / 4, 50 * kMillisecond, 500 * kMillisecond);
}

Silence Session::longest_silence() const {
  Silence silence{start_.start_ns, timeout_ns_};
  if (in_) silence.since_ns = std::max(silence.since_ns, in_->last_stream_ns());
  if (out_) {
    silence.since_ns = std::max(silence.since_ns, out_->last_progress_ns());
    if (out_over_) silence.patience_ns = std::max(timeout_ns_, kDeviceOutWaitNs);
  }
  return silence;
}

// When there will be something to do although nothing came, at most kMostWaitNs from now on.
int64_t Session::next_due_ns() const {
  const Silence silence = longest_silence();
  int64_t due = std::min(now_ns_ + kMostWaitNs, silence.since_ns + silence.patience_ns);
  if (stopping_) due = std::min(due, stop_deadline_ns_);
  if (in_ && !has_out_ && in_->complete()) {
    due = std::min(due, end_of_stream_wait_ns());
  } else if (in_ && settings_.window_frames > 0) {
    due = std::min(due, std::max(in_->last_stream_ns(), last_early_ack_ns_) + ack_patience_ns());
  }
  return due;
}

std::optional<SessionEnd> Session::silence(int64_t now_ns) const {
  const auto [since_ns, patience_ns] = longest_silence();
  if (now_ns - since_ns >= patience_ns) {
    return SessionEnd{RunEnd::timed_out,
                      fmt::format("nothing came for {} ms", (now_ns - since_ns) / kMillisecond)};
  }
  if (in_) {
    int64_t progress = in_->last_progress_ns();
    if (out_) progress = std::max(progress, out_->last_progress_ns());
    if (now_ns - progress >= std::max(2 * timeout_ns_, 3000 * kMillisecond)) {
      return SessionEnd{RunEnd::timed_out,
                        fmt::format("bytes came, but for {} ms none of the stream",
                                    (now_ns - progress) / kMillisecond)};
    }
  }
  return std::nullopt;
}

void Session::write_thread() {
  const int64_t cpu_before = thread_cpu_ns();
  while (!abandon_out_.load(std::memory_order_relaxed)) {
    const OutStream::State state = out_->step(clock_.now_ns() + kTickNs);
    if (state == OutStream::State::failed) out_failed_ = true;
    if (state == OutStream::State::finished) out_over_ = true;
    if (state == OutStream::State::failed || state == OutStream::State::finished) break;
  }
  out_cpu_ns_ = thread_cpu_ns() - cpu_before;
}

SessionEnd Session::run_out() {
  int64_t next_look_ns = clock_.now_ns();
  for (;;) {
    OutStream::State state = OutStream::State::finished;
    if (!out_over_) state = out_->step(clock_.now_ns() + kTickNs);
    if (state == OutStream::State::failed) return gone(out_->failure());
    if (state == OutStream::State::finished) out_over_ = true;
    const int64_t now = clock_.now_ns();
    // While bytes can be written the other direction needs a look only now and then.
    const bool waiting = out_over_ || state == OutStream::State::window_full;
    if (!waiting && now < next_look_ns) continue;
    next_look_ns = now + 10 * kMillisecond;
    now_ns_ = now;
    const Block block = reader_->next(waiting ? next_due_ns() : now);
    if (block.kind == IoKind::done) {
      if (auto end = take_out_answers(block)) return *end;
    } else if (block.kind != IoKind::nothing_yet) {
      IoResult io;
      io.error = block.error;
      return gone(io);
    }
    if (auto end = look_around(block.arrival_ns)) return *end;
  }
}

std::optional<SessionEnd> Session::take_out_answers(const Block& block) {
  answers_.append(block.bytes);
  for (;;) {
    const Incoming::Item item = answers_.next();
    if (item.kind == Incoming::Item::Kind::none) break;
    if (item.kind == Incoming::Item::Kind::message) {
      link::DeviceCounters counters;
      if ((item.message.type != link::MessageType::report &&
           item.message.type != link::MessageType::counters) ||
          !link::decode(item.message.payload, item.message.payload_size, &counters) ||
          !are_of_run(counters, result_, start_.run_id)) {
        continue;
      }
      result_.counters = counters;
      report_came_ = report_came_ || is_final(item.message, counters);
      continue;
    }
    uint64_t acks = 0;
    if (settings_.window_frames > 0) {
      for (const uint8_t byte : item.other) acks += byte == link::kAckByte ? 1 : 0;
      out_->acknowledge(acks, block.arrival_ns);
    }
    if (acks < item.other.size()) note_foreign(item.other);
  }
  if (!report_came_) return std::nullopt;
  last_answer_ns_ = block.arrival_ns;
  return after_report();
}

// Neither a message nor acknowledgements: somebody else writes, or the line echoes.
void Session::note_foreign(std::span<const uint8_t> bytes) {
  link::VerifierTotals& totals = result_.in_totals;
  totals.received_bytes += bytes.size();
  totals.inserted_bytes += bytes.size();
  totals.faults += 1;
  totals.faults_of_kind[static_cast<size_t>(link::FaultKind::inserted)] += 1;
  if (result_.faults.size() < RunResult::kMaxFaults) {
    result_.faults.push_back(foreign_fault(bytes));
  }
}

void Session::report_progress(int64_t now_ns) {
  next_tick_ns_ = now_ns + kTickNs;
  if (!hooks_.progress) return;
  RunProgress progress;
  progress.bytes = (in_ ? in_->received_bytes() : 0) + (out_ ? out_->sent_bytes() : 0);
  progress.total_bytes = stream_bytes_ * ((has_in_ ? 1u : 0u) + (has_out_ ? 1u : 0u));
  progress.faults = in_ ? in_->faults() : 0;
  const int64_t since = std::max<int64_t>(now_ns - last_tick_ns_, 1);
  progress.bytes_per_s =
      static_cast<double>(progress.bytes - bytes_at_tick_) * 1e9 / static_cast<double>(since);
  bytes_at_tick_ = progress.bytes;
  last_tick_ns_ = now_ns;
  reader_->lend();  // a terminal may take its time
  hooks_.progress(progress);
}

}  // namespace

link::Fault foreign_fault(std::span<const uint8_t> bytes) {
  link::Fault fault;
  fault.kind = link::FaultKind::inserted;
  fault.length = fault.received_length = bytes.size();
  fault.sample_size = static_cast<uint8_t>(std::min(bytes.size(), sizeof(fault.received)));
  std::copy_n(bytes.begin(), fault.sample_size, fault.received);
  fault.is_text = std::all_of(bytes.begin(), bytes.end(), [](uint8_t c) {
    return (c >= 0x20 && c < 0x7f) || c == '\r' || c == '\n' || c == '\t';
  });
  return fault;
}

void note_holders(Transport& transport, RunResult* result) {
  auto& known = result->other_holders;
  for (std::string& holder : transport.other_holders()) {
    if (std::find(known.begin(), known.end(), holder) == known.end()) {
      known.push_back(std::move(holder));
    }
  }
}

SessionEnd run_session(Transport& transport, const RunSettings& settings, const RunHooks& hooks,
                       const SessionStart& start, RunResult* result) {
  return Session(transport, settings, hooks, start, result).run();
}

}  // namespace millrace::host
