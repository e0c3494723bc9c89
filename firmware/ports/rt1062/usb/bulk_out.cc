// SPDX-License-Identifier: Apache-2.0
// One packet a dTD. A larger dTD would need fewer descriptors, and would spare the host a PING
// after each packet (the controller says NYET to the last packet of a dTD), but software sees
// nothing of it until it is full or a short packet comes, and hosts' serial drivers send no
// zero-length packet behind a write that fills its packets: 512 bytes from Linux would wait for the
// 513th.
//
// Every packet interrupts, so that a device that sleeps hears of it at once; packets go back to the
// controller in groups, as many as one read() has emptied.
#include "firmware/ports/rt1062/usb/bulk_out.h"

#include <string.h>

namespace millrace::rt1062 {

BulkOut::BulkOut(UsbHardware& hardware, UsbQueue& queue, uint8_t* buffers, uint32_t count)
    : hardware_(hardware), queue_(queue), buffers_(buffers), count_(count) {}

void BulkOut::restart(uint32_t max_packet) {
  max_packet_ = max_packet;
  position_ = received_ = 0;
  holds_packet_ = false;
  queue_.restart();
  if (!queue_.usable()) return;
  // No line may be in the cache, where it could be written back over what the controller wrote.
  hardware_.invalidate(buffers_, size_t{count_} * kBufferBytes);
  for (uint32_t i = 0; i < count_; ++i) receive_next();
  static_cast<void>(queue_.commit());
}

// The ring of descriptors goes round as the packets are read, so slot and buffer stay together.
void BulkOut::receive_next() {
  const uint32_t slot = queue_.next_slot();
  const uint32_t first = hardware_.bus_address(buffer(slot));
  const uint32_t next = (first & ~(kUsbPage - 1)) + kUsbPage;
  const uint32_t page[5] = {first, next, next + kUsbPage, next + 2 * kUsbPage, next + 3 * kUsbPage};
  queue_.stage(page, max_packet_, true);
}

size_t BulkOut::read(uint8_t* data, size_t size) {
  size_t done = 0;
  bool emptied = false;
  while (true) {
    if (position_ < received_) {
      if (done == size) break;
      const size_t left = received_ - position_;
      const size_t part = left < size - done ? left : size - done;
      memcpy(data + done, buffer(slot_) + position_, part);
      position_ += static_cast<uint32_t>(part);
      done += part;
      continue;
    }
    if (holds_packet_) {
      holds_packet_ = false;
      receive_next();
      emptied = true;
    }
    UsbCompletion completion;
    if (done == size || !queue_.usable() || !queue_.retire(&completion)) break;
    slot_ = completion.slot;
    position_ = 0;
    received_ = completion.failed ? 0 : completion.bytes;
    if (completion.failed) ++failures_;
    holds_packet_ = true;
    // The processor may have read ahead into the buffer while it was being filled.
    hardware_.invalidate(buffer(slot_), received_);
  }
  if (emptied) static_cast<void>(queue_.commit());
  return done;
}

}  // namespace millrace::rt1062
