// SPDX-License-Identifier: Apache-2.0
// Microframes, and which transaction is next: periodic endpoints that are due, then control and
// bulk in turn. A transaction starts only if its longest outcome ends within the microframe (frame
// at full speed). Times are those behind USB 2.0 tables 5-9 and 5-10, bit stuffing left out.
#include <algorithm>

#include "usb/usb_host.h"

namespace millrace::board {
namespace {

constexpr uint64_t kMicroframe = 7500;
constexpr uint64_t kFrame = 60000;
constexpr uint64_t kFullByte = 40;
// A bulk transaction beyond its data (5.8.4). High speed: three packets with 4 bytes of SYNC, 1 of
// PID and 1 + 11 between packets each, 2 of address and CRC, 2 of CRC16. Full: 3 + 3 + 2 + 2 + 3.
constexpr uint64_t kHighOverhead = 55, kFullOverhead = 13;
// Token and handshake alone, by the same sums: 2 * (4 + 1 + 12) + 2, and 2 + 2 + 2 + 2.
constexpr uint64_t kHighTokenOnly = 36, kFullTokenOnly = 8;
// SYNC, PID, frame number and CRC, gap; the high-speed one has a long EOP (7.1.13.2).
constexpr uint64_t kHighSof = 24, kFullSof = 6;

}  // namespace

UsbHost::Tick UsbHost::packet_ticks(uint32_t bytes, bool with_data) const {
  if (high()) return with_data ? kHighOverhead + bytes : kHighTokenOnly;
  return kFullByte * (with_data ? kFullOverhead + bytes : kFullTokenOnly);
}

// Of the pipe's next transaction.
UsbHost::Tick UsbHost::longest(const Pipe& pipe) const {
  return packet_ticks(std::max<uint32_t>(pipe.config.max_packet, 8), true);
}

// From one poll in vain to the next.
UsbHost::Tick UsbHost::poll_ticks(const Pipe& pipe) const {
  const UsbTransaction::Kind kind = next_kind(pipe);
  const bool with_data = kind == UsbTransaction::Kind::out;
  const auto size = with_data ? static_cast<uint32_t>(out_data(pipe).size()) : 0;
  return packet_ticks(size, with_data) + ticks_of(profile_.gap_after_nak_ns);
}

// When the pipe's next transaction may start in this microframe, from `tick` on; UINT64_MAX: not.
UsbHost::Tick UsbHost::earliest(const Pipe& pipe, Tick tick) const {
  if (pipe.first == nullptr || pipe.is_halted) return UINT64_MAX;
  if (pipe.config.transfer == UsbTransfer::interrupt && !pipe.is_due) return UINT64_MAX;
  if (pipe.config.transfer == UsbTransfer::bulk && high() && credit_milli_ < 1000) {
    return UINT64_MAX;
  }
  const Tick start = std::max({tick, bus_free_, pipe.ready});
  return start < next_frame_ && longest(pipe) <= next_frame_ - start ? start : UINT64_MAX;
}

UsbHost::Tick UsbHost::next_transaction(Tick tick) const {
  Tick next = next_frame_;
  if (state_ != UsbPortState::enabled) return next;
  for (const uint8_t index : order_) next = std::min(next, earliest(pipes_[index], tick));
  return next;
}

void UsbHost::start_frame(Tick tick, Cycles now) {
  ++counts_.frames;
  frame_ += high() ? 1 : 8;
  next_frame_ = tick + (high() ? kMicroframe : kFrame);
  bus_free_ = tick + (high() ? kHighSof : kFullSof * kFullByte);
  // Only a fraction of a packet carries over: an idle microframe gives nothing to the next.
  credit_milli_ = credit_milli_ % 1000 + profile_.packets_per_microframe_milli;
  const uint32_t number = high() ? frame_ : frame_ / 8;
  for (const uint8_t index : order_) {
    Pipe& pipe = pipes_[index];
    // Spread over the period by endpoint, so that not all are due at once.
    if (pipe.config.transfer == UsbTransfer::interrupt &&
        number % pipe.period == index % pipe.period) {
      pipe.is_due = true;
    }
  }
  if (monitor_ != nullptr) {
    UsbTransaction sof;
    sof.kind = UsbTransaction::Kind::start_of_frame;
    sof.speed = speed_;
    sof.start_ns = ns_of(tick);
    sof.frame = frame_ / 8 % 2048;
    monitor_->transaction(sof);
  }
  device_.start_of_frame(frame_ % 16384, now);
}

void UsbHost::start_transaction(Tick tick, Cycles now) {
  if (state_ != UsbPortState::enabled) return;
  for (const uint8_t index : order_) {
    const bool is_periodic = pipes_[index].config.transfer == UsbTransfer::interrupt;
    if (is_periodic && earliest(pipes_[index], tick) <= tick) return begin(index, tick, now);
  }
  for (size_t i = 0; i < order_.size(); ++i) {
    const size_t turn = (turn_ + i) % order_.size();
    const uint8_t index = order_[turn];
    if (earliest(pipes_[index], tick) > tick) continue;
    turn_ = turn + 1;
    return begin(index, tick, now);
  }
}

// The sleeping pipe is asked at the first of its polls at or behind `tick`.
void UsbHost::wake(Pipe& pipe, Tick tick) {
  if (!pipe.is_asleep || pipe.first == nullptr) return;
  const Tick period = pipe.poll_period;
  const Tick polls = tick > pipe.next_poll ? (tick - pipe.next_poll + period - 1) / period : 0;
  pipe.ready = std::min(pipe.ready, pipe.next_poll + polls * period);
}

// Counts the polls that were not made before `tick`.
void UsbHost::stop_sleeping(Pipe& pipe, Tick tick) {
  if (!pipe.is_asleep) return;
  pipe.is_asleep = false;
  pipe.ready = 0;
  if (tick <= pipe.next_poll) return;
  counts_.naks_skipped += (tick - pipe.next_poll + pipe.poll_period - 1) / pipe.poll_period;
}

}  // namespace millrace::board
