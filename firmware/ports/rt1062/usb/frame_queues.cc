// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/frame_queues.h"

namespace millrace::rt1062 {

void FrameQueues::restart() {
  const uint32_t state = hardware_.lock();
  session_number_ = function_.session().number;
  is_open_ = function_.session().open;
  out_.restart();
  in_.restart();
  packet_bytes_ = function_.packet_bytes();
  hardware_.unlock(state);
  backlog_ = released_ = 0;
  tx_next_ = in_flight_ = 0;
  link_up_ = is_open_;
}

bool FrameQueues::open() {
  if (!is_open_) return false;
  ++counters.link_ups;
  // No line may be in the cache, where it could be written back over what the controller wrote.
  hardware_.invalidate(rx_.bytes, size_t{rx_.count} * buffer_bytes_);
  for (uint32_t i = 0; i < rx_.count; ++i) receive_next();
  return out_.commit();
}

// A dTD has the address of its first byte, and of each page that it may go on in.
void FrameQueues::pages_of(const uint8_t* buffer, uint32_t (&page)[5]) const {
  page[0] = hardware_.bus_address(buffer);
  page[1] = (page[0] & ~(kUsbPage - 1)) + kUsbPage;
  for (size_t i = 2; i < 5; ++i) page[i] = page[i - 1] + kUsbPage;
}

// The ring of descriptors goes round as transfers are read, so slot and buffer stay together.
void FrameQueues::receive_next() {
  uint32_t page[5];
  pages_of(rx_buffer(out_.next_slot()), page);
  out_.stage(page, buffer_bytes_, true);
}

bool FrameQueues::take(UsbCompletion* completion) {
  if (!out_.retire(completion)) return false;
  lower(&counters.rx_buffers_low, rx_.count - ++backlog_);
  if (completion->failed) {
    ++counters.rx_failed_transfers;
  } else {
    // The processor may have read ahead into the buffer while it was being filled.
    hardware_.invalidate(rx_buffer(completion->slot), completion->bytes);
  }
  return true;
}

void FrameQueues::retire_sent() {
  UsbCompletion completion;
  while (in_.retire(&completion)) {
    if (completion.failed) ++counters.tx_failed_transfers;
    if (completion.asked > 0) --in_flight_;
  }
}

void FrameQueues::stage(uint32_t bytes, bool interrupts, bool needs_empty_packet) {
  uint8_t* buffer = tx_buffer();
  ++tx_next_;
  hardware_.clean(buffer, bytes);
  uint32_t page[5];
  pages_of(buffer, page);
  in_.stage(page, bytes, interrupts);
  if (needs_empty_packet) in_.stage(page, 0, false);
  ++in_flight_;
  ++counters.tx_transfers;
  lower(&counters.tx_buffers_low, tx_.count - in_flight_);
}

void FrameQueues::revive() {
  const bool out = out_.revive();
  const bool in = in_.revive();
  static_cast<void>(out);
  static_cast<void>(in);
}

}  // namespace millrace::rt1062
