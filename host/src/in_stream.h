// SPDX-License-Identifier: Apache-2.0
// The IN stream as the host sees it: verification, and every figure that is taken from the arrival
// of blocks. No I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "block_reader.h"
#include "millrace/host/serial_run.h"
#include "millrace/link/stream_verifier.h"

namespace millrace::host {

// Keeps at most 1,000 samples of a run of any length, evenly spaced.
class CountersThinner {
 public:
  void add(std::vector<RunResult::CountersSample>* samples,
           const RunResult::CountersSample& sample);

 private:
  uint64_t every_ = 1;
  uint64_t seen_ = 0;
};

// Whether counters belong to the run `run_id` of the HELLO in `result`, not to an earlier one.
bool are_of_run(const link::DeviceCounters& counters, const RunResult& result, uint32_t run_id);
// A REPORT ends a run; one that says "still running" does not.
bool is_final(const link::Message& message, const link::DeviceCounters& counters);

class InStream {
 public:
  // Fills reads, frame_delay_ns, ack_round_trip_ns, faults, counters and counters_during_run of
  // *result while blocks come. `start_ns`: when the run was asked for. `run_id`: 0 in the classic
  // protocol, where the only message of interest is a HELLO that comes late.
  // `before_search` is called before a search for the place where the stream goes on, which may
  // take long.
  InStream(const RunSettings& settings, uint32_t run_id, int64_t start_ns, RunResult* result,
           std::function<void()> before_search);
  InStream(const InStream&) = delete;
  InStream& operator=(const InStream&) = delete;

  void take(const Block& block);
  // What the dialogue had read beyond its last message, with reads of its own size: verified and
  // timed as a block, but no read of this run's.
  void take_rest(const Block& block);
  // Settles the verifier; fills in_totals. What is missing at the end is a fault until
  // count_tail_as_not_delivered() says otherwise.
  void finish();

  // Frames completed and not yet acknowledged; they count as acknowledged from now on.
  uint64_t take_acks_due();
  // Whether `block`, not taken yet, ends the one frame that is not acknowledged: by its size, in a
  // stream without faults so far. False without acknowledgements.
  bool ends_frame(const Block& block) const;
  // Acknowledges the frame under way although it has not come whole. False: all frames are.
  bool acknowledge_early();
  bool complete() const { return verifier_.complete(); }
  bool report_came() const { return report_came_; }
  bool hello_came() const { return hello_came_; }
  uint64_t faults() const { return verifier_.totals().faults; }
  uint64_t received_bytes() const { return verifier_.totals().received_bytes; }
  uint64_t frames_complete() const { return verifier_.frames_complete(); }
  // Arrival of the last block; of the last block that held stream bytes; of the last one that
  // brought the stream forward. start_ns before that.
  int64_t last_arrival_ns() const { return last_arrival_ns_; }
  int64_t last_stream_ns() const { return last_stream_ns_; }
  int64_t last_progress_ns() const { return last_progress_ns_; }

 private:
  static void on_fault(void* self, const link::Fault& fault);
  static void on_message(void* self, const link::Message& message);
  void count_read(size_t size);
  void count_silence(const Block& block);
  void verify(const Block& block);
  void feed(std::span<const uint8_t> bytes);
  void count_frames(int64_t now_ns);

  RunResult& result_;
  const uint32_t run_id_;
  const uint32_t window_;
  const uint32_t read_size_;
  const uint64_t frame_size_;
  const uint64_t frame_count_;
  const int64_t start_ns_;
  const std::function<void()> before_search_;
  link::StreamVerifier verifier_;
  bool report_came_ = false;
  bool hello_came_ = false;
  uint64_t frames_ = 0;
  uint64_t acked_ = 0;
  int64_t last_frame_ns_;
  int64_t last_arrival_ns_;
  int64_t last_stream_ns_;
  int64_t last_progress_ns_;
  std::vector<int64_t> frame_end_ns_;  // ring of the last window_ frame ends
  CountersThinner thinner_;
};

// The run ended before the stream did (the device went away, restarted or never answered, or this
// host stopped it): what was still to come was not lost.
void count_tail_as_not_delivered(RunResult* result);

}  // namespace millrace::host
