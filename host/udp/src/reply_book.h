// SPDX-License-Identifier: Apache-2.0
// What came back of one step's requests.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/udp/payload.h"
#include "millrace/udp/step.h"

namespace millrace::udp {

class ReplyBook {
 public:
  // `result` outlives this. Replies until `end_ns` count for the rate.
  ReplyBook(uint32_t session, uint16_t step, const StepPlan& plan, int64_t end_ns,
            StepResult* result)
      : session_(session), step_(step), plan_(plan), end_ns_(end_ns), result_(result) {}

  // The number of the request that this answers, for the first time; or -1.
  int64_t take(const Arrival& arrival);
  // When no more come.
  void finish();
  bool is_answered(uint64_t sequence) const {
    return sequence / 64 < bits_.size() && (bits_[sequence / 64] >> sequence % 64 & 1) != 0;
  }
  uint64_t replies() const { return replies_; }
  int64_t last_ns() const { return last_ns_; }  // when the last one came; -1: none did
  uint64_t replies_in_window() const { return in_window_; }

 private:
  bool mark(uint64_t sequence);  // false: was there before

  const uint32_t session_;
  const uint16_t step_;
  const StepPlan& plan_;
  const int64_t end_ns_;
  StepResult* const result_;
  std::vector<uint64_t> bits_;  // a reply came, in time or late
  uint64_t replies_ = 0;        // requests with a reply
  uint64_t in_window_ = 0;
  int64_t highest_ = -1, last_ns_ = -1;
  host::Histogram first_, last_;  // round trips of the requests of the first and last quarter
};

}  // namespace millrace::udp
