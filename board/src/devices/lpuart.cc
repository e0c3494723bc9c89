// SPDX-License-Identifier: Apache-2.0
// All times are ticks of the UART clock, which runs free: a frame that starts at tick t ends at
// t + bits * OSR * SBR, and the next one starts there, so that a long stream drifts by nothing.
// Nothing runs per bit; one event stands at the next end of a frame or idle period.
//
// The other end is taken to hold its bytes while RE is 0: a terminal that types before the sketch
// has called begin() would lose them on the bench too, but a test that feeds a board wants them.
#include "devices/lpuart.h"

#include <algorithm>
#include <bit>

namespace millrace::board {
namespace {

constexpr uint32_t kVerid = 0x00, kParam = 0x04, kGlobal = 0x08, kPincfg = 0x0C, kBaud = 0x10,
                   kStat = 0x14, kCtrl = 0x18, kData = 0x1C, kMatch = 0x20, kModir = 0x24,
                   kFifo = 0x28, kWater = 0x2C;

constexpr uint32_t kGlobalRst = 1u << 1;
constexpr uint32_t kBaudMatch = 3u << 30, kBaudM10 = 1u << 29, kBaudTdmae = 1u << 23,
                   kBaudRdmae = 1u << 21, kBaudSbns = 1u << 13;
constexpr uint32_t kLbkdif = 1u << 31, kRxedgif = 1u << 30, kRaf = 1u << 24, kTdre = 1u << 23,
                   kTc = 1u << 22, kRdrf = 1u << 21, kIdle = 1u << 20, kOr = 1u << 19;
constexpr uint32_t kErrorFlags = 0xFu << 16;  // OR, NF, FE, PF
constexpr uint32_t kMatchFlags = 3u << 14;    // MA1F, MA2F
constexpr uint32_t kFlags = kLbkdif | kRxedgif | kIdle | kErrorFlags | kMatchFlags;
constexpr uint32_t kStatModes = 0x3E000000;  // MSBF, RXINV, RWUID, BRK13, LBKDE
constexpr uint32_t kTxdir = 1u << 29, kTe = 1u << 19, kRe = 1u << 18, kRwu = 1u << 17,
                   kSbk = 1u << 16, kM7 = 1u << 11, kLoops = 1u << 7, kRsrc = 1u << 5, kM = 1u << 4,
                   kIlt = 1u << 2, kPe = 1u << 1, kPt = 1u << 0;
constexpr uint32_t kRxempt = 1u << 12, kIdline = 1u << 11;
constexpr uint32_t kTxof = 1u << 17, kRxuf = 1u << 16, kTxflush = 1u << 15, kRxflush = 1u << 14,
                   kTxofe = 1u << 9, kRxufe = 1u << 8, kTxfe = 1u << 7, kRxfe = 1u << 3;

// Reset values: 49.4.1.
constexpr RegisterSpec kTable[] = {
    {kVerid, "VERID", 0x04010003, 0},
    {kParam, "PARAM", 0x00000202, 0},  // both FIFOs 2^2 words
    {kGlobal, "GLOBAL", 0, kGlobalRst},
    {kPincfg, "PINCFG", 0, 0x3},
    {kBaud, "BAUD", 0x0F000004, 0xFFAFFFFF},
    {kStat, "STAT", 0, kStatModes},
    {kCtrl, "CTRL", 0, 0xFFFFCFFF},
    {kData, "DATA", 0, 0},
    {kMatch, "MATCH", 0, 0x03FF03FF},
    {kModir, "MODIR", 0, 0x0007033F},
    {kFifo, "FIFO", 0x11, 0x1F88},
    {kWater, "WATER", 0, 0x00030003},
};

}  // namespace

uint16_t Lpuart::Fifo::pop() {
  const uint16_t word = words[0];
  std::copy(words.begin() + 1, words.end(), words.begin());
  --count;
  return word;
}

void Lpuart::Fifo::snapshot(Snapshot& s) {
  s.field("words", words);
  s.field("count", count);
  if (count > kFifoWords) {
    s.fail("count", "is more than the FIFO holds");
    count = 0;
  }
}

Lpuart::Lpuart(DeviceHost& host, Clocks& clocks, unsigned number, Output output, DmaLine dma)
    : host_(host),
      clocks_(clocks),
      number_(number),
      name_("LPUART" + std::to_string(number)),
      output_(std::move(output)),
      dma_(std::move(dma)),
      registers_(kTable, 4, *this, host),
      event_(&Lpuart::on_event, this) {
  clocks.add_user(*this);
  ticks_.start(host.events().now(), clocks.hz(Clock::uart), clocks.hz(Clock::core));
}

void Lpuart::before_clock_change(Cycles now) { settle(now); }

void Lpuart::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(Clock::uart), clocks_.hz(Clock::core));
  update();
}

