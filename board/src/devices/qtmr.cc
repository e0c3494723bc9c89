// SPDX-License-Identifier: Apache-2.0
// The module goes from change to change: a compare or a rollover of any counter that runs from the
// IPG clock. A counter that equals its compare value raises TCF; with LENGTH the next count loads
// LOAD, so that a period is COMP1 - LOAD + 1 counts (the Teensy core's PWM relies on it).
//
// If somebody could see a change, an event stands at the next one. If not, a long time may pass
// before anybody looks; going through every change would then cost the host time for nothing. But a
// module that nobody touches comes back to a state that it has been in, and from there whole rounds
// are skipped (Brent's cycle search: the state is remembered at steps 1, 2, 4, 8, ...). The
// prescalers are taken from one divider that runs free, so their phase is part of the state.
#include "devices/qtmr.h"

#include <algorithm>

namespace millrace::board {
namespace {

// Of a channel, 0x20 apart.
constexpr uint32_t kComp1 = 0x00, kComp2 = 0x02, kCapt = 0x04, kLoad = 0x06, kHold = 0x08,
                   kCntr = 0x0A, kCtrl = 0x0C, kSctrl = 0x0E, kCmpld1 = 0x10, kCmpld2 = 0x12,
                   kCsctrl = 0x14, kFilt = 0x16, kDma = 0x18, kEnbl = 0x1E;
constexpr uint32_t kStride = 0x20;
// CTRL.
constexpr uint32_t kOnce = 1u << 6, kLength = 1u << 5, kDir = 1u << 4, kCoinit = 1u << 3;
constexpr uint32_t kModeNone = 0, kModeRising = 1, kModeBoth = 2, kModeCascaded = 7;
// SCTRL.
constexpr uint32_t kTcf = 1u << 15, kTcfie = 1u << 14, kTof = 1u << 13, kTofie = 1u << 12,
                   kCaptureMode = 3u << 6, kMstr = 1u << 5, kEeof = 1u << 4, kVal = 1u << 3,
                   kForce = 1u << 2, kOps = 1u << 1;
// CSCTRL.
constexpr uint32_t kAltLoad = 1u << 12, kUp = 1u << 9, kTcf2en = 1u << 7, kTcf1en = 1u << 6,
                   kTcf2 = 1u << 5, kTcf1 = 1u << 4;
// DMA.
constexpr uint32_t kCmpld2de = 1u << 2, kCmpld1de = 1u << 1;
// Channel::flags.
constexpr uint8_t kFlagTcf = 1, kFlagTof = 2, kFlagTcf1 = 4, kFlagTcf2 = 8;

constexpr uint64_t kPrescalers = 128;  // the slowest

constexpr std::array<RegisterSpec, size_t{14} * Qtmr::kChannels> make_table() {
  constexpr RegisterSpec kChannel[] = {
      {kComp1, "COMP1", 0, 0xFFFF},   {kComp2, "COMP2", 0, 0xFFFF},
      {kCapt, "CAPT", 0, 0},          {kLoad, "LOAD", 0, 0xFFFF},
      {kHold, "HOLD", 0, 0xFFFF},     {kCntr, "CNTR", 0, 0},
      {kCtrl, "CTRL", 0, 0xFFFF},     {kSctrl, "SCTRL", 0, 0x56FB},
      {kCmpld1, "CMPLD1", 0, 0xFFFF}, {kCmpld2, "CMPLD2", 0, 0xFFFF},
      {kCsctrl, "CSCTRL", 0, 0xFCCF}, {kFilt, "FILT", 0, 0x7FF},
      {kDma, "DMA", 0, 0x7},          {kEnbl, "ENBL", 0xF, 0xF},
  };
  std::array<RegisterSpec, size_t{14} * Qtmr::kChannels> table{};
  size_t n = 0;
  for (uint32_t channel = 0; channel < Qtmr::kChannels; ++channel) {
    for (RegisterSpec spec : kChannel) {
      if (spec.offset == kEnbl && channel != 0) continue;
      spec.offset += channel * kStride;
      table[n++] = spec;
    }
  }
  return table;
}
constexpr auto kTable = make_table();
constexpr size_t kRegisters = kTable.size() - (Qtmr::kChannels - 1);  // one ENBL

uint32_t mode(uint32_t control) { return control >> 13 & 7; }
uint32_t primary(uint32_t control) { return control >> 9 & 0xF; }

}  // namespace

Qtmr::Qtmr(DeviceHost& host, Clocks& clocks, unsigned number, Output output, DmaLine dma)
    : host_(host),
      clocks_(clocks),
      number_(number),
      name_("TMR" + std::to_string(number)),
      output_(std::move(output)),
      dma_(std::move(dma)),
      registers_(std::span(kTable).first(kRegisters), 2, *this, host),
      event_(&Qtmr::on_event, this) {
  clocks.add_user(*this);
  ticks_.start(host.events().now(), clocks.hz(Clock::ipg), clocks.hz(Clock::core));
}

void Qtmr::before_clock_change(Cycles now) { settle(now); }

void Qtmr::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(Clock::ipg), clocks_.hz(Clock::core));
  update();
}

