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

}  // namespace

EcmLink::EcmLink(UsbHardware& hardware, const CdcNetwork& function, UsbQueue& out, UsbQueue& in,
                 uint8_t* rx_buffers, uint8_t* tx_buffers)
    : queues_(hardware, function, out, in, {rx_buffers, kRxBuffers}, {tx_buffers, kTxBuffers},
              kBufferBytes) {}

// False: there is no link. Starts over when there is a new one.
bool EcmLink::in_session() {
  if (!queues_.is_new_session()) return queues_.usable();
  queues_.restart();
  holds_frame_ = skips_to_end_ = false;
  tx_staged_ = 0;
  return queues_.open();
}

bool EcmLink::take_link_up() { return in_session() && queues_.take_link_up(); }

bool EcmLink::receive(firmware::Frame* out) {
  if (!in_session()) return false;
  if (holds_frame_) {
    holds_frame_ = false;
    queues_.release();
    if (queues_.released() >= kGiveBackAt) queues_.give_back();
  }
  firmware::FramePortCounters& counters = queues_.counters;
  UsbCompletion completion;
  while (queues_.take(&completion)) {
    const bool ends = completion.bytes < kBufferBytes;
    const bool whole = !skips_to_end_ && ends;
    const bool is_frame = whole && completion.bytes >= link::kEthernetHeaderBytes;
    if (is_frame && !completion.failed) {
      out->data = queues_.rx_buffer(completion.slot);
      out->size = completion.bytes;
      ++counters.rx_transfers;
      ++counters.rx_frames;
      counters.rx_frames_max = 1;
      holds_frame_ = true;
      return true;
    }
    if (!completion.failed && ends && (completion.bytes > 0 || skips_to_end_)) {
      ++counters.rx_transfers;
      ++counters.rx_bad_transfers;
    }
    skips_to_end_ = !completion.failed && !ends;
    queues_.release();
  }
  queues_.caught_up();
  queues_.give_back();
  return false;
}

bool EcmLink::can_send() {
  if (!in_session()) return false;
  const bool room = reserve(link::kMaxEthernetFrame) != nullptr;
  if (!room) ++queues_.counters.tx_waits;
  return room;
}

uint8_t* EcmLink::reserve(size_t max_bytes) {
  if (!in_session() || max_bytes > link::kMaxEthernetFrame) return nullptr;
  queues_.retire_sent();
  if (!queues_.has_room()) {
    hand_over();
    return nullptr;
  }
  return queues_.tx_buffer();
}

void EcmLink::commit(size_t bytes) {
  queues_.stage(static_cast<uint32_t>(bytes), queues_.in_flight() >= kManyInFlight,
                bytes % queues_.packet_bytes() == 0);
  ++queues_.counters.tx_frames;
  queues_.counters.tx_frames_max = 1;
  if (++tx_staged_ >= kHandOverAt) hand_over();
}

void EcmLink::hand_over() {
  if (tx_staged_ == 0) return;
  tx_staged_ = 0;
  queues_.hand_over();
}

void EcmLink::flush() {
  if (in_session()) hand_over();
}

bool EcmLink::has_work() const { return queues_.is_new_session() || queues_.has_received(); }

}  // namespace millrace::rt1062
