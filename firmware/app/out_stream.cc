// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/out_stream.h"

namespace millrace::firmware {
namespace {

// Smaller C++ libraries (Zephyr's) have no placement new, so this is our own.
struct Place {
  void* at;
};

}  // namespace
}  // namespace millrace::firmware

void* operator new(size_t, millrace::firmware::Place place) noexcept { return place.at; }

namespace millrace::firmware {

// Nothing between a host and a device holds more than some 100 KB, and a search costs the
// Cortex-M7 about 20 cycles a word: 35 ms for this much.
constexpr uint64_t kSearchBytes = 4u << 20;

void OutStream::start(const link::StreamShape& shape, void* context,
                      void (*message_sink)(void* context, const link::Message& message)) {
  context_ = context;
  message_sink_ = message_sink;
  first_fault_kind_ = link::FaultKind::none;
  first_fault_offset_ = 0;
  link::VerifierSink sink;
  sink.context = this;
  sink.on_fault = &OutStream::on_fault;
  sink.on_message = &OutStream::on_message;
  link::VerifierLimits limits;
  limits.search_bytes = kSearchBytes;
  // Over the last one: it needs no destructor (out_device_test.cc).
  new (Place{storage_}) link::StreamVerifier(shape, sink, limits);
  started_ = true;
}

void OutStream::on_fault(void* context, const link::Fault& fault) {
  OutStream& self = *static_cast<OutStream*>(context);
  if (self.first_fault_kind_ != link::FaultKind::none) return;
  self.first_fault_kind_ = fault.kind;
  self.first_fault_offset_ = fault.stream_offset;
}

void OutStream::on_message(void* context, const link::Message& message) {
  OutStream& self = *static_cast<OutStream*>(context);
  self.message_sink_(self.context_, message);
}

void OutStream::report(link::DeviceCounters* counters) const {
  if (!started_) return;
  const link::VerifierTotals& totals = verifier().totals();
  counters->out_frames = static_cast<uint32_t>(verifier().frames_complete());
  counters->out_received_bytes = totals.received_bytes - totals.message_bytes;
  counters->out_verified_bytes = totals.verified_bytes;
  counters->out_lost_bytes = totals.lost_bytes;
  counters->out_duplicated_bytes = totals.duplicated_bytes;
  counters->out_inserted_bytes = totals.inserted_bytes;
  counters->out_altered_bytes = totals.altered_bytes;
  counters->out_faults = static_cast<uint32_t>(totals.faults);
  counters->out_first_fault_kind = static_cast<uint32_t>(first_fault_kind_);
  counters->out_first_fault_offset = first_fault_offset_;
}

}  // namespace millrace::firmware
