// SPDX-License-Identifier: Apache-2.0
// Back-pressure is the rule: what the port does not take is offered again until it does.
//
// Discard mode reproduces what a sketch on the Teensyduino core does that ignores the result of
// Serial.write(). The core waits 120 ms for a transmit buffer, then returns a short count and
// remembers it: until a buffer becomes free every further write returns at once. The sketch goes
// on to its next frame each time, so the rest of one frame and then whole frames vanish at the
// speed of the CPU. The first write that is taken again, even in part, ends that and starts the
// 120 ms anew.
#include "firmware/app/checked_writer.h"

namespace millrace::firmware {

void CheckedWriter::start_run(bool discard, uint64_t discard_after_us, uint64_t now_us) {
  totals_ = WriterTotals();
  blocked_ = false;
  discard_ = discard;
  discard_after_us_ = discard_after_us;
  stuck_ = false;
  progress_us_ = now_us;
}

size_t CheckedWriter::write(const uint8_t* data, size_t size, uint64_t now_us) {
  size_t taken = port_.write(data, size);
  if (taken > size) taken = size;
  if (taken < size) {
    ++totals_.short_writes;
    if (!blocked_) {
      blocked_ = true;
      blocked_since_us_ = now_us;
    }
  } else if (blocked_) {
    totals_ = totals(now_us);
    blocked_ = false;
  }
  if (taken > 0) {
    progress_us_ = now_us;
    stuck_ = false;
  }
  return taken;
}

WriteResult CheckedWriter::write_stream(const uint8_t* data, size_t size, uint64_t now_us) {
  // The time without progress runs only while there is something to send.
  if (!blocked_) progress_us_ = now_us;
  WriteResult result;
  result.accepted = write(data, size, now_us);
  totals_.accepted_bytes += result.accepted;
  if (!discard_ || result.accepted == size) return result;
  if (result.accepted == 0 && (stuck_ || now_us - progress_us_ >= discard_after_us_)) {
    stuck_ = true;
    result.discarded = size;
    totals_.discarded_bytes += size;
    ++totals_.discards;
  }
  return result;
}

size_t CheckedWriter::write_message(const uint8_t* data, size_t size, uint64_t now_us) {
  if (!blocked_) progress_us_ = now_us;
  return write(data, size, now_us);
}

WriterTotals CheckedWriter::totals(uint64_t now_us) const {
  WriterTotals result = totals_;
  if (!blocked_) return result;
  const uint64_t blocked_us = now_us - blocked_since_us_;
  result.total_blocked_us += blocked_us;
  if (blocked_us > result.longest_blocked_us) {
    result.longest_blocked_us =
        blocked_us > 0xffffffffu ? 0xffffffffu : static_cast<uint32_t>(blocked_us);
  }
  return result;
}

}  // namespace millrace::firmware
