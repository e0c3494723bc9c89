// SPDX-License-Identifier: Apache-2.0
// A dTD is a whole NTB. From the host: it is as long as dwNtbOutMaxSize, so that it ends with a
// short packet or when it is full, and needs no empty packet in either case (NCM 1.0, 3.2.2). To
// the host: an NTB that fills its packets but is less than the host's limit is followed by an empty
// dTD; the controller's own zero-length packets stay off (bulk_in.cc).
//
// How many frames share an NTB follows from the load, as with BulkIn: with less than two NTBs under
// way, what was committed leaves at once; with two there is time, and the NTB that is being built
// grows until one of them is done. A single echo waits for nothing, and under load the work for a
// transfer is divided by the frames in it.
//
// Buffers go back to the controller in groups: a dTD costs some 150 cycles of register accesses,
// and there are eight.
#include "firmware/ports/rt1062/usb/ncm_link.h"

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kFewInFlight = 2;
constexpr uint32_t kGiveBackAt = NcmLink::kRxBuffers / 2;

void raise(uint16_t* max, uint32_t value) {
  if (value > *max) *max = static_cast<uint16_t>(value);
}
void lower(uint16_t* min, uint32_t value) {
  if (value < *min) *min = static_cast<uint16_t>(value);
}

}  // namespace

link::NtbParameters NcmLink::parameters() {
  link::NtbParameters p;
  p.in_max_bytes = kNtbBytes;
  p.out_max_bytes = kNtbBytes;
  return p;
}

NcmLink::NcmLink(UsbHardware& hardware, const CdcNetwork& function, UsbQueue& out, UsbQueue& in,
                 uint8_t* rx_buffers, uint8_t* tx_buffers)
    : hardware_(hardware),
      function_(function),
      out_(out),
      in_(in),
      rx_buffers_(rx_buffers),
      tx_buffers_(tx_buffers),
      limits_(link::in_limits(parameters())),
      reader_(nullptr, 0) {
  counters_.rx_buffers = counters_.rx_buffers_low = kRxBuffers;
  counters_.tx_buffers = counters_.tx_buffers_low = kTxBuffers;
}

// False: there is no link. Starts over when there is a new one.
bool NcmLink::in_session() {
  if (function_.session().number == session_number_) return out_.usable();
  const uint32_t state = hardware_.lock();
  session_number_ = function_.session().number;
  const bool open = function_.session().open;
  out_.restart();
  in_.restart();
  rx_data_ = nullptr;
  rx_sequence_.reset();
  rx_given_back_ = rx_backlog_ = 0;
  building_ = false;
  tx_next_ = tx_in_flight_ = 0;
  tx_sequence_ = 0;
  limits_.max_bytes = function_.ntb_input_bytes();
  packet_bytes_ = function_.packet_bytes();
  hardware_.unlock(state);
  link_up_ = open;
  if (!open) return false;
  ++counters_.link_ups;
  // No line may be in the cache, where it could be written back over what the controller wrote.
  hardware_.invalidate(rx_buffers_, size_t{kRxBuffers} * kNtbBytes);
  for (uint32_t i = 0; i < kRxBuffers; ++i) receive_next();
  return out_.commit();
}

bool NcmLink::take_link_up() {
  const bool up = in_session() && link_up_;
  link_up_ = false;
  return up;
}

// The ring of descriptors goes round as NTBs are read, so slot and buffer stay together.
void NcmLink::receive_next() {
  const uint32_t first = hardware_.bus_address(rx_buffers_ + size_t{out_.next_slot()} * kNtbBytes);
  const uint32_t next = (first & ~(kUsbPage - 1)) + kUsbPage;
  const uint32_t page[5] = {first, next, next + kUsbPage, next + 2 * kUsbPage, next + 3 * kUsbPage};
  out_.stage(page, kNtbBytes, true);
}

void NcmLink::give_back() {
  if (rx_given_back_ == 0) return;
  rx_given_back_ = 0;
  static_cast<void>(out_.commit());  // false: in_session() will see it
}

