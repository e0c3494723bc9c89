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

}  // namespace

link::NtbParameters NcmLink::parameters() {
  link::NtbParameters p;
  p.in_max_bytes = kNtbBytes;
  p.out_max_bytes = kNtbBytes;
  return p;
}

NcmLink::NcmLink(UsbHardware& hardware, const CdcNetwork& function, UsbQueue& out, UsbQueue& in,
                 uint8_t* rx_buffers, uint8_t* tx_buffers)
    : queues_(hardware, function, out, in, {rx_buffers, kRxBuffers}, {tx_buffers, kTxBuffers},
              kNtbBytes),
      function_(function),
      limits_(link::in_limits(parameters())),
      reader_(nullptr, 0) {}

// False: there is no link. Starts over when there is a new one.
bool NcmLink::in_session() {
  if (!queues_.is_new_session()) return queues_.usable();
  queues_.restart();
  // Should the host change it between these two, there is another session already.
  limits_.max_bytes = function_.ntb_input_bytes();
  rx_data_ = nullptr;
  rx_sequence_.reset();
  building_ = false;
  tx_sequence_ = 0;
  return queues_.open();
}

bool NcmLink::take_link_up() { return in_session() && queues_.take_link_up(); }

// Takes the oldest NTB that the host has sent.
bool NcmLink::next_transfer() {
  UsbCompletion completion;
  while (queues_.take(&completion)) {
    if (!completion.failed && completion.bytes > 0) {
      rx_data_ = queues_.rx_buffer(completion.slot);
      reader_ = link::Ntb16Reader(rx_data_, completion.bytes);
      rx_frames_in_transfer_ = 0;
      ++queues_.counters.rx_transfers;
      if (reader_.block_bytes() > 0) {
        queues_.counters.rx_missing_transfers += rx_sequence_.missing_before(reader_.sequence());
      }
      return true;
    }
    // An empty one is the end of a full NTB of a host that sends it all the same.
    queues_.release();
  }
  queues_.caught_up();
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
      ++queues_.counters.rx_frames;
      ++rx_frames_in_transfer_;
      return true;
    }
    if (status != link::NtbStatus::end) ++queues_.counters.rx_bad_transfers;
    raise(&queues_.counters.rx_frames_max, rx_frames_in_transfer_);
    rx_data_ = nullptr;
    queues_.release();
    if (queues_.released() >= kGiveBackAt) queues_.give_back();
  }
  queues_.give_back();
  return false;
}

// An NTB to put frames into.
bool NcmLink::begin() {
  if (building_) return true;
  if (!queues_.has_room()) return false;
  writer_.begin(queues_.tx_buffer(), kNtbBytes, limits_);
  building_ = true;
  return true;
}

bool NcmLink::can_send() {
  if (!in_session()) return false;
  const bool room = reserve(link::kMaxEthernetFrame) != nullptr;
  if (!room) ++queues_.counters.tx_waits;
  return room;
}

uint8_t* NcmLink::reserve(size_t max_bytes) {
  if (!in_session()) return nullptr;
  if (!building_) queues_.retire_sent();
  if (!begin()) return nullptr;
  uint8_t* place = writer_.reserve(max_bytes);
  if (place != nullptr || writer_.datagrams() == 0) return place;
  submit();  // full
  queues_.retire_sent();
  return begin() ? writer_.reserve(max_bytes) : nullptr;
}

void NcmLink::commit(size_t bytes) {
  writer_.commit(bytes);
  ++queues_.counters.tx_frames;
}

void NcmLink::flush() {
  if (!in_session()) return;
  queues_.retire_sent();
  if (building_ && writer_.datagrams() > 0 && queues_.in_flight() < kFewInFlight) submit();
}

void NcmLink::submit() {
  raise(&queues_.counters.tx_frames_max, static_cast<uint32_t>(writer_.datagrams()));
  const uint32_t bytes = static_cast<uint32_t>(writer_.finish(tx_sequence_++));
  building_ = false;
  // Whoever waits for room, or with an NTB for its turn, sleeps until one is done; the first of two
  // goes without.
  queues_.stage(bytes, queues_.in_flight() > 0,
                bytes % queues_.packet_bytes() == 0 && bytes < limits_.max_bytes);
  queues_.hand_over();
}

bool NcmLink::has_work() const {
  if (queues_.is_new_session()) return true;
  if (rx_data_ != nullptr || queues_.has_received()) return true;
  return building_ && writer_.datagrams() > 0 && queues_.has_sent();
}

}  // namespace millrace::rt1062
