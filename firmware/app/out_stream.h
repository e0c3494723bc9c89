// SPDX-License-Identifier: Apache-2.0
// The OUT stream of one run: verified as it arrives, with the messages that stand in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/stream_verifier.h"

namespace millrace::firmware {

class OutStream {
 public:
  // Messages found in the stream go to `message_sink` during feed() and finish().
  void start(const link::StreamShape& shape, void* context,
             void (*message_sink)(void* context, const link::Message& message));
  // No stream: report() says 0 for everything.
  void reset() { started_ = false; }
  // These REQUIRE start() before.
  void feed(const uint8_t* data, size_t size) { verifier().feed(data, size); }
  void settle() { verifier().settle(); }
  void finish() { verifier().finish(); }
  bool complete() const { return verifier().complete(); }
  uint64_t frames_complete() const { return verifier().frames_complete(); }
  // Fills in the out_ counters.
  void report(link::DeviceCounters* counters) const;

 private:
  static void on_fault(void* context, const link::Fault& fault);
  static void on_message(void* context, const link::Message& message);
  link::StreamVerifier& verifier() { return *reinterpret_cast<link::StreamVerifier*>(storage_); }
  const link::StreamVerifier& verifier() const {
    return *reinterpret_cast<const link::StreamVerifier*>(storage_);
  }

  // The verifier is made anew for each run, in place: no heap.
  alignas(link::StreamVerifier) uint8_t storage_[sizeof(link::StreamVerifier)];
  bool started_ = false;
  void* context_ = nullptr;
  void (*message_sink_)(void*, const link::Message&) = nullptr;
  link::FaultKind first_fault_kind_ = link::FaultKind::none;
  uint64_t first_fault_offset_ = 0;
};

}  // namespace millrace::firmware
