// SPDX-License-Identifier: Apache-2.0
// The device is one loop: take what has come, then offer the port one piece. Nothing waits, so a
// probe, a STOP or an acknowledgement is heard while the port takes nothing.
//
// Two things are sent: messages (a small queue) and the stream (one piece of at most 4 KB,
// generated in place). A message enters the queue only between two frames, and the queue goes
// first, so the order on the wire follows by itself. When a message is due the next piece ends with
// its frame; otherwise frames of 128 bytes go out 32 at a time, as fast as frames of 4 KB.
//
// Input is taken only while the queue has room for an answer: a host that asks without reading
// meets back-pressure, not a lost answer.
#include "firmware/app/stream_device.h"

#include <string.h>

#include "millrace/link/bytes.h"

namespace millrace::firmware {
namespace {

constexpr uint64_t kOutSilenceUs = 2'000'000;
constexpr uint64_t kOutSettleUs = 100'000;
constexpr uint32_t kIdleInRunUs = 1'000;
constexpr uint32_t kIdleUs = 50'000;
constexpr uint16_t kMaxWindow = 0xffff;
// REPORT or COUNTERS, and acknowledgements, may be due beside the answer to a command.
constexpr size_t kReserve = 2 * link::kMaxMessage;

void copy_text(char* to, size_t capacity, const char* from) {
  size_t i = 0;
  for (; i + 1 < capacity && from[i] != 0; ++i) to[i] = from[i];
  to[i] = 0;
}

}  // namespace

StreamDevice::StreamDevice(Port& port, const StreamDeviceOptions& options)
    : port_(port), options_(options), writer_(port) {
  last_now_us_ = port_.now_us();
}

void StreamDevice::poll() {
  const uint32_t now_us = port_.now_us();
  time_us_ += now_us - last_now_us_;  // modulo 2^32: right across the wrap
  last_now_us_ = now_us;
  bool worked = receive();
  if (receives_out()) settle_out();
  if (send()) worked = true;
  if (worked) return;
  const bool waits = run_active() || messages_.size() > 0 || parser_.has_pending();
  port_.idle(waits ? kIdleInRunUs : kIdleUs);
}

void StreamDevice::link_lost() {
  if (run_active()) end_run();
  session_id_ = 0;
  in_.stop();
  messages_.clear();
  parser_.reset();
  parser_.set_mode(ParseMode::idle, 0);
  rx_at_ = rx_size_ = 0;
  flush_messages_ = unflushed_ = false;
}

// --- What comes from the host ---

bool StreamDevice::receive() {
  parser_.tick(time_us_);
  Command command;
  while (parser_.next(&command, time_us_)) on_command(command);
  if (messages_.free_bytes() < kReserve) return false;
  if (rx_at_ == rx_size_) {
    rx_at_ = 0;
    rx_size_ = port_.read(rx_, sizeof(rx_));
    if (rx_size_ > sizeof(rx_)) rx_size_ = sizeof(rx_);
  }
  const bool worked = rx_at_ < rx_size_;
  while (rx_at_ < rx_size_ && messages_.free_bytes() >= kReserve) {
    if (receives_out()) {
      receive_out();
    } else {
      receive_commands();
    }
  }
  return worked;
}

void StreamDevice::receive_commands() {
  Command command;
  while (rx_at_ < rx_size_ && messages_.free_bytes() >= kReserve && !receives_out()) {
    parser_.push(rx_[rx_at_++], time_us_);
    while (parser_.next(&command, time_us_)) on_command(command);
  }
}

void StreamDevice::receive_out() {
  last_out_us_ = time_us_;
  out_settled_ = false;
  const uint8_t* data = rx_ + rx_at_;
  size_t size = rx_size_ - rx_at_;
  const size_t probe_end = parser_.scan_for_probe(data, size);
  if (probe_end > 0) size = probe_end;
  rx_at_ += size;
  Command command;
  if (parser_.next(&command, time_us_)) {
    on_command(command);
    return;
  }
  out_.feed(data, size);
  if (!deferred_run_) return;
  deferred_run_ = false;
  link::Message message;
  message.type = link::MessageType::run;
  message.payload = deferred_payload_;
  message.payload_size = sizeof(deferred_payload_);
  on_run(message);
}

void StreamDevice::on_command(const Command& command) {
  switch (command.kind) {
    case Command::Kind::probe:
      if (!options_.classic_only) say_hello();
      return;
    case Command::Kind::message:
      if (!options_.classic_only) on_message(command.message);
      return;
    case Command::Kind::handshake:
      on_handshake(command.handshake);
      return;
    case Command::Kind::ack:
      ++acks_received_;
      // Behind the last acknowledgement the next handshake may stand in the same packet.
      if (state_ == State::classic && acks_received_ == run_.frame_count) {
        parser_.set_mode(ParseMode::classic_run, 0);
      }
      return;
  }
}

void StreamDevice::say_hello() {
  if (run_active()) end_run();
  in_.stop();
  parser_.set_mode(ParseMode::idle, 0);
  const uint32_t previous = session_id_;
  session_id_ = port_.entropy();
  if (session_id_ == previous) ++session_id_;
  if (session_id_ == 0) session_id_ = 1;
  const PortInfo info = port_.info();
  link::Hello hello;
  hello.capabilities =
      link::kCanStreamOut | link::kCanWindow | link::kCanDiscard | link::kCanCountDuringRun;
  if (options_.sampler != nullptr) hello.capabilities |= link::kHasSampler;
  hello.max_window_frames = kMaxWindow;
  hello.session_id = session_id_;
  hello.boot_counter = info.boot_counter;
  hello.usb_speed_mbit = info.usb_speed_mbit;
  hello.tx_buffer_bytes = info.tx_buffer_bytes;
  hello.rx_buffer_bytes = info.rx_buffer_bytes;
  copy_text(hello.firmware_name, sizeof(hello.firmware_name), options_.firmware_name);
  copy_text(hello.firmware_version, sizeof(hello.firmware_version), options_.firmware_version);
  copy_text(hello.board, sizeof(hello.board), info.board);
  hello.max_frame_bytes = CommandParser::kMaxFrameBytes;
  uint8_t payload[link::Hello::kBytes];
  link::encode(hello, payload);
  messages_.push_message(link::MessageType::hello, payload, sizeof(payload));
}

void StreamDevice::on_message(const link::Message& message) {
  switch (message.type) {
    case link::MessageType::run:
      on_run(message);
      return;
    case link::MessageType::get_counters:
      if (run_active()) {
        counters_requested_ = true;
      } else {
        push_counters(link::MessageType::report);
      }
      return;
    case link::MessageType::stop:
      stop_requested_ = run_active();
      return;
    case link::MessageType::end:
      out_ended_ = true;
      return;
    case link::MessageType::sampler_request:
      on_sampler_request(message);
      return;
    default:  // device to host only
      return;
  }
}

void StreamDevice::on_sampler_request(const link::Message& message) {
  if (options_.sampler == nullptr) return;
  uint8_t reply[link::kMaxPayload];
  const size_t size =
      options_.sampler->answer(message.payload, message.payload_size, reply, sizeof(reply));
  if (size == 0) return;
  messages_.push_message(link::MessageType::sampler_reply, reply, size);
  flush_messages_ = true;
}

// Called while the verifier is at work: what would replace it waits until it has returned.
void StreamDevice::on_out_message(void* context, const link::Message& message) {
  StreamDevice& self = *static_cast<StreamDevice*>(context);
  if (message.type != link::MessageType::run) {
    self.on_message(message);
  } else if (message.payload_size >= sizeof(self.deferred_payload_)) {
    memcpy(self.deferred_payload_, message.payload, sizeof(self.deferred_payload_));
    self.deferred_run_ = true;
  }
}

void StreamDevice::on_run(const link::Message& message) {
  using link::StartStatus;
  link::RunRequest request;
  if (!link::decode(message.payload, message.payload_size, &request)) {
    if (message.payload_size < link::RunRequest::kBytes) return;
    request.session_id = link::load_le32(message.payload);
    request.run_id = link::load_le32(message.payload + 4);
    refuse_or_start(request, StartStatus::direction, "direction must be 1, 2 or 3");
  } else if (session_id_ == 0 || request.session_id != session_id_) {
    refuse_or_start(request, StartStatus::wrong_session, "not the session of the HELLO");
  } else if (request.frame_size == 0 || request.frame_size > CommandParser::kMaxFrameBytes) {
    refuse_or_start(request, StartStatus::frame_size, "frame size must be 1..16777216");
  } else if (request.frame_count == 0) {
    refuse_or_start(request, StartStatus::frame_count, "frame count must not be 0");
  } else if (request.window_frames > 0 && request.direction == link::Direction::both) {
    refuse_or_start(request, StartStatus::window, "no window with both directions");
  } else if ((message.payload[9] & ~1u) != 0) {
    refuse_or_start(request, StartStatus::flags, "unknown flag");
  } else {
    refuse_or_start(request, StartStatus::started, "");
  }
}

void StreamDevice::refuse_or_start(const link::RunRequest& request, link::StartStatus status,
                                   const char* reason) {
  // As with a probe: the host has given up the run under way and expects no REPORT of it.
  if (run_active()) end_run();
  in_.stop();
  link::Started started;
  started.session_id = request.session_id;
  started.run_id = request.run_id;
  started.status = status;
  copy_text(started.reason, sizeof(started.reason), reason);
  uint8_t payload[link::Started::kBytes];
  link::encode(started, payload);
  messages_.push_message(link::MessageType::started, payload, sizeof(payload));
  flush_messages_ = true;
  if (status == link::StartStatus::started) start_run(State::extended, request);
}

void StreamDevice::on_handshake(const link::Handshake& handshake) {
  link::RunRequest request;
  request.frame_size = handshake.frame_size;
  request.frame_count = handshake.frame_count;
  request.seed = options_.classic_seed;
  request.window_frames = handshake.acknowledge != 0 ? 1 : 0;
  request.discard_mode = options_.classic_discard_after_ms > 0;
  request.discard_after_ms = options_.classic_discard_after_ms;
  start_run(State::classic, request);
}

void StreamDevice::start_run(State state, const link::RunRequest& request) {
  run_ = request;
  state_ = state;
  ++runs_started_;
  parser_.forget_foreign();
  acks_received_ = acks_sent_ = 0;
  end_state_ = 0;
  stop_requested_ = counters_requested_ = out_ended_ = false;
  run_start_us_ = run_end_us_ = counters_sent_us_ = last_out_us_ = time_us_;
  out_settled_ = false;
  writer_.start_run(request.discard_mode, uint64_t{request.discard_after_ms} * 1000, time_us_);

  in_.start({request.seed, request.frame_size, request.frame_count}, request.discard_mode);
  if (request.direction == link::Direction::out) in_.stop();
  out_active_ = request.direction != link::Direction::in;
  if (out_active_) {
    out_.start({~request.seed, request.frame_size, request.frame_count}, this, &on_out_message);
  } else {
    out_.reset();
  }
  if (state == State::extended) {
    parser_.set_mode(ParseMode::run, 0);
  } else {
    parser_.set_mode(request.window_frames > 0 ? ParseMode::classic_ack : ParseMode::classic_run,
                     0);
  }
}

void StreamDevice::end_run() {
  ended_totals_ = writer_.totals(time_us_);
  run_end_us_ = time_us_;
  // Acknowledgements of the last frames come when nothing waits for them any more.
  const uint32_t late_acks = state_ == State::extended ? parser_.expected_acks() : 0;
  state_ = State::idle;
  parser_.set_mode(ParseMode::idle, late_acks);
}

// Acknowledges OUT frames, and notices the end of the OUT stream.
void StreamDevice::settle_out() {
  const uint64_t silence_us = time_us_ - last_out_us_;
  if (!out_settled_ && silence_us >= kOutSettleUs) {
    // A host that waits for an acknowledgement must not wait for a fault to be understood.
    out_.settle();
    out_settled_ = true;
  }
  if (run_.direction == link::Direction::out && run_.window_frames > 0) {
    const uint64_t owed = out_.frames_complete() - acks_sent_;
    const size_t free = messages_.free_bytes();
    const size_t room = free > kReserve ? free - kReserve : 0;
    const size_t count = owed < room ? static_cast<size_t>(owed) : room;
    if (count > 0 && messages_.push_bytes(link::kAckByte, count)) {
      acks_sent_ += static_cast<uint32_t>(count);
    }
    if (count < owed) return;
  }
  if (stop_requested_) {
    // What the host did not send is not lost.
    out_active_ = false;
    return;
  }
  if (!out_ended_ && silence_us < kOutSilenceUs) return;
  if (!out_ended_ && !out_.complete()) end_state_ |= link::kRunOutTimedOut;
  out_.finish();
  out_active_ = false;
}

// --- What goes to the host ---

bool StreamDevice::send() {
  if (messages_.size() > 0) return send_message();
  if (run_active() && stop_requested_) in_.stop_at_frame_end();
  if (run_active() && counters_due()) in_.cut_at_frame_end();
  if (run_active() && in_.size() == 0 && prepare_stream()) return true;
  if (in_.size() == 0) {
    if (unflushed_) port_.flush();
    unflushed_ = false;
    return false;
  }
  writing_stream_ = true;
  const WriteResult result = writer_.write_stream(in_.data(), in_.size(), time_us_);
  writing_stream_ = false;
  if (result.done() == 0) return false;
  unflushed_ = true;
  in_.advance(result);
  if (in_.size() == 0) finish_run();
  return true;
}

bool StreamDevice::send_message() {
  const size_t taken = writer_.write_message(messages_.data(), messages_.size(), time_us_);
  messages_.drop(taken);
  if (taken > 0) unflushed_ = true;
  if (messages_.size() == 0 && flush_messages_) {
    port_.flush();
    flush_messages_ = unflushed_ = false;
  }
  return taken > 0;
}

// Generates the next piece; true if there is something else to do first.
bool StreamDevice::prepare_stream() {
  if (finish_run()) return true;
  const bool due = counters_due();
  if (due && in_.between_frames()) {
    push_counters(link::MessageType::counters);
    counters_requested_ = false;
    counters_sent_us_ = time_us_;
    return true;
  }
  in_.fill(frame_limit(), due || stop_requested_);
  if (state_ == State::extended && run_.window_frames > 0) {
    parser_.set_expected_acks(in_.frames_generated() - acks_received_);
  }
  return false;
}

// Frames that may be sent so far.
uint32_t StreamDevice::frame_limit() const {
  if (run_.window_frames == 0) return run_.frame_count;
  const uint32_t limit = acks_received_ + run_.window_frames;
  return limit < acks_received_ ? run_.frame_count : limit;
}

bool StreamDevice::counters_due() const {
  if (counters_requested_) return true;
  return run_.counters_interval_ms > 0 &&
         time_us_ - counters_sent_us_ >= uint64_t{run_.counters_interval_ms} * 1000;
}

// Ends the run if nothing of it is left to do.
bool StreamDevice::finish_run() {
  if (!run_active() || !in_.finished() || out_active_) return false;
  const bool classic = state_ == State::classic;
  // The last acknowledgement must not become the first byte of the next handshake.
  if (classic && run_.window_frames > 0 && acks_received_ < run_.frame_count) return false;
  if (stop_requested_) end_state_ |= link::kRunStopped;
  if (end_state_ == 0) end_state_ = link::kRunComplete;
  end_run();
  if (!classic) push_counters(link::MessageType::report);
  return true;
}

void StreamDevice::push_counters(link::MessageType type) {
  uint8_t payload[link::DeviceCounters::kBytes];
  link::encode(counters(), payload);
  messages_.push_message(type, payload, sizeof(payload));
}

link::DeviceCounters StreamDevice::counters() const {
  const WriterTotals totals = run_active() ? writer_.totals(time_us_) : ended_totals_;
  link::DeviceCounters counters;
  counters.session_id = session_id_;
  counters.run_id = run_.run_id;
  counters.boot_counter = port_.info().boot_counter;
  counters.state = run_active() ? end_state_ | link::kRunActive : end_state_;
  counters.in_accepted_bytes = totals.accepted_bytes;
  counters.in_discarded_bytes = totals.discarded_bytes;
  counters.in_offered_bytes = totals.accepted_bytes + totals.discarded_bytes + in_.size();
  counters.short_writes = totals.short_writes;
  counters.discards = totals.discards;
  counters.longest_blocked_us = totals.longest_blocked_us;
  counters.frames_sent = in_.frames_sent();
  counters.total_blocked_us = totals.total_blocked_us;
  counters.run_us = (run_active() ? time_us_ : run_end_us_) - run_start_us_;
  counters.acks_received = acks_received_;
  out_.report(&counters);
  counters.foreign_bytes = parser_.foreign_bytes();
  memcpy(counters.first_foreign, parser_.first_foreign(), sizeof(counters.first_foreign));
  counters.dropped_handshakes = parser_.dropped_handshakes();
  return counters;
}

}  // namespace millrace::firmware