// Takes the oldest NTB that the host has sent.
bool NcmLink::next_transfer() {
  UsbCompletion completion;
  while (out_.retire(&completion)) {
    lower(&counters_.rx_buffers_low, kRxBuffers - ++rx_backlog_);
    if (!completion.failed && completion.bytes > 0) {
      uint8_t* buffer = rx_buffers_ + size_t{completion.slot} * kNtbBytes;
      // The processor may have read ahead into the buffer while it was being filled.
      hardware_.invalidate(buffer, completion.bytes);
      rx_data_ = buffer;
      reader_ = link::Ntb16Reader(buffer, completion.bytes);
      rx_frames_in_transfer_ = 0;
      ++counters_.rx_transfers;
      if (reader_.block_bytes() > 0) {
        counters_.rx_missing_transfers += rx_sequence_.missing_before(reader_.sequence());
      }
      return true;
    }
    // An empty one is the end of a full NTB of a host that sends it all the same.
    if (completion.failed) ++counters_.rx_failed_transfers;
    receive_next();
    ++rx_given_back_;
  }
  rx_backlog_ = 0;
  return false;
}

bool NcmLink::receive(firmware::Frame* out) {
  if (!in_session()) return false;
  while (rx_data_ != nullptr || next_transfer()) {
    link::NtbDatagram datagram;
    const link::NtbStatus status = reader_.next(&datagram);
    if (status == link::NtbStatus::datagram) {
      out->data = rx_data_ + datagram.offset;
      out->size = datagram.length;
      ++counters_.rx_frames;
      ++rx_frames_in_transfer_;
      return true;
    }
    if (status != link::NtbStatus::end) ++counters_.rx_bad_transfers;
    raise(&counters_.rx_frames_max, rx_frames_in_transfer_);
    rx_data_ = nullptr;
    receive_next();
    if (++rx_given_back_ >= kGiveBackAt) give_back();
  }
  give_back();
  return false;
}

void NcmLink::retire_sent() {
  UsbCompletion completion;
  while (in_.retire(&completion)) {
    if (completion.failed) ++counters_.tx_failed_transfers;
    if (completion.asked > 0) --tx_in_flight_;
  }
}

// An NTB to put frames into.
bool NcmLink::begin() {
  if (building_) return true;
  if (tx_in_flight_ == kTxBuffers || in_.room() < 2) return false;
  writer_.begin(tx_buffers_ + size_t{tx_next_ % kTxBuffers} * kNtbBytes, kNtbBytes, limits_);
  building_ = true;
  return true;
}

bool NcmLink::can_send() {
  if (!in_session()) return false;
  const bool room = reserve(link::kMaxEthernetFrame) != nullptr;
  if (!room) ++counters_.tx_waits;
  return room;
}

uint8_t* NcmLink::reserve(size_t max_bytes) {
  if (!in_session()) return nullptr;
  if (!building_) retire_sent();
  if (!begin()) return nullptr;
  uint8_t* place = writer_.reserve(max_bytes);
  if (place != nullptr || writer_.datagrams() == 0) return place;
  submit();  // full
  retire_sent();
  return begin() ? writer_.reserve(max_bytes) : nullptr;
}

void NcmLink::commit(size_t bytes) {
  writer_.commit(bytes);
  ++counters_.tx_frames;
}

void NcmLink::flush() {
  if (!in_session()) return;
  retire_sent();
  if (building_ && writer_.datagrams() > 0 && tx_in_flight_ < kFewInFlight) submit();
}

void NcmLink::submit() {
  raise(&counters_.tx_frames_max, static_cast<uint32_t>(writer_.datagrams()));
  const uint32_t bytes = static_cast<uint32_t>(writer_.finish(tx_sequence_++));
  building_ = false;
  uint8_t* buffer = tx_buffers_ + size_t{tx_next_++ % kTxBuffers} * kNtbBytes;
  hardware_.clean(buffer, bytes);
  const uint32_t first = hardware_.bus_address(buffer);
  const uint32_t next = (first & ~(kUsbPage - 1)) + kUsbPage;
  const uint32_t page[5] = {first, next, next + kUsbPage, next + 2 * kUsbPage, next + 3 * kUsbPage};
  // Whoever waits for room, or with an NTB for its turn, sleeps until one is done; the first of two
  // goes without.
  in_.stage(page, bytes, tx_in_flight_ > 0);
  if (bytes % packet_bytes_ == 0 && bytes < limits_.max_bytes) in_.stage(page, 0, false);
  ++tx_in_flight_;
  ++counters_.tx_transfers;
  lower(&counters_.tx_buffers_low, kTxBuffers - tx_in_flight_);
  static_cast<void>(in_.commit());
}

bool NcmLink::has_work() const {
  if (function_.session().number != session_number_) return true;
  if (rx_data_ != nullptr || out_.has_completed()) return true;
  return building_ && writer_.datagrams() > 0 && in_.has_completed();
}

void NcmLink::revive() {
  const bool out = out_.revive();
  const bool in = in_.revive();
  static_cast<void>(out);
  static_cast<void>(in);
}

}  // namespace millrace::rt1062
