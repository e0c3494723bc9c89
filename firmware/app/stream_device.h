// SPDX-License-Identifier: Apache-2.0
// The measuring device of spec/classic_stream.md and spec/stream.md over a Port. No heap; about
// 16 KB with the verifier.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/app/checked_writer.h"
#include "firmware/app/command_parser.h"
#include "firmware/app/in_stream.h"
#include "firmware/app/message_queue.h"
#include "firmware/app/out_stream.h"
#include "firmware/app/sampler/sampler.h"
#include "firmware/port/port.h"
#include "millrace/link/classic_stream.h"
#include "millrace/link/control_message.h"

namespace millrace::firmware {

struct StreamDeviceOptions {
  uint32_t classic_seed = link::kDefaultSeed;  // RUN carries its own
  const char* firmware_name = "millrace-stream";
  const char* firmware_version = "0.1.0";
  bool classic_only = false;  // behaves as the published harness's device: for tests of the host
  // Classic runs discard what the port does not take for so long, as a sketch does that ignores
  // the result of Serial.write() (120 ms in the Teensyduino core). 0: back-pressure.
  uint32_t classic_discard_after_ms = 0;
  // Asked for its samples over this device's control messages; outlives it. nullptr: there is none.
  Sampler* sampler = nullptr;
};

class StreamDevice {
 public:
  StreamDevice(Port& port, const StreamDeviceOptions& options);
  StreamDevice(const StreamDevice&) = delete;
  StreamDevice& operator=(const StreamDevice&) = delete;

  // One bounded step: takes what was received, sends at most one write() of data, and calls
  // Port::idle() if there was nothing to do. Call in a loop, at least once an hour (the clock
  // wraps).
  void poll();
  // The host is gone (USB disconnected): ends the run and the session, forgets what is half
  // received and half sent.
  void link_lost();

  bool run_active() const { return state_ != State::idle; }
  // Runs started since boot. What the device offers to the port while in_stream() is of the stream
  // of the last of them, everything else is messages.
  uint32_t runs_started() const { return runs_started_; }
  bool in_stream() const { return writing_stream_; }
  // Of the run under way or the last one.
  link::DeviceCounters counters() const;

 private:
  enum class State : uint8_t { idle, classic, extended };

  bool receive();
  void receive_commands();
  void receive_out();
  void on_command(const Command& command);
  void on_message(const link::Message& message);
  static void on_out_message(void* context, const link::Message& message);
  void on_run(const link::Message& message);
  void on_sampler_request(const link::Message& message);
  void on_handshake(const link::Handshake& handshake);
  void refuse_or_start(const link::RunRequest& request, link::StartStatus status,
                       const char* reason);
  void start_run(State state, const link::RunRequest& request);
  void end_run();
  void say_hello();
  void settle_out();

  bool send();
  bool send_message();
  bool prepare_stream();
  bool finish_run();
  void push_counters(link::MessageType type);
  bool counters_due() const;
  uint32_t frame_limit() const;
  bool receives_out() const { return run_active() && out_active_; }

  Port& port_;
  StreamDeviceOptions options_;
  CheckedWriter writer_;
  CommandParser parser_;
  MessageQueue messages_;
  InStream in_;
  OutStream out_;

  uint32_t last_now_us_;
  uint64_t time_us_ = 0;  // since construction

  State state_ = State::idle;
  uint32_t session_id_ = 0;  // 0: none
  uint32_t runs_started_ = 0;
  link::RunRequest run_;        // of the run under way or the last one
  uint32_t acks_received_ = 0;  // IN
  uint32_t acks_sent_ = 0;      // OUT
  uint32_t end_state_ = 0;      // kRunStopped, kRunOutTimedOut; kRunComplete after the run
  bool stop_requested_ = false;
  bool counters_requested_ = false;
  bool out_active_ = false;  // OUT bytes are expected
  bool out_ended_ = false;   // END has come
  uint64_t last_out_us_ = 0;
  bool out_settled_ = false;  // the verifier was told of the silence
  uint64_t run_start_us_ = 0;
  uint64_t run_end_us_ = 0;
  uint64_t counters_sent_us_ = 0;
  WriterTotals ended_totals_;  // of the last run
  bool deferred_run_ = false;  // a RUN stood in an OUT stream
  uint8_t deferred_payload_[link::RunRequest::kBytes];
  bool flush_messages_ = false;  // a transfer ends behind the last queued message
  bool unflushed_ = false;
  bool writing_stream_ = false;

  size_t rx_at_ = 0;
  size_t rx_size_ = 0;
  uint8_t rx_[2048];
};

}  // namespace millrace::firmware