void Lpuart::on_event(void* context, Cycles when) {
  Lpuart* self = static_cast<Lpuart*>(context);
  self->settle(when);
  self->update();
}

void Lpuart::reset_registers() {
  registers_.reset();
  transmit_.count = receive_.count = 0;
  flags_ = fifo_flags_ = 0;
  preamble_ = sending_data_ = idle_before_ = idle_full_ = false;
  transmit_end_ = receive_end_ = idle_at_ = idle_full_at_ = kNone;
}

void Lpuart::reset() {
  reset_registers();
  update();
}

uint64_t Lpuart::bit_ticks() const {
  const uint32_t baud = registers_[kBaud];
  const uint32_t osr = baud >> 24 & 0x1F;  // 0 stands for 16; 1 and 2 are reserved
  return (osr == 0 ? 16 : osr + 1) * uint64_t{baud & 0x1FFF};
}

unsigned Lpuart::data_bits() const {
  const uint32_t control = registers_[kCtrl];
  unsigned bits = 8;
  if ((registers_[kBaud] & kBaudM10) != 0) {
    bits = 10;
  } else if ((control & kM) != 0) {
    bits = 9;
  } else if ((control & kM7) != 0) {
    bits = 7;
  }
  return (control & kPe) != 0 ? bits - 1 : bits;
}

unsigned Lpuart::frame_bits() const {
  const unsigned parity = (registers_[kCtrl] & kPe) != 0 ? 1 : 0;
  const unsigned stop = (registers_[kBaud] & kBaudSbns) != 0 ? 2 : 1;
  return 1 + data_bits() + parity + stop;
}

// The word as the receiver stores it: with PE the top bit is the parity (CTRL).
uint16_t Lpuart::parity_word(uint16_t word) const {
  const unsigned bits = data_bits();
  word = static_cast<uint16_t>(word & ((1u << bits) - 1));
  if ((registers_[kCtrl] & kPe) == 0) return word;
  const bool odd = (registers_[kCtrl] & kPt) != 0;
  const bool ones_odd = std::popcount(word) % 2 != 0;
  return static_cast<uint16_t>(word | (ones_odd != odd ? 1u : 0u) << bits);
}

unsigned Lpuart::transmit_depth() const {
  return (registers_[kFifo] & kTxfe) != 0 ? kFifoWords : 1;
}

unsigned Lpuart::receive_depth() const { return (registers_[kFifo] & kRxfe) != 0 ? kFifoWords : 1; }

bool Lpuart::transmit_empty() const {
  if (transmit_depth() == 1) return transmit_.count == 0;
  return transmit_.count <= (registers_[kWater] & 3);
}

bool Lpuart::receive_full() const {
  if (receive_depth() == 1) return receive_.count != 0;
  return receive_.count > (registers_[kWater] >> 16 & 3) || (idle_full_ && receive_.count != 0);
}

uint32_t Lpuart::status() const {
  uint32_t value = registers_[kStat] | flags_;
  if (receive_end_ != kNone) value |= kRaf;
  if (transmit_empty()) value |= kTdre;
  if (transmit_end_ == kNone && transmit_.count == 0 && !preamble_) value |= kTc;
  if (receive_full()) value |= kRdrf;
  return value;
}

void Lpuart::start_transmit(uint64_t tick) {
  const uint64_t bit = bit_ticks();
  if (transmit_end_ != kNone || bit == 0 || (registers_[kCtrl] & kTe) == 0) return;
  if (preamble_) {
    preamble_ = false;
    sending_data_ = false;
  } else if (transmit_.count != 0) {
    sending_ = transmit_.pop();
    sending_data_ = true;
  } else {
    return;
  }
  transmit_end_ = tick + bit * frame_bits();
}

void Lpuart::end_transmit(uint64_t tick) {
  transmit_end_ = kNone;
  const uint32_t control = registers_[kCtrl];
  if (sending_data_) {
    const uint8_t byte = static_cast<uint8_t>(sending_ & ((1u << data_bits()) - 1));
    if ((control & kLoops) != 0 && (control & kRsrc) == 0) {
      loop_back(byte, tick);
    } else if (output_ && ((control & kLoops) == 0 || (control & kTxdir) != 0)) {
      output_(byte, ticks_.when(tick));
    }
  }
  start_transmit(tick);
}

// The receiver sees the frame as it is sent; the pin is not used (CTRL.LOOPS).
void Lpuart::loop_back(uint8_t byte, uint64_t tick) {
  if ((registers_[kCtrl] & kRe) == 0) return;
  receiving_ = byte;
  flags_ |= kRxedgif;
  end_receive(tick);
}

