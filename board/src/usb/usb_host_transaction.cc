// SPDX-License-Identifier: Apache-2.0
// One transaction (USB 2.0 8.5, 8.6). It starts where the device has its token: an IN is answered
// then, and the answer says how long it takes. Everything else, and the host's ACK, happens where
// the handshake has come through; from there to the next start is the gap that lets a device fetch
// its next buffer.
#include <algorithm>

#include "usb/usb_host.h"

namespace millrace::board {
namespace {

constexpr unsigned kErrorCount = 3;  // without an answer, 8.5: "error count"
// A host waits 736 to 816 bit times at high speed, 16 to 18 at full speed (7.1.19.2); in ticks.
constexpr uint64_t kHighTimeout = 816 / 8, kFullTimeout = uint64_t{18} * 5;
// A token (SYNC, PID, address and CRC) and the pause before it, as in usb_host_frame.cc.
constexpr uint64_t kHighToken = 4 + 1 + 2, kHighPause = 12;
constexpr uint64_t kFullToken = uint64_t{4} * 40, kFullPause = 40;

}  // namespace

bool UsbHost::moves_in(const Pipe& pipe) const {
  if (pipe.config.transfer != UsbTransfer::control) return pipe.config.endpoint >= 0x80;
  const bool data_in = (pipe.first->setup[0] & 0x80) != 0 && !pipe.first->buffer.empty();
  return pipe.stage == Stage::data ? data_in : pipe.stage == Stage::status && !data_in;
}

// REQUIRES: an URB.
UsbTransaction::Kind UsbHost::next_kind(const Pipe& pipe) const {
  if (pipe.config.transfer == UsbTransfer::control && pipe.stage == Stage::setup) {
    return UsbTransaction::Kind::setup;
  }
  if (moves_in(pipe)) return UsbTransaction::Kind::in;
  return pipe.ping ? UsbTransaction::Kind::ping : UsbTransaction::Kind::out;
}

std::span<const uint8_t> UsbHost::out_data(const Pipe& pipe) const {
  if (pipe.config.transfer == UsbTransfer::control && pipe.stage == Stage::status) return {};
  const std::span<const uint8_t> rest = pipe.first->buffer.subspan(pipe.first->actual);
  return rest.first(std::min<size_t>(rest.size(), pipe.config.max_packet));
}

void UsbHost::begin(unsigned index, Tick tick, Cycles now) {
  Pipe& pipe = pipes_[index];
  stop_sleeping(pipe, tick);
  flight_.active = true;
  flight_.kind = next_kind(pipe);
  flight_.pipe = index;
  flight_.start = tick;
  flight_.data1 = pipe.toggle;
  flight_.size = 0;
  flight_.ready = kNever;
  Tick length = 0;
  switch (flight_.kind) {
    case UsbTransaction::Kind::in:
      packet_.handshake = Handshake::timeout;
      device_.in(address_, index / 2, &packet_, now);
      if (!flight_.active) return;  // the device went away meanwhile
      packet_.size = static_cast<uint16_t>(std::min<size_t>(packet_.size, packet_.bytes.size()));
      length = packet_ticks(packet_.size, packet_.handshake == Handshake::ack);
      if (packet_.handshake == Handshake::nak) {
        flight_.ready = device_.ready_at(index / 2, true, now);
      }
      if (packet_.handshake == Handshake::timeout) length += high() ? kHighTimeout : kFullTimeout;
      break;
    case UsbTransaction::Kind::ping:
      length = packet_ticks(0, false);
      break;
    case UsbTransaction::Kind::setup:
      flight_.data1 = false;
      length = packet_ticks(8, true);
      break;
    default:
      flight_.size = static_cast<uint32_t>(out_data(pipe).size());
      length = packet_ticks(flight_.size, true);
      break;
  }
  // What a device sends beyond its packet size may not touch the next SOF.
  bus_free_ = std::min(tick + length, next_frame_);
  flight_.end = bus_free_ - (high() ? kHighToken + kHighPause : kFullToken + kFullPause);
}

void UsbHost::finish(Cycles now) {
  Pipe& pipe = pipes_[flight_.pipe];
  flight_.active = false;
  Urb* const urb = pipe.first;
  const unsigned endpoint = flight_.pipe / 2;
  Handshake answer = Handshake::timeout;
  switch (flight_.kind) {
    case UsbTransaction::Kind::in:
      finish_in(pipe, now);
      break;
    case UsbTransaction::Kind::ping:
      ++counts_.pings;
      answer = device_.ping(address_, endpoint, now);
      tell(answer, false, {});
      if (pipe.first == urb) finish_ping(pipe, answer, now);
      break;
    case UsbTransaction::Kind::setup:
      answer = device_.setup(address_, endpoint, urb->setup, now);
      tell(answer, false, urb->setup);
      if (pipe.first == urb) finish_setup(pipe, answer);
      break;
    default: {
      const std::span<const uint8_t> data = out_data(pipe);
      answer = device_.out(address_, endpoint, pipe.toggle, data, now);
      tell(answer, false, data);
      if (pipe.first == urb) finish_out(pipe, answer, now);
    }
  }
  // It may be over for another reason, or be another one's turn.
  if (pipe.first == urb && urb->is_unlinking) complete(pipe, UrbStatus::unlinked, bus_due_);
}

// The port goes, or the pipe: nobody waits for the end of the transaction.
void UsbHost::abandon(Cycles now) {
  if (!flight_.active) return;
  flight_.active = false;
  Pipe& pipe = pipes_[flight_.pipe];
  if (flight_.kind == UsbTransaction::Kind::in && packet_.handshake == Handshake::ack) {
    device_.in_done(flight_.pipe / 2, false, now);
  }
  if (pipe.first != nullptr && pipe.first->is_unlinking) {
    complete(pipe, UrbStatus::unlinked, ticks_.count(now));
  }
}

void UsbHost::tell(Handshake handshake, bool host_acked, std::span<const uint8_t> data) {
  if (monitor_ == nullptr) return;
  UsbTransaction t;
  t.kind = flight_.kind;
  t.speed = speed_;
  t.start_ns = ns_of(flight_.start - (high() ? kHighToken : kFullToken));
  t.address = address_;
  t.endpoint = static_cast<uint8_t>(flight_.pipe / 2);
  t.data1 = flight_.data1;
  t.handshake = handshake;
  t.host_acked = host_acked;
  t.data = data;
  monitor_->transaction(t);
}

void UsbHost::finish_setup(Pipe& pipe, Handshake handshake) {
  if (handshake != Handshake::ack) return refused(pipe, Handshake::timeout, 0);
  pipe.errors = 0;
  pipe.ping = false;
  pipe.toggle = true;  // data and status stages begin with DATA1, 8.5.3
  pipe.stage = pipe.first->buffer.empty() ? Stage::status : Stage::data;
}

void UsbHost::finish_in(Pipe& pipe, Cycles now) {
  if (packet_.handshake != Handshake::ack) {
    tell(packet_.handshake, false, {});
    return refused(pipe, packet_.handshake, now);
  }
  const bool in_status =
      pipe.config.transfer == UsbTransfer::control && pipe.stage == Stage::status;
  const size_t room = in_status ? 0 : pipe.first->buffer.size() - pipe.first->actual;
  const bool fits = packet_.size <= std::min<size_t>(pipe.config.max_packet, room);
  const Urb* const urb = pipe.first;
  flight_.data1 = packet_.data1;
  tell(Handshake::ack, fits, {packet_.bytes.data(), packet_.size});
  // Babble gets no handshake; a packet that repeats does, its ACK was lost (8.6.4).
  device_.in_done(flight_.pipe / 2, fits, now);
  if (pipe.first != urb) return;
  if (!fits) return complete(pipe, UrbStatus::overflow, bus_due_);
  pipe.errors = 0;
  if (packet_.data1 != pipe.toggle) {
    ++counts_.toggle_repeats;
    return;
  }
  take_in(pipe);
}

// Zero-length packets cost bus time only: the published rates that profiles are fitted to are those
// of firmware that ends every 2048 bytes with one.
void UsbHost::spend(const Pipe& pipe, uint32_t size) {
  if (pipe.config.transfer == UsbTransfer::bulk && high() && size != 0) credit_milli_ -= 1000;
}

void UsbHost::take_in(Pipe& pipe) {
  Urb& urb = *pipe.first;
  std::copy_n(packet_.bytes.begin(), packet_.size, urb.buffer.begin() + urb.actual);
  urb.actual += packet_.size;
  pipe.toggle = !pipe.toggle;
  pipe.is_due = false;
  ++counts_.packets_in;
  counts_.bytes_in += packet_.size;
  spend(pipe, packet_.size);
  const bool is_short = packet_.size < pipe.config.max_packet;
  if (is_short && pipe.config.transfer == UsbTransfer::bulk) {
    pipe.ready = bus_free_ + ticks_of(profile_.gap_after_short_ns);
  }
  if (is_short || urb.actual == urb.buffer.size()) data_done(pipe, urb.actual < urb.buffer.size());
}

void UsbHost::finish_out(Pipe& pipe, Handshake handshake, Cycles now) {
  if (handshake != Handshake::ack && handshake != Handshake::nyet) {
    if (handshake == Handshake::nak) pipe.ping = high();
    return refused(pipe, handshake, now);
  }
  pipe.errors = 0;
  pipe.is_due = false;
  if (handshake == Handshake::nyet) {
    ++counts_.nyets;
    pipe.ping = high();
  }
  Urb& urb = *pipe.first;
  pipe.toggle = !pipe.toggle;
  urb.actual += flight_.size;
  ++counts_.packets_out;
  counts_.bytes_out += flight_.size;
  spend(pipe, flight_.size);
  if (pipe.config.transfer == UsbTransfer::control && pipe.stage == Stage::status) {
    return data_done(pipe, false);
  }
  if (urb.actual < urb.buffer.size()) return;
  const bool was_full = flight_.size == pipe.config.max_packet;
  if (urb.ends_with_short && was_full && pipe.config.transfer != UsbTransfer::control) return;
  data_done(pipe, false);
}

void UsbHost::finish_ping(Pipe& pipe, Handshake handshake, Cycles now) {
  if (handshake != Handshake::ack) return refused(pipe, handshake, now);
  pipe.ping = false;
  pipe.errors = 0;
}

// The data of the URB is through, or the status stage.
void UsbHost::data_done(Pipe& pipe, bool is_short) {
  if (pipe.config.transfer == UsbTransfer::control && pipe.stage != Stage::status) {
    pipe.stage = Stage::status;
    pipe.toggle = true;
    return;
  }
  if (pipe.config.transfer == UsbTransfer::control) {
    is_short = pipe.first->actual < pipe.first->buffer.size();
  }
  const bool is_error = is_short && pipe.first->short_is_error;
  complete(pipe, is_error ? UrbStatus::short_transfer : UrbStatus::ok, bus_due_);
}

void UsbHost::refused(Pipe& pipe, Handshake handshake, Cycles now) {
  switch (handshake) {
    case Handshake::nak:
      pipe.errors = 0;
      return nak(pipe, now);
    case Handshake::stall:
      ++counts_.stalls;
      // The control pipe goes on with the next SETUP (8.5.3.4).
      pipe.is_halted = pipe.config.transfer != UsbTransfer::control;
      return complete(pipe, UrbStatus::stall, bus_due_);
    default:  // an answer that makes no sense here is as good as none
      ++counts_.timeouts;
      if (++pipe.errors >= kErrorCount) complete(pipe, UrbStatus::no_answer, bus_due_);
  }
}

void UsbHost::nak(Pipe& pipe, Cycles now) {
  ++counts_.naks;
  if (pipe.config.transfer == UsbTransfer::interrupt) {
    pipe.is_due = false;
    return;
  }
  // An IN token was answered when the transaction began, and things may have changed since.
  const Cycles ready = flight_.kind == UsbTransaction::Kind::in
                           ? flight_.ready
                           : device_.ready_at(flight_.pipe / 2, false, now);
  pipe.is_asleep = true;
  pipe.next_poll = bus_free_ + ticks_of(profile_.gap_after_nak_ns);
  pipe.poll_period = poll_ticks(pipe);
  pipe.ready = UINT64_MAX;
  if (ready != kNever) wake(pipe, std::max(bus_due_, ticks_.count(ready)));
}

void UsbHost::endpoint_changed(unsigned endpoint, bool in, Cycles now) {
  if (endpoint >= pipes_.size() / 2) return;
  // The control pipe is one for both directions.
  const unsigned index = endpoint == 0 ? 0 : endpoint * 2 + (in ? 1 : 0);
  Pipe& pipe = pipes_[index];
  if (flight_.active && flight_.pipe == index) flight_.ready = std::min(flight_.ready, now);
  if (!pipe.is_asleep) return;
  wake(pipe, ticks_.count(now));
  schedule_bus();
}

}  // namespace millrace::board
