// SPDX-License-Identifier: Apache-2.0
// A dTD is a frame. From the host it has room for more than the longest, so that every frame ends
// it with a short packet; one that fills it is not a frame, and all that follows up to the next
// short packet belongs to it. (Linux sends a frame of 512 or 1,024 bytes with one more zero byte
// rather than an empty packet; the length in the IP header counts.) To the host a frame that fills
// its packets is followed by an empty dTD.
#include "firmware/ports/rt1062/usb/ecm_link.h"

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kGiveBackAt = EcmLink::kRxBuffers / 4;
constexpr uint32_t kHandOverAt = 4;
constexpr uint32_t kManyInFlight = EcmLink::kTxBuffers / 2;
static_assert(kUsbPage % EcmLink::kBufferBytes == 0, "a buffer lies in one page");

void lower(uint16_t* min, uint32_t value) {
  if (value < *min) *min = static_cast<uint16_t>(value);
}

}  // namespace

EcmLink::EcmLink(UsbHardware& hardware, const CdcNetwork& function, UsbQueue& out, UsbQueue& in,
                 uint8_t* rx_buffers, uint8_t* tx_buffers)
    : hardware_(hardware),
      function_(function),
      out_(out),
      in_(in),
      rx_buffers_(rx_buffers),
      tx_buffers_(tx_buffers) {
  counters_.rx_buffers = counters_.rx_buffers_low = kRxBuffers;
  counters_.tx_buffers = counters_.tx_buffers_low = kTxBuffers;
}

// False: there is no link. Starts over when there is a new one.
bool EcmLink::in_session() {
  if (function_.session().number == session_number_) return out_.usable();
  const uint32_t state = hardware_.lock();
  session_number_ = function_.session().number;
  const bool open = function_.session().open;
  out_.restart();
  in_.restart();
  packet_bytes_ = function_.packet_bytes();
  hardware_.unlock(state);
  holds_frame_ = skips_to_end_ = false;
  rx_backlog_ = rx_given_back_ = 0;
  tx_next_ = tx_in_flight_ = tx_staged_ = 0;
  link_up_ = open;
  if (!open) return false;
  ++counters_.link_ups;
  // No line may be in the cache, where it could be written back over what the controller wrote.
  hardware_.invalidate(rx_buffers_, size_t{kRxBuffers} * kBufferBytes);
  for (uint32_t i = 0; i < kRxBuffers; ++i) receive_next();
  return out_.commit();
}

bool EcmLink::take_link_up() {
  const bool up = in_session() && link_up_;
  link_up_ = false;
  return up;
}

// The ring of descriptors goes round as frames are read, so slot and buffer stay together.
void EcmLink::receive_next() {
  const uint32_t start =
      hardware_.bus_address(rx_buffers_ + size_t{out_.next_slot()} * kBufferBytes);
  const uint32_t page[5] = {start, start, start, start, start};
  out_.stage(page, kBufferBytes, true);
}

void EcmLink::give_back() {
  if (rx_given_back_ == 0) return;
  rx_given_back_ = 0;
  static_cast<void>(out_.commit());  // false: in_session() will see it
}

bool EcmLink::receive(firmware::Frame* out) {
  if (!in_session()) return false;
  if (holds_frame_) {
    holds_frame_ = false;
    receive_next();
    if (++rx_given_back_ >= kGiveBackAt) give_back();
  }
  UsbCompletion completion;
  while (out_.retire(&completion)) {
    lower(&counters_.rx_buffers_low, kRxBuffers - ++rx_backlog_);
    const bool ends = completion.bytes < kBufferBytes;
    const bool whole = !skips_to_end_ && ends;
    const bool is_frame = whole && completion.bytes >= link::kEthernetHeaderBytes;
    if (completion.failed) {
      ++counters_.rx_failed_transfers;
    } else if (is_frame) {
      uint8_t* buffer = rx_buffers_ + size_t{completion.slot} * kBufferBytes;
      // The processor may have read ahead into the buffer while it was being filled.
      hardware_.invalidate(buffer, completion.bytes);
      out->data = buffer;
      out->size = completion.bytes;
      ++counters_.rx_transfers;
      ++counters_.rx_frames;
      counters_.rx_frames_max = 1;
      holds_frame_ = true;
      return true;
    } else if (ends && (completion.bytes > 0 || skips_to_end_)) {
      ++counters_.rx_transfers;
      ++counters_.rx_bad_transfers;
    }
    skips_to_end_ = !completion.failed && !ends;
    receive_next();
    ++rx_given_back_;
  }
  rx_backlog_ = 0;
  give_back();
  return false;
}

bool EcmLink::can_send() {
  if (!in_session()) return false;
  const bool room = reserve(link::kMaxEthernetFrame) != nullptr;
  if (!room) ++counters_.tx_waits;
  return room;
}

uint8_t* EcmLink::reserve(size_t max_bytes) {
  if (!in_session() || max_bytes > link::kMaxEthernetFrame) return nullptr;
  UsbCompletion completion;
  while (in_.retire(&completion)) {
    if (completion.failed) ++counters_.tx_failed_transfers;
    if (completion.asked > 0) --tx_in_flight_;
  }
  if (tx_in_flight_ == kTxBuffers || in_.room() < 2) {
    hand_over();
    return nullptr;
  }
  return tx_buffers_ + size_t{tx_next_ % kTxBuffers} * kBufferBytes;
}

void EcmLink::commit(size_t bytes) {
  uint8_t* buffer = tx_buffers_ + size_t{tx_next_++ % kTxBuffers} * kBufferBytes;
  hardware_.clean(buffer, bytes);
  const uint32_t start = hardware_.bus_address(buffer);
  const uint32_t page[5] = {start, start, start, start, start};
  in_.stage(page, static_cast<uint32_t>(bytes), tx_in_flight_ >= kManyInFlight);
  if (bytes % packet_bytes_ == 0) in_.stage(page, 0, false);
  ++tx_in_flight_;
  ++counters_.tx_frames;
  ++counters_.tx_transfers;
  counters_.tx_frames_max = 1;
  lower(&counters_.tx_buffers_low, kTxBuffers - tx_in_flight_);
  if (++tx_staged_ >= kHandOverAt) hand_over();
}

void EcmLink::hand_over() {
  if (tx_staged_ == 0) return;
  tx_staged_ = 0;
  static_cast<void>(in_.commit());
}

void EcmLink::flush() {
  if (in_session()) hand_over();
}

bool EcmLink::has_work() const {
  return function_.session().number != session_number_ || out_.has_completed();
}

void EcmLink::revive() {
  const bool out = out_.revive();
  const bool in = in_.revive();
  static_cast<void>(out);
  static_cast<void>(in);
}

}  // namespace millrace::rt1062
