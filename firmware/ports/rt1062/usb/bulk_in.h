// SPDX-License-Identifier: Apache-2.0
// A byte stream to the host over one bulk endpoint.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/ports/rt1062/usb/usb_queue.h"

namespace millrace::rt1062 {

// Used by one thread. Bytes are written once, into the ring that the controller sends them from.
class BulkIn {
 public:
  // `ring`: `ring_bytes` bytes, a power of two from 32 KB on, aligned to 4 KB; may be cached. All
  // outlive this.
  BulkIn(UsbHardware& hardware, UsbQueue& queue, uint8_t* ring, uint32_t ring_bytes);

  // Empty; packets of `max_packet` bytes. Call when the session has changed.
  void restart(uint32_t max_packet);

  // Where the next bytes may be written, `*size` of them: 0 if the ring is full or the session is
  // over. `*size` can be less than what is free: what is left then comes with the next call.
  uint8_t* reserve(size_t* size);
  // The first `size` bytes of that place are written. They leave when there are enough of them or
  // too little is under way; for the rest, end_transfer().
  void commit(size_t size);
  // Copies what fits; returns how much that is.
  size_t write(const uint8_t* data, size_t size);

  // Everything written so far leaves, and the host's transfer ends: with a short packet, or a
  // zero-length one if it fills its packets exactly.
  void end_transfer();
  // Takes back what the controller has sent, and gives it what waits. Call often; every call above
  // does so.
  void service();
  // Throws away what has not been sent.
  void discard();
  // To be called when nothing has moved for long: makes up for a descriptor that the controller has
  // missed.
  void revive() { revived_ += queue_.revive() ? 1 : 0; }

  // Bytes written that the controller does not have yet, and bytes that fit.
  uint32_t waiting() const { return written_ - submitted_; }
  uint32_t room() const { return queue_.usable() ? ring_bytes_ - (written_ - sent_) : 0; }
  // service() would find something sent.
  bool has_completed() const { return queue_.has_completed(); }
  uint32_t revived() const { return revived_; }

 private:
  void retire();
  void submit();
  void stage(uint32_t bytes, bool interrupt);

  UsbHardware& hardware_;
  UsbQueue& queue_;
  uint8_t* ring_;
  uint32_t ring_bytes_;
  uint32_t max_packet_ = 512;
  // Bytes, free running; the place in the ring is the remainder.
  uint32_t written_ = 0;
  uint32_t submitted_ = 0;
  uint32_t sent_ = 0;
  uint32_t in_transfer_ = 0;  // submitted since the last end
  bool end_requested_ = false;
  uint32_t end_at_ = 0;
  uint32_t revived_ = 0;
};

}  // namespace millrace::rt1062
