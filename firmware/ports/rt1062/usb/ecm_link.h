// SPDX-License-Identifier: Apache-2.0
// Ethernet frames over CDC-ECM: each is a transfer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/port/frame_port.h"
#include "firmware/ports/rt1062/usb/cdc_network.h"
#include "firmware/ports/rt1062/usb/usb_queue.h"

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
  const firmware::FramePortCounters& counters() const override { return counters_; }

  // As those of NcmLink.
  bool has_work() const;
  void revive();

 private:
  bool in_session();
  void receive_next();
  void give_back();
  void hand_over();

  UsbHardware& hardware_;
  const CdcNetwork& function_;
  UsbQueue& out_;
  UsbQueue& in_;
  uint8_t* rx_buffers_;
  uint8_t* tx_buffers_;
  firmware::FramePortCounters counters_;
  uint32_t session_number_ = 0;
  bool link_up_ = false;  // take_link_up() has not told yet
  uint32_t packet_bytes_ = 512;

  bool holds_frame_ = false;   // the last receive() has returned one
  bool skips_to_end_ = false;  // of a frame that is too long
  uint32_t rx_backlog_ = 0;    // frames taken since there were none
  uint32_t rx_given_back_ = 0;
  uint32_t tx_next_ = 0;       // buffer, free running
  uint32_t tx_in_flight_ = 0;  // buffers staged or with the controller
  uint32_t tx_staged_ = 0;
};

}  // namespace millrace::rt1062
