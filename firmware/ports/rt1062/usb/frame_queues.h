// SPDX-License-Identifier: Apache-2.0
// What CDC-NCM and CDC-ECM have in common: the session with the host, and a ring of buffers in each
// direction, each buffer a transfer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/port/frame_port.h"
#include "firmware/ports/rt1062/usb/cdc_network.h"
#include "firmware/ports/rt1062/usb/usb_queue.h"

namespace millrace::rt1062 {

inline void raise(uint16_t* max, uint32_t value) {
  if (value > *max) *max = static_cast<uint16_t>(value);
}
inline void lower(uint16_t* min, uint32_t value) {
  if (value < *min) *min = static_cast<uint16_t>(value);
}

struct FrameBuffers {
  uint8_t* bytes = nullptr;  // of all of them, one behind the other; may be cached
  uint32_t count = 0;
};

// Used by one thread.
class FrameQueues {
 public:
  // All outlive this. `buffer_bytes` is a multiple of the packet; one lies in at most five pages.
  // Numbers of buffers are powers of two. The OUT endpoint has as many dTDs as there are `rx`
  // buffers, which nobody else writes.
  FrameQueues(UsbHardware& hardware, const CdcNetwork& function, UsbQueue& out, UsbQueue& in,
              FrameBuffers rx, FrameBuffers tx, uint32_t buffer_bytes)
      : hardware_(hardware),
        function_(function),
        out_(out),
        in_(in),
        rx_(rx),
        tx_(tx),
        buffer_bytes_(buffer_bytes) {
    counters.rx_buffers = counters.rx_buffers_low = static_cast<uint16_t>(rx.count);
    counters.tx_buffers = counters.tx_buffers_low = static_cast<uint16_t>(tx.count);
  }

  // The host has configured, reset or left the device since restart(): nothing that was under way
  // counts any more.
  bool is_new_session() const { return function_.session().number != session_number_; }
  bool usable() const { return out_.usable(); }
  void restart();
  // Gives all buffers to the controller, if there is a link. REQUIRES: restart().
  bool open();
  // Once a link.
  bool take_link_up() {
    const bool up = link_up_;
    link_up_ = false;
    return up;
  }

  // The oldest transfer of the host, if there is one; its bytes can be read when it did not fail.
  bool take(UsbCompletion* completion);
  uint8_t* rx_buffer(uint32_t slot) const { return rx_.bytes + size_t{slot} * buffer_bytes_; }
  bool has_received() const { return out_.has_completed(); }
  // take() found nothing.
  void caught_up() { backlog_ = 0; }
  // The buffer that was taken first is free; the controller gets it with give_back().
  void release() {
    receive_next();
    ++released_;
  }
  uint32_t released() const { return released_; }
  void give_back() {
    if (released_ == 0) return;
    released_ = 0;
    static_cast<void>(out_.commit());  // false: is_new_session() will say so
  }

  // Takes back what the host has read.
  void retire_sent();
  bool has_sent() const { return in_.has_completed(); }
  // A buffer and its dTDs can be staged.
  bool has_room() const { return in_flight_ != tx_.count && in_.room() >= 2; }
  uint8_t* tx_buffer() const {
    return tx_.bytes + size_t{tx_next_ & (tx_.count - 1)} * buffer_bytes_;
  }
  // tx_buffer() with `bytes` in it leaves with the next hand_over().
  void stage(uint32_t bytes, bool interrupts, bool needs_empty_packet);
  void hand_over() { static_cast<void>(in_.commit()); }
  uint32_t in_flight() const { return in_flight_; }
  uint32_t packet_bytes() const { return packet_bytes_; }

  // As BulkIn::revive().
  void revive();

  firmware::FramePortCounters counters;

 private:
  void receive_next();
  void pages_of(const uint8_t* buffer, uint32_t (&page)[5]) const;

  UsbHardware& hardware_;
  const CdcNetwork& function_;
  UsbQueue& out_;
  UsbQueue& in_;
  FrameBuffers rx_, tx_;
  uint32_t buffer_bytes_;
  uint32_t session_number_ = 0;
  bool is_open_ = false;
  bool link_up_ = false;  // take_link_up() has not told yet
  uint32_t packet_bytes_ = 512;
  uint32_t backlog_ = 0;    // transfers taken since there were none
  uint32_t released_ = 0;   // and not given back
  uint32_t tx_next_ = 0;    // buffer, free running
  uint32_t in_flight_ = 0;  // buffers staged or with the controller
};

}  // namespace millrace::rt1062
