// SPDX-License-Identifier: Apache-2.0
// What the devices of one folder share: the lanes of an access, and events that may never come.
#pragma once

#include <cstdint>
#include <functional>

#include "core/event_queue.h"

namespace millrace::board {

// A DMA request line: `source` as numbered by the DMAMUX (IMXRT1060RM chapter 4). Level.
using DmaLine = std::function<void(unsigned source, bool level)>;

// An access of 1, 2 or 4 bytes as part of the 32-bit register that it falls into.
struct Lanes {
  Lanes(uint32_t address, unsigned size, uint32_t value = 0)
      : offset(address & ~3u), shift(8 * (address & 3)) {
    const uint32_t all = size >= 4 ? 0xFFFFFFFFu : (1u << (8 * size)) - 1;
    mask = all << shift;
    bits = (value & all) << shift;
  }
  // The register after the access; bits outside `writable` stay.
  uint32_t merge(uint32_t before, uint32_t writable = 0xFFFFFFFF) const {
    const uint32_t allowed = mask & writable;
    return (before & ~allowed) | (bits & allowed);
  }
  // What a read of these lanes gives.
  uint32_t extract(uint32_t value) const { return (value & mask) >> shift; }

  uint32_t offset;  // of the register
  uint32_t mask = 0;
  uint32_t bits = 0;
  unsigned shift;
};

// kNever cancels. An event that is due then already keeps its place among equal times.
inline void schedule_at(EventQueue& events, Event& event, Cycles when) {
  if (when == kNever) {
    events.cancel(event);
  } else if (!event.scheduled() || event.when() != when) {
    events.schedule(event, when);
  }
}

}  // namespace millrace::board
