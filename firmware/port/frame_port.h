// SPDX-License-Identifier: Apache-2.0
// What the network stack needs of a device: Ethernet frames both ways.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::firmware {

struct Frame {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

// What a port counts by itself; free running. A transfer is what the bus moves in one piece: an NTB
// of CDC-NCM, or a frame.
struct FramePortCounters {
  uint32_t rx_transfers = 0;
  uint32_t rx_frames = 0;
  uint32_t rx_bad_transfers = 0;      // malformed; frames in front of the fault count as received
  uint32_t rx_failed_transfers = 0;   // errors of the bus or of memory
  uint32_t rx_missing_transfers = 0;  // by their sequence numbers
  uint32_t tx_transfers = 0;
  uint32_t tx_frames = 0;
  uint32_t tx_failed_transfers = 0;
  uint16_t rx_frames_max = 0;  // in one transfer
  uint16_t tx_frames_max = 0;
  uint16_t rx_buffers = 0;
  uint16_t tx_buffers = 0;
  uint16_t rx_buffers_low = 0;  // fewest that were empty
  uint16_t tx_buffers_low = 0;
  uint32_t tx_waits = 0;  // can_send() was false when it was asked
  uint32_t link_ups = 0;
};

// Used by one thread.
class FramePort {
 public:
  // True once each time the host has brought the link up; whatever was queued before is lost.
  virtual bool take_link_up() = 0;

  // The next frame received, from the destination address on, without its check sequence; it stays
  // until the next call. False: none now.
  virtual bool receive(Frame* out) = 0;

  // There is room for a frame of 1,514 bytes.
  virtual bool can_send() = 0;
  // Where a frame of up to `max_bytes` may be written; nullptr: there is no room. Only the last
  // call before commit() counts. After can_send() there is room for one.
  virtual uint8_t* reserve(size_t max_bytes) = 0;
  // That frame is written, `bytes` long, and will be sent.
  virtual void commit(size_t bytes) = 0;
  // Nothing more is to come now: what was committed leaves as soon as the bus can take it.
  virtual void flush() = 0;

  virtual const FramePortCounters& counters() const = 0;

 protected:
  ~FramePort() = default;
};

}  // namespace millrace::firmware