void Qtmr::on_event(void* context, Cycles when) {
  Qtmr* self = static_cast<Qtmr*>(context);
  self->settle(when);
  self->update();
}

void Qtmr::reset() {
  registers_.reset();
  state_ = {};
  load_requests_ = 0;
  update();
}

void Qtmr::watch(unsigned channel, bool on) {
  settle(host_.events().now());
  if (on) {
    ++watchers_[channel];
  } else if (watchers_[channel] != 0) {
    --watchers_[channel];
  }
  update();
}

uint32_t Qtmr::reg(unsigned channel, uint32_t offset) const {
  return registers_[channel * kStride + offset];
}

bool Qtmr::clocked(unsigned channel) const {
  const uint32_t control = reg(channel, kCtrl);
  const bool counts = mode(control) == kModeRising || mode(control) == kModeBoth;
  return counts && primary(control) >= 8 && !state_[channel].stopped &&
         (registers_[kEnbl] >> channel & 1) != 0;
}

unsigned Qtmr::shift(unsigned channel) const { return primary(reg(channel, kCtrl)) - 8; }

bool Qtmr::down(unsigned channel) const { return (reg(channel, kCtrl) & kDir) != 0; }

// Counts until the counter equals its compare value, loads, or rolls over; at most 65536.
uint32_t Qtmr::counts_to_change(unsigned channel) const {
  const Channel& c = state_[channel];
  if (c.reload) return 1;
  const bool alternating = (reg(channel, kCtrl) & 7) == 4;
  const bool second = alternating ? c.second : down(channel);
  const uint32_t target = second ? c.compare2 : c.compare1;
  const uint32_t rollover = down(channel) ? c.count + 1u : 0x10000u - c.count;
  const uint32_t distance = (down(channel) ? c.count - target : target - c.count) & 0xFFFF;
  return distance == 0 ? rollover : std::min(distance, rollover);
}

uint64_t Qtmr::ticks_to_change(unsigned channel) const {
  const unsigned s = shift(channel);
  return (((settled_ >> s) + counts_to_change(channel)) << s) - settled_;
}

uint64_t Qtmr::ticks_to_any() const {
  uint64_t first = 0;
  for (unsigned i = 0; i < kChannels; ++i) {
    if (!clocked(i)) continue;
    const uint64_t ticks = ticks_to_change(i);
    if (first == 0 || ticks < first) first = ticks;
  }
  return first;
}

bool Qtmr::observed() const {
  for (unsigned i = 0; i < kChannels; ++i) {
    const uint32_t status = reg(i, kSctrl), compare = reg(i, kCsctrl);
    const uint8_t unseen = static_cast<uint8_t>(~state_[i].flags);
    if (watchers_[i] != 0 && output_) return true;
    if (dma_ && (reg(i, kDma) & (kCmpld1de | kCmpld2de)) != 0) return true;
    if ((status & kTcfie) != 0 && (unseen & kFlagTcf) != 0) return true;
    if ((status & kTofie) != 0 && (unseen & kFlagTof) != 0) return true;
    if ((compare & kTcf1en) != 0 && (unseen & kFlagTcf1) != 0) return true;
    if ((compare & kTcf2en) != 0 && (unseen & kFlagTcf2) != 0) return true;
  }
  return false;
}

