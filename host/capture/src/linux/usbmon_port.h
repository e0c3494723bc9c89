// SPDX-License-Identifier: Apache-2.0
// The kernel's side of a live capture, and the blocks that are made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "millrace/capture/live.h"

namespace millrace::capture {

// What one visit to the kernel's ring brought.
struct UsbmonBatch {
  // Each a header of 64 bytes with as many bytes of data behind it as the header says. Valid until
  // the next fetch().
  std::vector<std::span<const uint8_t>> events;
  int64_t room_since_us =
      0;                 // since 1970: the ring had room again, events before were kept earlier
  uint64_t dropped = 0;  // by the kernel since the last visit, for want of room
};

// REQUIRES: one thread.
class UsbmonPort {
 public:
  enum class Got { events, nothing, end };

  virtual ~UsbmonPort() = default;
  // Waits 100 ms at most. nothing: no event, but there may be some dropped. end: the bus is gone.
  virtual Got fetch(UsbmonBatch* batch) = 0;
};

std::unique_ptr<ByteSource> make_usbmon_source(std::unique_ptr<UsbmonPort> port,
                                               const LiveOptions& options);

}  // namespace millrace::capture
