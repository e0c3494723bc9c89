// SPDX-License-Identifier: Apache-2.0
// A byte stream from the host over one bulk endpoint.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/ports/rt1062/usb/usb_queue.h"

namespace millrace::rt1062 {

// Used by one thread.
class BulkOut {
 public:
  static constexpr uint32_t kBufferBytes = 512;

  // `buffers`: one of kBufferBytes for each of the `count` descriptors of `queue`, aligned to 32
  // bytes, not written by anybody else; may be cached. All outlive this.
  BulkOut(UsbHardware& hardware, UsbQueue& queue, uint8_t* buffers, uint32_t count);

  // Empty; ready to receive packets of `max_packet` <= kBufferBytes bytes. Call when the session
  // has changed.
  void restart(uint32_t max_packet);
  // Takes what has been received, 0..size bytes. Never waits.
  size_t read(uint8_t* data, size_t size);
  // read() would return something, or find an empty packet.
  bool readable() const { return position_ < received_ || queue_.has_completed(); }
  // As BulkIn::revive().
  void revive() { revived_ += queue_.revive() ? 1 : 0; }

  // Packets lost to errors of the bus or of memory.
  uint32_t failures() const { return failures_; }
  uint32_t revived() const { return revived_; }

 private:
  uint8_t* buffer(uint32_t slot) const { return buffers_ + size_t{slot} * kBufferBytes; }
  void receive_next();

  UsbHardware& hardware_;
  UsbQueue& queue_;
  uint8_t* buffers_;
  uint32_t count_;
  uint32_t max_packet_ = kBufferBytes;
  // The packet that is being read.
  uint32_t slot_ = 0;
  uint32_t position_ = 0;
  uint32_t received_ = 0;
  bool holds_packet_ = false;
  uint32_t failures_ = 0;
  uint32_t revived_ = 0;
};

}  // namespace millrace::rt1062