// `depth` bounds chains of counters that clock each other.
void Qtmr::set_output(unsigned channel, bool level, unsigned depth) {
  Channel& c = state_[channel];
  if (c.output == level) return;
  c.output = level;
  const bool pin = level != ((reg(channel, kSctrl) & kOps) != 0);
  if (watchers_[channel] != 0 && output_) output_(channel, pin, ticks_.when(settled_));
  if (depth == 0) return;
  for (unsigned i = 0; i < kChannels; ++i) {
    const uint32_t control = reg(i, kCtrl);
    if (i == channel || primary(control) != 4 + channel) continue;
    if (mode(control) == kModeBoth || (mode(control) == kModeRising && level)) {
      count(i, 1, depth - 1);
    }
  }
}

void Qtmr::compare(unsigned channel, unsigned depth) {
  Channel& c = state_[channel];
  const uint32_t control = reg(channel, kCtrl), loads = reg(channel, kCsctrl);
  const uint32_t output_mode = control & 7;
  const bool second = output_mode == 4 ? c.second : down(channel);
  c.flags |= kFlagTcf | (second ? kFlagTcf2 : kFlagTcf1);
  // CL1 and CL2: 1 after a compare with COMP1, 2 with COMP2.
  const uint32_t which = second ? 2 : 1;
  if ((loads & 3) == which) {
    c.compare1 = static_cast<uint16_t>(reg(channel, kCmpld1));
    load_requests_ |= static_cast<uint8_t>(1u << channel);
  }
  if ((loads >> 2 & 3) == which) {
    c.compare2 = static_cast<uint16_t>(reg(channel, kCmpld2));
    load_requests_ |= static_cast<uint8_t>(0x10u << channel);
  }
  const bool once = (control & kOnce) != 0 && (output_mode != 4 || second);
  if (output_mode == 4) c.second = !c.second;
  c.reload = (control & kLength) != 0;
  if (once) c.stopped = true;
  switch (output_mode) {
    case 0:  // asserted while the counter is active
      if (once) set_output(channel, false, depth);
      break;
    case 1:
      set_output(channel, false, depth);
      break;
    case 2:
    case 5:
    case 6:
      set_output(channel, true, depth);
      break;
    case 3:
    case 4:
      set_output(channel, !c.output, depth);
      break;
    default:
      break;
  }
  if (depth == 0) return;
  for (unsigned i = 0; i < kChannels; ++i) {
    const uint32_t other = reg(i, kCtrl);
    if (i != channel && mode(other) == kModeCascaded && primary(other) == 4 + channel) {
      count(i, 1, depth - 1);
    }
  }
}

// REQUIRES: counts <= counts_to_change(), unless it is 1.
void Qtmr::count(unsigned channel, uint32_t counts, unsigned depth) {
  Channel& c = state_[channel];
  if (counts == 0 || c.stopped || (registers_[kEnbl] >> channel & 1) == 0) return;
  const bool changes = counts == counts_to_change(channel);
  if (c.reload) {
    c.reload = false;
    const bool alternate = down(channel) && (reg(channel, kCsctrl) & kAltLoad) != 0;
    c.count = static_cast<uint16_t>(reg(channel, alternate ? kCmpld2 : kLoad));
  } else {
    const uint32_t before = c.count;
    c.count = static_cast<uint16_t>(down(channel) ? before - counts : before + counts);
    if (changes && c.count == (down(channel) ? 0xFFFF : 0)) {
      c.flags |= kFlagTof;
      if ((reg(channel, kCtrl) & 7) == 6) set_output(channel, false, depth);
    }
  }
  if (!changes) return;
  const bool alternating = (reg(channel, kCtrl) & 7) == 4;
  const bool second = alternating ? c.second : down(channel);
  if (c.count == (second ? c.compare2 : c.compare1)) compare(channel, depth);
}

