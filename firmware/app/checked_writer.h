// SPDX-License-Identifier: Apache-2.0
// Hands bytes to a Port and never forgets what the port did not take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/port/port.h"

namespace millrace::firmware {

// What became of the bytes offered in one call; the rest is to be offered again.
struct WriteResult {
  size_t accepted = 0;   // taken by the USB stack
  size_t discarded = 0;  // thrown away in discard mode
  size_t done() const { return accepted + discarded; }
};

struct WriterTotals {
  uint64_t accepted_bytes = 0;
  uint64_t discarded_bytes = 0;
  uint32_t short_writes = 0;
  uint32_t discards = 0;
  uint32_t longest_blocked_us = 0;
  uint64_t total_blocked_us = 0;
};

class CheckedWriter {
 public:
  explicit CheckedWriter(Port& port) : port_(port) {}

  // Totals from 0. With `discard`, stream bytes that the port has not taken for
  // `discard_after_us` are thrown away, as a sketch does that ignores what Serial.write() returns.
  void start_run(bool discard, uint64_t discard_after_us, uint64_t now_us);

  // One write() of the port. A message is never discarded and its bytes are not counted.
  WriteResult write_stream(const uint8_t* data, size_t size, uint64_t now_us);
  size_t write_message(const uint8_t* data, size_t size, uint64_t now_us);

  // True from the first write that took less than it was offered until one takes everything.
  bool blocked() const { return blocked_; }
  // Includes the time blocked until now.
  WriterTotals totals(uint64_t now_us) const;

 private:
  size_t write(const uint8_t* data, size_t size, uint64_t now_us);

  Port& port_;
  WriterTotals totals_;
  bool blocked_ = false;
  uint64_t blocked_since_us_ = 0;
  bool discard_ = false;
  uint64_t discard_after_us_ = 0;
  bool stuck_ = false;  // discard mode: thrown away since the port last took anything
  uint64_t progress_us_ = 0;
};

}  // namespace millrace::firmware