bool Lpuart::receive(uint8_t byte) {
  if (waiting_input() >= kMaxInput) return false;
  if (input_head_ >= kMaxInput) {
    input_.erase(input_.begin(), input_.begin() + static_cast<ptrdiff_t>(input_head_));
    input_head_ = 0;
  }
  input_.push_back(byte);
  const Cycles now = host_.events().now();
  settle(now);
  start_receive(ticks_.count(now));
  update();
  return true;
}

void Lpuart::start_receive(uint64_t tick) {
  const uint64_t bit = bit_ticks();
  const uint32_t control = registers_[kCtrl];
  if (receive_end_ != kNone || bit == 0 || (control & kRe) == 0) return;
  if ((control & kLoops) != 0 && (control & kRsrc) == 0) return;
  if (input_head_ == input_.size()) return;
  receiving_ = input_[input_head_++];
  if (input_head_ == input_.size()) {
    input_.clear();
    input_head_ = 0;
  }
  receive_end_ = tick + bit * frame_bits();
  flags_ |= kRxedgif;  // the edge of the start bit
  idle_full_ = false;
  idle_at_ = idle_full_at_ = kNone;
}

void Lpuart::end_receive(uint64_t tick) {
  receive_end_ = kNone;
  const uint16_t word = parity_word(receiving_);
  // While OR is set nothing is stored, even if there is room (STAT.OR).
  if ((flags_ & kOr) != 0 || receive_.count >= receive_depth()) {
    flags_ |= kOr;
  } else {
    receive_.push(static_cast<uint16_t>(word | (idle_before_ ? kIdline : 0)));
  }
  idle_before_ = false;
  const uint32_t control = registers_[kCtrl];
  const unsigned frame = frame_bits();
  const uint64_t bit = bit_ticks();
  // With ILT 0 the ones at the end of the frame are part of the idle time.
  unsigned counted = 0;
  if ((control & kIlt) == 0) {
    const unsigned bits = data_bits() + ((control & kPe) != 0 ? 1 : 0);
    const unsigned stop = frame - 1 - bits;
    counted = stop + static_cast<unsigned>(std::countl_one(uint32_t{word} << (32 - bits)));
  }
  const uint64_t idle_bits = uint64_t{frame} << (control >> 8 & 7);
  idle_at_ = tick + bit * (idle_bits - counted);
  const uint32_t idle_fifo = registers_[kFifo] >> 10 & 7;
  if (idle_fifo != 0) idle_full_at_ = tick + (bit * frame << (idle_fifo - 1));
  start_receive(tick);
}

void Lpuart::settle(Cycles now) {
  const uint64_t tick = ticks_.count(now);
  for (;;) {
    const uint64_t due = std::min({transmit_end_, receive_end_, idle_at_, idle_full_at_});
    if (due == kNone || due > tick) return;
    if (due == transmit_end_) {
      end_transmit(due);
    } else if (due == receive_end_) {
      end_receive(due);
    } else if (due == idle_at_) {
      idle_at_ = kNone;
      flags_ |= kIdle;
      idle_before_ = true;
    } else {
      idle_full_at_ = kNone;
      idle_full_ = true;
    }
  }
}

void Lpuart::update() {
  const uint32_t control = registers_[kCtrl];
  const uint32_t baud = registers_[kBaud];
  const uint32_t status_now = status();
  // TIE, TCIE, RIE and ILIE stand where TDRE, TC, RDRF and IDLE do; the error enables 8 bits above
  // their flags; MA1IE, MA2IE, LBKDIE and RXEDGIE where their flags do, the last two 16 lower.
  constexpr uint32_t kSamePlace = kTdre | kTc | kRdrf | kIdle | kMatchFlags;
  const uint32_t enabled_fifo = ((registers_[kFifo] & (kTxofe | kRxufe)) << 8) & fifo_flags_;
  const bool level = (control & status_now & kSamePlace) != 0 ||
                     (control >> 8 & status_now & kErrorFlags) != 0 ||
                     (baud << 16 & status_now & (kLbkdif | kRxedgif)) != 0 || enabled_fifo != 0;
  if (level != level_) {
    level_ = level;
    host_.set_interrupt(kIrq1 + number_ - 1, level);
  }
  const uint64_t due = std::min({transmit_end_, receive_end_, idle_at_, idle_full_at_});
  schedule_at(host_.events(), event_, due == kNone ? kNever : ticks_.when(due));
  // DMAMUX sources (chapter 4): LPUART1, 3, 5, 7 TX are 2, 4, 6, 8; LPUART2, 4, 6, 8 66 and on.
  if (!dma_) return;
  const unsigned source = (number_ % 2 != 0 ? 2 : 66) + 2 * ((number_ - 1) / 2);
  const bool transmit = (baud & kBaudTdmae) != 0 && (status_now & kTdre) != 0;
  const bool receive = (baud & kBaudRdmae) != 0 && (status_now & kRdrf) != 0;
  if (transmit != transmit_request_) {
    transmit_request_ = transmit;
    dma_(source, transmit);
  }
  if (receive != receive_request_) {
    receive_request_ = receive;
    dma_(source + 1, receive);
  }
}