// REQUIRES: ticks <= ticks_to_any(), if anything counts.
void Qtmr::step(uint64_t ticks) {
  std::array<uint32_t, kChannels> counts{};
  for (unsigned i = 0; i < kChannels; ++i) {
    if (!clocked(i)) continue;
    const unsigned s = shift(i);
    counts[i] = static_cast<uint32_t>(((settled_ + ticks) >> s) - (settled_ >> s));
  }
  settled_ += ticks;
  for (unsigned i = 0; i < kChannels; ++i) count(i, counts[i], kChannels);
}

void Qtmr::settle(Cycles now) {
  const uint64_t end = ticks_.count(now);
  State remembered = state_;
  uint64_t remembered_at = settled_, steps = 0, limit = 1;
  bool skips = !observed();
  while (settled_ < end) {
    const uint64_t ticks = ticks_to_any();
    if (ticks == 0 || ticks > end - settled_) {
      step(end - settled_);
      return;
    }
    step(ticks);
    if (!skips) continue;
    const uint64_t round = settled_ - remembered_at;
    if (state_ == remembered && round % kPrescalers == 0) {
      settled_ += (end - settled_) / round * round;
      skips = false;
    } else if (++steps == limit) {
      limit *= 2;
      steps = 0;
      remembered = state_;
      remembered_at = settled_;
    }
  }
}

void Qtmr::update() {
  bool level = false;
  uint32_t lines = 0;
  for (unsigned i = 0; i < kChannels; ++i) {
    const uint32_t status = reg(i, kSctrl), compare = reg(i, kCsctrl);
    const uint8_t flags = state_[i].flags;
    level = level || ((status & kTcfie) != 0 && (flags & kFlagTcf) != 0) ||
            ((status & kTofie) != 0 && (flags & kFlagTof) != 0) ||
            ((compare & kTcf1en) != 0 && (flags & kFlagTcf1) != 0) ||
            ((compare & kTcf2en) != 0 && (flags & kFlagTcf2) != 0);
    // Chapter 4: the CMPLD2 request of channel n shares the source of channel n ^ 1.
    const uint32_t dma = reg(i, kDma);
    if ((dma & kCmpld1de) != 0 && (load_requests_ >> i & 1) != 0) lines |= 1u << i;
    if ((dma & kCmpld2de) != 0 && (load_requests_ >> (i + 4) & 1) != 0) lines |= 1u << (i ^ 1);
  }
  if (level != level_) {
    level_ = level;
    host_.set_interrupt(kIrq1 + number_ - 1, level);
  }
  constexpr unsigned kSources[] = {52, 116, 60, 120};
  for (unsigned i = 0; i < kChannels && dma_; ++i) {
    if (((lines ^ lines_) >> i & 1) == 0) continue;
    lines_ ^= static_cast<uint8_t>(1u << i);
    dma_(kSources[number_ - 1] + i, (lines >> i & 1) != 0);
  }
  const uint64_t ticks = observed() ? ticks_to_any() : 0;
  schedule_at(host_.events(), event_, ticks == 0 ? kNever : ticks_.when(settled_ + ticks));
}

uint32_t Qtmr::read_half(uint32_t offset) {
  const unsigned channel = offset / kStride;
  if (channel >= kChannels || !registers_.has(offset)) return registers_.read(offset, 2);
  const Channel& c = state_[channel];
  const uint32_t value = registers_[offset];
  switch (offset % kStride) {
    case kComp1:
      return c.compare1;
    case kComp2:
      return c.compare2;
    case kCntr:  // reading one counter holds the others
      for (unsigned i = 0; i < kChannels; ++i) registers_[i * kStride + kHold] = state_[i].count;
      return c.count;
    case kSctrl:
      return value | ((c.flags & kFlagTcf) != 0 ? kTcf : 0) |
             ((c.flags & kFlagTof) != 0 ? kTof : 0);
    case kCsctrl:
      return value | ((c.flags & kFlagTcf1) != 0 ? kTcf1 : 0) |
             ((c.flags & kFlagTcf2) != 0 ? kTcf2 : 0) | (down(channel) ? 0 : kUp);
    default:
      return value;
  }
}

uint32_t Qtmr::read(uint32_t offset, unsigned size, Cycles now) {
  settle(now);
  uint32_t value = read_half(offset & ~1u);
  if (size == 4) value |= read_half(offset + 2) << 16;
  if (size == 1) value = value >> (8 * (offset & 1)) & 0xFF;
  update();
  return value;
}

