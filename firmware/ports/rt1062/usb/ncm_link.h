// SPDX-License-Identifier: Apache-2.0
// Ethernet frames over CDC-NCM: several to a transfer in both directions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/port/frame_port.h"
#include "firmware/ports/rt1062/usb/frame_queues.h"
#include "millrace/link/ntb16.h"

namespace millrace::rt1062 {

// Used by one thread.
class NcmLink final : public firmware::FramePort {
 public:
  static constexpr uint32_t kNtbBytes = 8192;  // both ways; a multiple of the packet
  static constexpr uint32_t kRxBuffers = 8;    // and dTDs of the OUT endpoint
  static constexpr uint32_t kTxBuffers = 4;
  static constexpr uint32_t kTxTransfers = 2 * kTxBuffers;  // each can need an empty one behind it

  static link::NtbParameters parameters();

  // Buffers of kNtbBytes each, aligned to 32 bytes, written by nobody else; may be cached. All
  // outlive this.
  NcmLink(UsbHardware& hardware, const CdcNetwork& function, UsbQueue& out, UsbQueue& in,
          uint8_t* rx_buffers, uint8_t* tx_buffers);

  bool take_link_up() override;
  bool receive(firmware::Frame* out) override;
  bool can_send() override;
  uint8_t* reserve(size_t max_bytes) override;
  void commit(size_t bytes) override;
  void flush() override;
  const firmware::FramePortCounters& counters() const override { return queues_.counters; }

  // receive() could return true, or something waits to be sent and now can be. For a check with
  // interrupts locked out, before a sleep.
  bool has_work() const;
  // As BulkIn::revive().
  void revive() { queues_.revive(); }

 private:
  bool in_session();
  bool next_transfer();
  bool begin();
  void submit();

  FrameQueues queues_;
  const CdcNetwork& function_;
  link::NtbLimits limits_;

  link::Ntb16Reader reader_;
  link::NtbSequence rx_sequence_;
  const uint8_t* rx_data_ = nullptr;  // of the NTB that is being read; nullptr: none
  uint32_t rx_frames_in_transfer_ = 0;

  link::Ntb16Writer writer_;
  bool building_ = false;
  uint16_t tx_sequence_ = 0;
};

}  // namespace millrace::rt1062
