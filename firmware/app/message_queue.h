// SPDX-License-Identifier: Apache-2.0
// Answers that wait to be sent: control messages and acknowledgement bytes, in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/control_message.h"

namespace millrace::firmware {

class MessageQueue {
 public:
  static constexpr size_t kBytes = 4 * link::kMaxMessage;

  // Room for at least one more message of the largest size. A device takes no further input until
  // there is, so a push never fails.
  bool has_room() const { return kBytes - (end_ - begin_) >= link::kMaxMessage; }
  size_t free_bytes() const { return kBytes - (end_ - begin_); }

  // Both return false, and queue nothing, when there is no room.
  bool push_message(link::MessageType type, const uint8_t* payload, size_t size);
  bool push_bytes(uint8_t value, size_t count);

  const uint8_t* data() const { return buffer_ + begin_; }
  size_t size() const { return end_ - begin_; }
  void drop(size_t bytes);
  void clear() { begin_ = end_ = 0; }

 private:
  void compact();

  uint8_t buffer_[kBytes];
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace millrace::firmware
