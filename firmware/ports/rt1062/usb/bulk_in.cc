// SPDX-License-Identifier: Apache-2.0
// One ring of bytes; a dTD is a piece of it, of any length and at any place. The page pointers of a
// dTD need not be consecutive, so a piece may run over the end of the ring.
//
// How large a piece is follows from the load. With fewer than two pieces under way, what is there
// leaves at once, in whole packets: the bus must not wait for more. With two or more there is time,
// and a piece grows to 16 KB: then a descriptor, its cache maintenance and its interrupt cost a
// few cycles a packet. Only the end of a transfer sends less than a packet; dQH.ZLT is set, because
// with it clear the controller adds a zero-length packet to every dTD that fills its packets, not
// to every transfer (MPC8308 manual 13.8.3.4, the same controller), so the one that ends a message
// is a dTD of its own.
//
// Interrupts: one for a large piece or when many are under way, which is what a writer may have to
// wait for. Small pieces go without.
#include "firmware/ports/rt1062/usb/bulk_in.h"

#include <string.h>

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kFewInFlight = 2;
constexpr uint32_t kManyInFlight = 8;
constexpr uint32_t kLargePiece = kMaxTransferBytes / 2;

}  // namespace

BulkIn::BulkIn(UsbHardware& hardware, UsbQueue& queue, uint8_t* ring, uint32_t ring_bytes)
    : hardware_(hardware), queue_(queue), ring_(ring), ring_bytes_(ring_bytes) {}

void BulkIn::restart(uint32_t max_packet) {
  max_packet_ = max_packet;
  queue_.restart();
  written_ = submitted_ = sent_ = in_transfer_ = 0;
  end_requested_ = false;
}

void BulkIn::discard() {
  queue_.cancel();
  written_ = submitted_ = sent_ = in_transfer_ = 0;
  end_requested_ = false;
}

uint8_t* BulkIn::reserve(size_t* size) {
  service();
  const uint32_t place = written_ & (ring_bytes_ - 1);
  const uint32_t to_end = ring_bytes_ - place;
  const uint32_t free_bytes = room();
  *size = free_bytes < to_end ? free_bytes : to_end;
  return ring_ + place;
}

void BulkIn::commit(size_t size) {
  written_ += static_cast<uint32_t>(size);
  submit();
}

size_t BulkIn::write(const uint8_t* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    size_t part;
    uint8_t* to = reserve(&part);
    if (part == 0) break;
    if (part > size - done) part = size - done;
    memcpy(to, data + done, part);
    commit(part);
    done += part;
  }
  return done;
}

void BulkIn::end_transfer() {
  end_requested_ = true;
  end_at_ = written_;
  service();
}

void BulkIn::service() {
  retire();
  submit();
}

void BulkIn::retire() {
  UsbCompletion completion;
  // What failed was not sent, but its place in the ring is free all the same.
  while (queue_.retire(&completion)) sent_ += completion.asked;
}

void BulkIn::submit() {
  if (!queue_.usable()) return;
  bool staged = false;
  // Room for the zero-length packet, too.
  while (queue_.room() >= 2) {
    const uint32_t bytes = (end_requested_ ? end_at_ : written_) - submitted_;
    const bool ends = end_requested_ && bytes <= kMaxTransferBytes;
    uint32_t piece = bytes < kMaxTransferBytes ? bytes : kMaxTransferBytes;
    if (!ends) {
      piece -= piece % max_packet_;
      if (piece == 0) break;
      if (piece < kMaxTransferBytes && queue_.in_flight() >= kFewInFlight) break;
    }
    if (piece > 0) {
      stage(piece, piece >= kLargePiece || queue_.in_flight() >= kManyInFlight);
      staged = true;
    }
    if (!ends) continue;
    end_requested_ = false;
    if (in_transfer_ > 0 && in_transfer_ % max_packet_ == 0) {
      stage(0, false);
      staged = true;
    }
    in_transfer_ = 0;
  }
  if (staged) static_cast<void>(queue_.commit());  // false: nobody wants it any more
}

void BulkIn::stage(uint32_t bytes, bool interrupt) {
  const uint32_t place = submitted_ & (ring_bytes_ - 1);
  const uint32_t base = hardware_.bus_address(ring_);
  uint32_t page[5];
  page[0] = base + place;
  for (uint32_t i = 1; i < 5; ++i) {
    page[i] = base + (((place & ~(kUsbPage - 1)) + i * kUsbPage) & (ring_bytes_ - 1));
  }
  const uint32_t to_end = ring_bytes_ - place;
  hardware_.clean(ring_ + place, bytes < to_end ? bytes : to_end);
  if (bytes > to_end) hardware_.clean(ring_, bytes - to_end);
  queue_.stage(page, bytes, interrupt);
  submitted_ += bytes;
  in_transfer_ += bytes;
}

}  // namespace millrace::rt1062
