// SPDX-License-Identifier: Apache-2.0
// Ethernet frames over CDC-ECM: each is a transfer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/port/frame_port.h"
#include "firmware/ports/rt1062/usb/frame_queues.h"

namespace millrace::rt1062 {

// Used by one thread.
class EcmLink final : public firmware::FramePort {
 public:
  static constexpr uint32_t kBufferBytes = 2048;  // a multiple of the packet above 1514
  static constexpr uint32_t kRxBuffers = 32;      // and dTDs of the OUT endpoint
  static constexpr uint32_t kTxBuffers = 32;
  static constexpr uint32_t kTxTransfers = 2 * kTxBuffers;  // each can need an empty one behind it

  // Buffers of kBufferBytes each, aligned to 2048 bytes, written by nobody else; may be cached. All
  // outlive this.
  EcmLink(UsbHardware& hardware, const CdcNetwork& function, UsbQueue& out, UsbQueue& in,
          uint8_t* rx_buffers, uint8_t* tx_buffers);

  bool take_link_up() override;
  bool receive(firmware::Frame* out) override;
  bool can_send() override;
  uint8_t* reserve(size_t max_bytes) override;
  void commit(size_t bytes) override;
  void flush() override;
  const firmware::FramePortCounters& counters() const override { return queues_.counters; }

  // As those of NcmLink.
  bool has_work() const;
  void revive() { queues_.revive(); }

 private:
  bool in_session();
  void hand_over();

  FrameQueues queues_;
  bool holds_frame_ = false;   // the last receive() has returned one
  bool skips_to_end_ = false;  // of a frame that is too long
  uint32_t tx_staged_ = 0;     // and not handed over
};

}  // namespace millrace::rt1062
