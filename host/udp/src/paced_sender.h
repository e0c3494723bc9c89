// SPDX-License-Identifier: Apache-2.0
// Requests at fixed times: number i at start + i / rate, whatever became of those before. Times are
// absolute, so that an error never adds up; at high rates requests that are overdue leave together,
// in one call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "millrace/udp/step.h"

namespace millrace::udp {

inline constexpr size_t kBatch = 64;  // of one call

// Builds requests and hands them to a port.
class RequestWriter {
 public:
  RequestWriter(DatagramPort& port, uint32_t session, uint16_t step, uint32_t bytes);
  // Numbers first..first+count-1, now. How many were taken. REQUIRES: count <= kBatch.
  size_t send(uint64_t first, size_t count, int64_t now_ns);

 private:
  DatagramPort& port_;
  const uint32_t session_;
  const uint16_t step_;
  const uint32_t bytes_;
  std::vector<uint8_t> buffer_;
  std::vector<std::span<const uint8_t>> datagrams_;
};

class PacedSender {
 public:
  PacedSender(DatagramPort& port, const Session& session, uint16_t step, const StepPlan& plan,
              int64_t start_ns);
  bool is_done() const { return next_ == planned_; }
  int64_t next_ns() const { return time_of(next_); }
  void send_due();
  // Puts what was sent into *result.
  void finish(StepResult* result) const;
  int64_t time_of(uint64_t number) const;

 private:
  DatagramPort& port_;
  RequestWriter writer_;
  const int64_t start_ns_;
  const double interval_ns_;
  uint64_t planned_;
  uint64_t next_ = 0;
  uint64_t sent_ = 0;
  int64_t first_call_ns_ = 0, last_call_ns_ = 0;
  uint64_t late_ = 0;
  host::Histogram lateness_;
};

}  // namespace millrace::udp
