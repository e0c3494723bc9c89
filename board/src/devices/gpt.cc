// SPDX-License-Identifier: Apache-2.0
// As the PIT, nothing runs per tick: flags and counter follow from the ticks that have passed, and
// an event stands where an enabled flag rises. The prescaler is part of the clock: Ticks counts
// `source / prescale` exactly as a core clock that is `prescale` times as fast.
#include "devices/gpt.h"

#include <algorithm>

namespace millrace::board {
namespace {

constexpr uint32_t kCr = 0x00, kPr = 0x04, kSr = 0x08, kIr = 0x0C, kOcr1 = 0x10, kCnt = 0x24;
constexpr uint32_t kEn = 1u << 0, kEnmod = 1u << 1, kFrr = 1u << 9, kEn24m = 1u << 10,
                   kSwr = 1u << 15;
constexpr uint32_t kPinModes = 0xFFFF0000;  // FO, OM, IM
constexpr uint32_t kKeptBySwr = 0x3F;       // EN, ENMOD, DBGEN, WAITEN, DOZEEN, STOPEN
constexpr unsigned kFlagCompare = 0, kFlagRollover = 5;
constexpr uint32_t kModelledFlags = 1u << kFlagRollover | 7;

constexpr RegisterSpec kTable[] = {
    {kCr, "CR", 0, 0xFFFF87FF},
    {kPr, "PR", 0, 0xFFFF},
    {kSr, "SR", 0, 0x3F, RegisterKind::one_clears},
    {kIr, "IR", 0, 0x3F},
    {0x10, "OCR1", 0xFFFFFFFF},
    {0x14, "OCR2", 0xFFFFFFFF},
    {0x18, "OCR3", 0xFFFFFFFF},
    {0x1C, "ICR1", 0, 0},
    {0x20, "ICR2", 0, 0},
    {kCnt, "CNT", 0, 0},
};

}  // namespace

Gpt::Gpt(DeviceHost& host, Clocks& clocks, unsigned number)
    : host_(host),
      clocks_(clocks),
      number_(number),
      registers_(kTable, 4, *this, host),
      event_(&Gpt::on_event, this) {
  clocks.add_user(*this);
  ticks_.start(host.events().now(), 0, clocks.hz(Clock::core));
}

void Gpt::before_clock_change(Cycles now) { settle(now); }

void Gpt::after_clock_change(Cycles now) {
  retime(now);
  update();
}

void Gpt::on_event(void* context, Cycles when) {
  Gpt* self = static_cast<Gpt*>(context);
  self->settle(when);
  self->update();
}

void Gpt::reset() {
  registers_.reset();
  count_ = 0;
  ticks_.start(host_.events().now(), 0, clocks_.hz(Clock::core));
  settled_ = 0;
  update();
}

bool Gpt::restarts() const { return (registers_[kCr] & kFrr) == 0; }

uint64_t Gpt::source_hz() const {
  const uint32_t control = registers_[kCr];
  switch (control >> 6 & 7) {
    case 1:  // "peripheral clock" and "high frequency reference" are both PERCLK_CLK_ROOT (ch. 14)
    case 2:
      return clocks_.hz(Clock::perclk);
    case 4:
      return clocks_.hz(Clock::osc32k);
    case 5:
      return (control & kEn24m) != 0 ? clocks_.hz(Clock::osc24m) : 0;
    default:  // none, external
      return 0;
  }
}

uint64_t Gpt::prescale() const {
  const uint64_t prescaler = (registers_[kPr] & 0xFFF) + 1;
  const bool crystal = (registers_[kCr] >> 6 & 7) == 5;
  return crystal ? prescaler * ((registers_[kPr] >> 12 & 0xF) + 1) : prescaler;
}

void Gpt::retime(Cycles now) {
  const bool runs = (registers_[kCr] & kEn) != 0;
  ticks_.change(now, runs ? source_hz() : 0, clocks_.hz(Clock::core) * prescale());
}

uint32_t Gpt::last_before_zero() const {
  return restarts() && count_ <= registers_[kOcr1] ? registers_[kOcr1] : 0xFFFFFFFF;
}

uint64_t Gpt::ticks_to(uint32_t target) const {
  const uint32_t last = last_before_zero();
  if (target > count_ && target <= last) return target - count_;
  if (restarts() && target > registers_[kOcr1]) return 0;
  return uint64_t{last} - count_ + 1 + target;
}

uint64_t Gpt::ticks_to_flag(unsigned bit) const {
  if (bit == kFlagRollover) {
    const uint32_t last = last_before_zero();
    return last == 0xFFFFFFFF ? uint64_t{last} - count_ + 1 : 0;
  }
  return ticks_to(registers_[kOcr1 + 4 * (bit - kFlagCompare)]);
}

void Gpt::settle(Cycles now) {
  const uint64_t tick = ticks_.count(now);
  if (tick <= settled_) return;
  const uint64_t passed = tick - settled_;
  settled_ = tick;
  for (unsigned bit = 0; bit <= kFlagRollover; ++bit) {
    if ((kModelledFlags >> bit & 1) == 0) continue;
    const uint64_t ticks = ticks_to_flag(bit);
    if (ticks != 0 && ticks <= passed) registers_[kSr] |= 1u << bit;
  }
  const uint32_t last = last_before_zero();
  if (passed <= last - count_) {
    count_ += static_cast<uint32_t>(passed);
  } else {
    const uint64_t period = restarts() ? uint64_t{registers_[kOcr1]} + 1 : uint64_t{1} << 32;
    count_ = static_cast<uint32_t>((passed - (last - count_) - 1) % period);
  }
}

void Gpt::update() {
  const uint32_t enabled = registers_[kIr], status = registers_[kSr];
  const bool level = (enabled & status) != 0;
  if (level != level_) {
    level_ = level;
    host_.set_interrupt(number_ == 1 ? kIrq1 : kIrq2, level);
  }
  uint64_t first = 0;
  for (unsigned bit = 0; bit <= kFlagRollover; ++bit) {
    if ((enabled & ~status & kModelledFlags & 1u << bit) == 0) continue;
    const uint64_t ticks = ticks_to_flag(bit);
    if (ticks != 0 && (first == 0 || ticks < first)) first = ticks;
  }
  schedule_at(host_.events(), event_, first == 0 ? kNever : ticks_.when(settled_ + first));
}

void Gpt::write_control(uint32_t before, Cycles now) {
  uint32_t control = registers_[kCr];
  if ((control & ~before & kPinModes) != 0 || (control >> 6 & 7) == 3) {
    host_.report_unknown(*this, kCr, true);
  }
  if ((control & kSwr) != 0) {
    registers_.reset();
    control &= kKeptBySwr;
    count_ = 0;
  }
  control &= ~(7u << 29);  // FO reads 0
  registers_[kCr] = control;
  if ((control & ~before & kEn) != 0 && (control & kEnmod) != 0) {
    count_ = 0;
    ticks_.start(now, 0, clocks_.hz(Clock::core));  // the prescaler starts again too
    settled_ = 0;
  }
  retime(now);
}

uint32_t Gpt::read(uint32_t offset, unsigned size, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size);
  const uint32_t value = registers_.read(offset, size);
  update();
  return lanes.offset == kCnt ? lanes.extract(count_) : value;
}

void Gpt::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  settle(now);
  const RegisterChange change = registers_.write(offset, size, value);
  if (change.known && change.offset == kCr) {
    write_control(change.before, now);
  } else if (change.known && change.offset == kPr) {
    retime(now);
  } else if (change.known && change.offset == kOcr1 && restarts()) {
    count_ = 0;  // a write to OCR1 in restart mode resets the counter (chapter 52)
  }
  update();
}

void Gpt::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  ticks_.snapshot(s);
  s.field("settled", settled_);
  s.field("count", count_);
  s.field("level", level_);
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
