// SPDX-License-Identifier: Apache-2.0
// The bus side of the endpoints: what they answer to a token, after the bus response matrices
// (IMXRT1060RM 42.5.6.3.4 interrupt and bulk, 42.5.6.4.4 control, 42.5.6.5.2 isochronous; the same
// tables stand in the MPC8308 manual, 13.8.3).
#include "usb/usb_endpoints.h"

#include <algorithm>

#include "usb/usb_otg_registers.h"

namespace millrace::board {

uint32_t UsbEndpoints::half_control(unsigned index) const {
  return control_[index / 2] >> (index % 2 != 0 ? usb::kTxShift : 0) & 0xFFFF;
}

bool UsbEndpoints::isochronous(unsigned index) const {
  return (half_control(index) & usb::kType) == usb::kIsochronous;
}

void UsbEndpoints::write_control(unsigned endpoint, uint32_t value, Cycles now) {
  const uint32_t before = control_[endpoint];
  for (unsigned direction = 0; direction < 2; ++direction) {
    const uint32_t shift = direction * usb::kTxShift;
    if ((value & usb::kToggleReset << shift) != 0) queues_[2 * endpoint + direction].toggle = false;
    value &= ~(usb::kToggleReset << shift);
    // A stall is cleared for as long as the SETUP waits (ENDPTCTRL.RXS).
    const bool control = (value >> shift & usb::kType) == usb::kControl;
    if (control && (setup_stat_ & 1u << endpoint) != 0) value &= ~(usb::kStall << shift);
  }
  control_[endpoint] = value;
  any_isochronous_ = false;
  for (unsigned i = 0; i < queues_.size(); ++i) any_isochronous_ |= isochronous(i);
  for (unsigned direction = 0; direction < 2; ++direction) {
    if (((before ^ value) >> direction * usb::kTxShift & 0xFFFF) != 0) {
      owner_.endpoint_changed(endpoint, direction != 0, now);
    }
  }
}

// USBCMD.ATDTW does not stay set where an appended descriptor may go unnoticed.
void UsbEndpoints::write_tripwires(uint32_t command) {
  tripwires_ = command & (usb::kSutw | usb::kAtdtw);
  for (const Queue& queue : queues_) {
    if (queue.state == State::closing || queue.state == State::fetching) {
      tripwires_ &= ~usb::kAtdtw;
    }
  }
}

// 42.5.6.4.2: a SETUP is always taken, unless the lockout is on and the one before was not read.
Handshake UsbEndpoints::setup(unsigned endpoint, std::span<const uint8_t, 8> bytes, Cycles now) {
  const uint32_t receive = half_control(2 * endpoint);
  if ((receive & usb::kEnable) == 0) return Handshake::timeout;
  if ((receive & usb::kType) == usb::kIsochronous) return Handshake::stall;
  if ((receive & usb::kType) != usb::kControl) return Handshake::timeout;
  const uint32_t mask = 1u << endpoint;
  if ((mode_ & usb::kSlom) == 0 && (setup_stat_ & mask) != 0) return Handshake::timeout;
  std::array<uint8_t, 4> capabilities;
  if (!host_.dma_read(head(2 * endpoint), capabilities.data(), 4) ||
      !host_.dma_write(head(2 * endpoint) + usb::kQhSetup, bytes.data(), 8)) {
    owner_.raise(usb::kSei | usb::kUei, now);
    return Handshake::timeout;
  }
  setup_stat_ |= mask;
  tripwires_ &= ~usb::kSutw;
  control_[endpoint] &= ~(usb::kStall | usb::kStall << usb::kTxShift);
  for (unsigned i = 2 * endpoint; i < 2 * endpoint + 2; ++i) {
    Queue& queue = queues_[i];
    queue.toggle = true;  // USB 2.0 8.5.3: the data and status stages begin with DATA1
    queue.in_flight = false;
    // What was primed before is not answered any more.
    if (queue.state == State::priming) {
      queue.cancelled = true;
    } else {
      stop(i);
    }
  }
  schedule();
  const bool interrupts = (capabilities[1] & usb::kQhIos >> 8) != 0;
  if (interrupts) owner_.raise(usb::kUi, now);
  return Handshake::ack;
}

Handshake UsbEndpoints::say_nak(unsigned index, Cycles now) {
  if ((nak_ & bit(index)) == 0) {
    nak_ |= bit(index);
    owner_.raise(0, now);
  }
  return Handshake::nak;
}

Handshake UsbEndpoints::out(unsigned endpoint, bool data1, std::span<const uint8_t> bytes,
                            Cycles now) {
  const unsigned index = 2 * endpoint;
  const uint32_t half = half_control(index);
  if ((half & usb::kEnable) == 0) return Handshake::timeout;
  if (isochronous(index)) return isochronous_out(index, bytes, now);
  if ((half & usb::kStall) != 0) return Handshake::stall;
  Queue& queue = queues_[index];
  if (queue.state != State::ready) return say_nak(index, now);
  // A repeated toggle: the host missed the acknowledgement of the last packet (USB 2.0 8.6.4).
  if (data1 != queue.toggle && (half & usb::kToggleInhibit) == 0) return Handshake::ack;
  return receive(index, bytes, now);
}

// 42.5.6.3: short packet or all bytes there: the descriptor is done. Too many bytes: an error.
Handshake UsbEndpoints::receive(unsigned index, std::span<const uint8_t> bytes, Cycles now) {
  Queue& queue = queues_[index];
  const auto size = static_cast<uint32_t>(bytes.size());
  if (size > queue.max_packet || size > queue.remaining) {
    fail(index, usb::kTokenBufferError, now);
    return Handshake::nak;
  }
  if (!move_data(queue, nullptr, bytes.data(), size)) {
    owner_.raise(usb::kSei, now);
    fail(index, usb::kTokenBufferError, now);
    return Handshake::nak;
  }
  queue.toggle = !queue.toggle;
  queue.offset += size;
  queue.remaining -= size;
  const bool done = size < queue.max_packet || queue.remaining == 0;
  if (done) retire(index, 0, queue.remaining != 0, now);
  // "NYET unless the transfer descriptor has packets remaining" (note of the response matrix); with
  // USBMODE.SDIS every packet. Interrupt endpoints and full speed know no NYET (USB 2.0 8.5.1).
  const bool can_nyet = high_speed_ && (half_control(index) & usb::kType) != usb::kInterrupt;
  return can_nyet && (done || (mode_ & usb::kSdis) != 0) ? Handshake::nyet : Handshake::ack;
}

Handshake UsbEndpoints::ping(unsigned endpoint, Cycles now) {
  const unsigned index = 2 * endpoint;
  const uint32_t half = half_control(index);
  const uint32_t type = half & usb::kType;
  if ((half & usb::kEnable) == 0 || type == usb::kIsochronous || type == usb::kInterrupt) {
    return Handshake::timeout;
  }
  if ((half & usb::kStall) != 0) return Handshake::stall;
  return queues_[index].state == State::ready ? Handshake::ack : say_nak(index, now);
}

void UsbEndpoints::in(unsigned endpoint, InPacket* packet, Cycles now) {
  const unsigned index = 2 * endpoint + 1;
  const uint32_t half = half_control(index);
  packet->size = 0;
  packet->data1 = false;
  packet->handshake = Handshake::timeout;
  if ((half & usb::kEnable) == 0) return;
  if (isochronous(index)) return isochronous_in(index, packet, now);
  if ((half & usb::kStall) != 0) {
    packet->handshake = Handshake::stall;
    return;
  }
  Queue& queue = queues_[index];
  if (queue.state != State::ready || now < queue.data_ready) {
    packet->handshake = say_nak(index, now);
    return;
  }
  const auto size = static_cast<uint16_t>(std::min<uint32_t>(queue.max_packet, queue.remaining));
  if (!move_data(queue, packet->bytes.data(), nullptr, size)) {  // underflow: a bit stuffing error
    owner_.raise(usb::kSei, now);
    return fail(index, usb::kTokenBufferError, now);
  }
  queue.in_flight = true;
  queue.flight_bytes = size;
  packet->size = size;
  packet->data1 = queue.toggle && (half & usb::kToggleInhibit) == 0;
  packet->handshake = Handshake::ack;
}

bool UsbEndpoints::in_done(unsigned endpoint, bool acked, Cycles now) {
  const unsigned index = 2 * endpoint + 1;
  Queue& queue = queues_[index];
  if (!queue.in_flight) return false;
  queue.in_flight = false;
  if (acked) sent(index, now);
  if ((flush_ & bit(index)) != 0) {
    flush_now(index, now);
    schedule();
  }
  return acked;
}

// 42.5.6.3: with ZLT 0 a descriptor is INT(bytes / packet) + 1 packets, so that the last is always
// short; with ZLT 1 it ends with its last byte.
void UsbEndpoints::sent(unsigned index, Cycles now) {
  Queue& queue = queues_[index];
  queue.toggle = !queue.toggle;
  queue.offset += queue.flight_bytes;
  queue.remaining -= queue.flight_bytes;
  if (isochronous(index)) {
    if (queue.packets_left > 0) --queue.packets_left;
    if (queue.packets_left == 0 || queue.remaining == 0) retire(index, 0, false, now);
    return;
  }
  const bool last =
      queue.zero_length_end ? queue.flight_bytes < queue.max_packet : queue.remaining == 0;
  if (last) return retire(index, 0, false, now);
  if ((mode_ & usb::kSdis) != 0) {  // no double buffering: the next packet is fetched now
    const uint32_t next = std::min<uint32_t>(queue.max_packet, queue.remaining);
    queue.data_ready = now + Cycles{(next + 3) / 4} * timing_.usb_word_cycles;
  }
}

Cycles UsbEndpoints::ready_at(unsigned endpoint, bool in, Cycles now) const {
  const Queue& queue = queues_[2 * endpoint + (in ? 1 : 0)];
  switch (queue.state) {
    case State::ready:
      return std::max(now, queue.data_ready);
    case State::priming:
    case State::fetching:
      return std::max(now, queue.due);
    case State::closing:
      return queue.prime_again ? queue.due + timing_.usb_prime_cycles : kNever;
    case State::idle:
      break;
  }
  return kNever;
}

// An unprimed isochronous endpoint sends a NULL packet and ignores what it is sent.
void UsbEndpoints::isochronous_in(unsigned index, InPacket* packet, Cycles now) {
  Queue& queue = queues_[index];
  packet->handshake = Handshake::ack;
  const bool stalled = (half_control(index) & usb::kStall) != 0;
  if (stalled || queue.state != State::ready || !queue.in_frame) return;
  const auto size = static_cast<uint16_t>(std::min<uint32_t>(queue.max_packet, queue.remaining));
  if (!move_data(queue, packet->bytes.data(), nullptr, size)) {
    packet->handshake = Handshake::timeout;
    owner_.raise(usb::kSei, now);
    return fail(index, usb::kTokenBufferError, now);
  }
  queue.in_flight = true;
  queue.flight_bytes = size;
  packet->size = size;
  // USB 2.0 5.9.1: DATA0 is the last packet of a microframe, DATA1 the one before.
  packet->data1 = queue.packets_left == 2 && queue.remaining > queue.max_packet;
}

Handshake UsbEndpoints::isochronous_out(unsigned index, std::span<const uint8_t> bytes,
                                        Cycles now) {
  Queue& queue = queues_[index];
  const bool stalled = (half_control(index) & usb::kStall) != 0;
  if (stalled || queue.state != State::ready || !queue.in_frame) return Handshake::timeout;
  const auto size = static_cast<uint32_t>(bytes.size());
  const bool fits = size <= queue.max_packet && size <= queue.remaining;
  if (!fits || !move_data(queue, nullptr, bytes.data(), size)) {
    if (fits) owner_.raise(usb::kSei, now);
    fail(index, usb::kTokenBufferError, now);
    return Handshake::timeout;
  }
  queue.offset += size;
  queue.remaining -= size;
  if (queue.packets_left > 0) --queue.packets_left;
  if (queue.packets_left == 0 || size < queue.max_packet) retire(index, 0, false, now);
  return Handshake::ack;
}

// 42.5.6.5: an isochronous descriptor is for one (micro)frame, the first that begins after it was
// primed. If the host asked for some of its packets but not for all: a fulfillment error.
void UsbEndpoints::start_of_frame(Cycles now) {
  if (!any_isochronous_) return;
  for (unsigned i = 0; i < queues_.size(); ++i) {
    Queue& queue = queues_[i];
    if (queue.state != State::ready || !isochronous(i)) continue;
    queue.in_flight = false;
    if ((flush_ & bit(i)) != 0) {
      flush_now(i, now);
    } else if (queue.in_frame && queue.offset != 0) {
      retire(i, usb::kTokenTransactionError, false, now);
    } else {
      queue.in_frame = true;
    }
  }
}

}  // namespace millrace::board
