// SPDX-License-Identifier: Apache-2.0
// Makes and writes the OUT stream of spec/stream.md, and END or STOP behind it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "millrace/host/serial_run.h"
#include "millrace/link/control_message.h"
#include "millrace/link/stream_cursor.h"

namespace millrace::host {

// Used from one thread, except request_stop(), sent_bytes() and last_progress_ns().
class OutStream {
 public:
  enum class State {
    sending,      // something was written
    blocked,      // nothing could be written before the deadline
    window_full,  // waits for acknowledge()
    finished,     // END or STOP was written
    failed,       // see failure()
  };

  // Fills ack_round_trip_ns and out_write_ns of *result.
  OutStream(Transport& transport, const RunSettings& settings, RunResult* result);

  // At most one write of data.
  State step(int64_t deadline_ns);
  // `count` acknowledgements came; those nobody waits for are ignored.
  void acknowledge(uint64_t count, int64_t now_ns);
  // Ends with STOP after the frame under way.
  void request_stop() { stop_.store(true); }

  uint64_t sent_bytes() const { return sent_.load(std::memory_order_relaxed); }
  int64_t last_progress_ns() const { return last_progress_ns_.load(std::memory_order_relaxed); }
  const IoResult& failure() const { return failure_; }

 private:
  State write(std::span<const uint8_t> bytes, int64_t deadline_ns, size_t* taken);
  State write_tail(link::MessageType type, int64_t deadline_ns);
  uint64_t allowance() const;

  Transport& transport_;
  RunResult& result_;
  const uint64_t frame_size_;
  const uint64_t total_;
  const uint64_t window_;
  link::StreamCursor cursor_;
  std::vector<uint8_t> buffer_;
  size_t filled_ = 0;
  size_t used_ = 0;
  std::atomic<uint64_t> sent_{0};
  std::atomic<int64_t> last_progress_ns_;
  std::atomic<bool> stop_{false};
  uint64_t frames_sent_ = 0;
  uint64_t acked_ = 0;
  std::vector<int64_t> frame_end_ns_;  // ring of the frames not acknowledged
  uint8_t tail_[link::kMessageOverhead] = {};
  size_t tail_size_ = 0;
  size_t tail_used_ = 0;
  IoResult failure_;
};

}  // namespace millrace::host