void Qtmr::write_control(unsigned channel, uint32_t before) {
  const uint32_t control = reg(channel, kCtrl);
  Channel& c = state_[channel];
  c.stopped = c.reload = false;
  if (mode(control) != mode(before)) c.second = false;
  const uint32_t m = mode(control);
  const bool pins = m >= 3 && m != kModeCascaded;
  if (pins || (m != kModeNone && primary(control) < 4) || (control & kCoinit) != 0 ||
      (control & 7) == 5 || (control & 7) == 7) {
    host_.report_unknown(*this, channel * kStride + kCtrl, true);
  }
  if ((control & 7) == 0) set_output(channel, m != kModeNone, kChannels);
}

// TCF and TOF are cleared by writing 0; FORCE gives OFLAG the value of VAL.
void Qtmr::write_status(unsigned channel, uint32_t bits, uint32_t mask) {
  Channel& c = state_[channel];
  if ((mask & kTcf) != 0 && (bits & kTcf) == 0) c.flags &= static_cast<uint8_t>(~kFlagTcf);
  if ((mask & kTof) != 0 && (bits & kTof) == 0) c.flags &= static_cast<uint8_t>(~kFlagTof);
  if ((bits & kForce) != 0) set_output(channel, (bits & kVal) != 0, kChannels);
  if ((bits & (kCaptureMode | kMstr | kEeof)) != 0) {
    host_.report_unknown(*this, channel * kStride + kSctrl, true);
  }
}

// `bits` and `mask`: what was written of the halfword at `offset`.
void Qtmr::write_half(uint32_t offset, uint32_t bits, uint32_t mask, unsigned size,
                      uint32_t value) {
  const RegisterChange change = registers_.write(offset, size, value);
  const unsigned channel = change.offset / kStride;
  if (!change.known) return;
  Channel& c = state_[channel];
  switch (change.offset % kStride) {
    case kComp1:
      c.compare1 = static_cast<uint16_t>((c.compare1 & ~mask) | bits);
      break;
    case kComp2:
      c.compare2 = static_cast<uint16_t>((c.compare2 & ~mask) | bits);
      break;
    case kCntr:
      c.count = static_cast<uint16_t>((c.count & ~mask) | bits);
      c.reload = false;
      break;
    case kCtrl:
      write_control(channel, change.before);
      break;
    case kSctrl:
      write_status(channel, bits, mask);
      break;
    case kCsctrl:
      if ((mask & kTcf1) != 0 && (bits & kTcf1) == 0) c.flags &= static_cast<uint8_t>(~kFlagTcf1);
      if ((mask & kTcf2) != 0 && (bits & kTcf2) == 0) c.flags &= static_cast<uint8_t>(~kFlagTcf2);
      break;
    case kCmpld1:
      load_requests_ &= static_cast<uint8_t>(~(1u << channel));
      break;
    case kCmpld2:
      load_requests_ &= static_cast<uint8_t>(~(0x10u << channel));
      break;
    default:
      break;
  }
}

void Qtmr::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  settle(now);
  for (unsigned done = 0; done < size; done += 2) {
    const unsigned part = std::min(size, 2u);
    const unsigned shift = 8 * ((offset + done) & 1);
    const uint32_t mask = (part == 1 ? 0xFFu : 0xFFFFu) << shift;
    const uint32_t piece = value >> (8 * done) & (part == 1 ? 0xFFu : 0xFFFFu);
    write_half(offset + done, piece << shift, mask, part, piece);
  }
  update();
}

void Qtmr::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  ticks_.snapshot(s);
  s.field("settled", settled_);
  for (Channel& c : state_) {
    s.field("count", c.count);
    s.field("compare1", c.compare1);
    s.field("compare2", c.compare2);
    s.field("second", c.second);
    s.field("reload", c.reload);
    s.field("stopped", c.stopped);
    s.field("output", c.output);
    s.field("flags", c.flags);
  }
  s.field("watchers", watchers_);
  s.field("load_requests", load_requests_);
  s.field("lines", lines_);
  s.field("level", level_);
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
