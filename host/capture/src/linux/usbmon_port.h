// SPDX-License-Identifier: Apache-2.0
// The kernel's side of a live capture, and the blocks that are made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/capture/live.h"

namespace millrace::capture {

class UsbmonPort {
 public:
  enum class Got { event, nothing, end };

  virtual ~UsbmonPort() = default;
  // Waits 100 ms at most. Of an event: its header of 64 bytes and up to `capacity` bytes of data,
  // whose number is in the header. end: the bus is gone.
  virtual Got get(uint8_t* header, uint8_t* data, size_t capacity) = 0;
  virtual uint64_t dropped() = 0;  // since it was opened
};

std::unique_ptr<ByteSource> make_usbmon_source(std::unique_ptr<UsbmonPort> port,
                                               const LiveOptions& options);

}  // namespace millrace::capture