uint32_t Lpuart::read_data() {
  if (receive_.count == 0) {
    fifo_flags_ |= kRxuf;
    return kRxempt;
  }
  const uint32_t value = receive_.pop();
  if (receive_.count == 0) idle_full_ = false;
  return value;
}

uint32_t Lpuart::read(uint32_t offset, unsigned size, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size);
  uint32_t value;
  switch (lanes.offset) {
    case kStat:
      value = status();
      break;
    case kCtrl:
      // TE and RE read as 1 until the frame in progress is done (CTRL).
      value = registers_[kCtrl] | (transmit_end_ != kNone ? kTe : 0) |
              (receive_end_ != kNone ? kRe : 0);
      break;
    case kData:
      value = (lanes.mask & 0xFF) != 0 ? read_data() : receive_.count == 0 ? kRxempt : 0;
      break;
    case kFifo:
      value = registers_[kFifo] | fifo_flags_ | (transmit_.count == 0 ? 1u << 23 : 0) |
              (receive_.count == 0 ? 1u << 22 : 0);
      break;
    case kWater:
      value = registers_[kWater] | uint32_t{receive_.count} << 24 | uint32_t{transmit_.count} << 8;
      break;
    default:
      value = registers_.read(offset, size) << lanes.shift;
  }
  update();
  return lanes.extract(value);
}

void Lpuart::report_modes(uint32_t offset, uint32_t value, uint32_t unmodelled) {
  if ((value & unmodelled) != 0) host_.report_unknown(*this, offset, true);
}

void Lpuart::write_control(uint32_t before, uint64_t tick) {
  const uint32_t control = registers_[kCtrl];
  report_modes(kCtrl, control & ~before, kRwu | kSbk);  // wake-up by address, breaks
  if ((control & ~before & kTe) != 0) preamble_ = true;
  if ((control & kTe) == 0) preamble_ = false;
  start_transmit(tick);
  start_receive(tick);
}

void Lpuart::write_fifo(const Lanes& lanes) {
  fifo_flags_ &= ~lanes.bits;
  if ((lanes.bits & kTxflush) != 0) transmit_.count = 0;
  if ((lanes.bits & kRxflush) != 0) {
    receive_.count = 0;
    idle_full_ = false;
  }
}

void Lpuart::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  settle(now);
  const uint64_t tick = ticks_.count(now);
  const Lanes lanes(offset, size, value);
  if ((registers_[kGlobal] & kGlobalRst) != 0 && lanes.offset != kGlobal) return;
  const RegisterChange change = registers_.write(offset, size, value);
  switch (lanes.offset) {
    case kGlobal:
      if ((change.after & kGlobalRst) != 0) {
        reset_registers();
        registers_[kGlobal] = kGlobalRst;
      }
      break;
    case kBaud:
      report_modes(kBaud, change.after & ~change.before, kBaudMatch);  // address matching
      start_transmit(tick);
      start_receive(tick);
      break;
    case kStat:
      flags_ &= ~(lanes.bits & kFlags);
      break;
    case kCtrl:
      write_control(change.before, tick);
      break;
    case kData:
      if ((lanes.mask & 0xFF) == 0) break;
      if (transmit_.count >= transmit_depth()) {
        fifo_flags_ |= kTxof;
      } else {
        transmit_.push(static_cast<uint16_t>(lanes.bits & 0x3FF));
        start_transmit(tick);
      }
      break;
    case kFifo:
      write_fifo(lanes);
      break;
    default:
      break;
  }
  update();
}

void Lpuart::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  ticks_.snapshot(s);
  transmit_.snapshot(s);
  receive_.snapshot(s);
  input_.erase(input_.begin(), input_.begin() + static_cast<ptrdiff_t>(input_head_));
  input_head_ = 0;
  s.field("input", input_, kMaxInput);
  s.field("flags", flags_);
  s.field("fifo_flags", fifo_flags_);
  s.field("preamble", preamble_);
  s.field("sending_data", sending_data_);
  s.field("sending", sending_);
  s.field("receiving", receiving_);
  s.field("idle_before", idle_before_);
  s.field("idle_full", idle_full_);
  s.field("transmit_end", transmit_end_);
  s.field("receive_end", receive_end_);
  s.field("idle_at", idle_at_);
  s.field("idle_full_at", idle_full_at_);
  s.field("level", level_);
  s.field("transmit_request", transmit_request_);
  s.field("receive_request", receive_request_);
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
