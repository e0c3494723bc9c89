// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/message_queue.h"

#include <string.h>

namespace millrace::firmware {

bool MessageQueue::push_message(link::MessageType type, const uint8_t* payload, size_t size) {
  compact();
  const size_t written = link::encode_message(type, payload, size, buffer_ + end_, kBytes - end_);
  end_ += written;
  return written > 0;
}

bool MessageQueue::push_bytes(uint8_t value, size_t count) {
  compact();
  if (count > kBytes - end_) return false;
  memset(buffer_ + end_, value, count);
  end_ += count;
  return true;
}

void MessageQueue::drop(size_t bytes) {
  begin_ += bytes;
  if (begin_ == end_) clear();
}

void MessageQueue::compact() {
  if (begin_ == 0) return;
  memmove(buffer_, buffer_ + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
}

}  // namespace millrace::firmware
