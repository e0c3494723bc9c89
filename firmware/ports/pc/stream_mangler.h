// SPDX-License-Identifier: Apache-2.0
// Does to a stream of bytes what a FaultPlan says. Pure: no time, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "firmware/ports/pc/fault_plan.h"

namespace millrace::firmware {

class StreamMangler {
 public:
  explicit StreamMangler(const FaultPlan& plan);
  // False: feed() would hand everything on unchanged.
  bool alters() const { return alters_; }
  // The next byte fed is stream offset 0.
  void begin_run() { offset_ = 0; }
  // Appends what becomes of the next bytes to *out.
  void feed(const uint8_t* data, size_t size, std::vector<uint8_t>* out);

 private:
  uint8_t past(uint64_t offset) const { return history_[offset & (history_.size() - 1)]; }
  void start_events(std::vector<uint8_t>* out);
  void end_events(std::vector<uint8_t>* out);
  // Stream bytes from offset_ on that are all treated alike.
  uint64_t uniform_bytes() const;
  void emit(const uint8_t* data, size_t size, std::vector<uint8_t>* out) const;

  FaultPlan plan_;
  bool alters_ = false;
  uint64_t offset_ = 0;
  std::vector<uint8_t> history_;  // a ring of what was fed, its size a power of 2
};

}  // namespace millrace::firmware
