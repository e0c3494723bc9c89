// SPDX-License-Identifier: Apache-2.0
// The counter steps from 1 to 0, which sets COUNTFLAG and pends the exception, and at the edge
// after 0 loads RVR: a period is RVR + 1 edges. From count v the wraps are therefore v,
// v + (RVR + 1), v + 2 (RVR + 1), ... edges away, the first only if v is not 0 already.
//
// The reference keeps its phase whether SysTick uses it or not, exactly: edges and remainder are
// taken from one integer division, so no rounding error grows.
#include "cpu/systick.h"

#include <algorithm>

namespace millrace::board {
namespace {

constexpr uint32_t kCsr = 0x10;
constexpr uint32_t kRvr = 0x14;
constexpr uint32_t kCvr = 0x18;
constexpr uint32_t kCalib = 0x1C;

constexpr uint32_t kEnable = 1;
constexpr uint32_t kTickInt = 2;
constexpr uint32_t kCoreClock = 4;
constexpr uint32_t kCountFlag = 1u << 16;

// 10 ms of the reference. NOREF and SKEW are 0.
constexpr uint32_t kCalibration = kSysTickReferenceHz / 100;

// Keeps phase_ + cycles * reference within 64 bits.
constexpr uint64_t kSpan = uint64_t{1} << 44;

}  // namespace

SysTick::SysTick(EventQueue& events, Nvic& nvic)
    : events_(events), nvic_(nvic), wrap_(&SysTick::on_wrap, this) {}

void SysTick::reset() {
  events_.cancel(wrap_);
  take_ticks(std::max(anchor_, events_.now()));
  clock_stands_ = false;
  control_ = 0;
  reload_ = 0;
  count_ = 0;
}

void SysTick::set_core_hz(uint64_t hz, Cycles now) {
  settle(now);
  phase_ = std::min(static_cast<uint64_t>(static_cast<double>(phase_) /
                                          static_cast<double>(core_hz_) * static_cast<double>(hz)),
                    hz - 1);
  core_hz_ = hz;
  schedule();
}

uint64_t SysTick::take_ticks(Cycles now) {
  if (now <= anchor_) {
    return 0;
  }
  const Cycles elapsed = now - anchor_;
  anchor_ = now;
  uint64_t edges = 0;
  for (Cycles rest = elapsed; rest != 0;) {
    const Cycles span = std::min<Cycles>(rest, kSpan);
    phase_ += span * kSysTickReferenceHz;
    edges += phase_ / core_hz_;
    phase_ %= core_hz_;
    rest -= span;
  }
  if (clock_stands_) return 0;
  return (control_ & kCoreClock) != 0 ? elapsed : edges;
}

// The same as take_ticks(), which stays the only one that moves.
uint64_t SysTick::ticks_until(Cycles now) const {
  const Cycles elapsed = now > anchor_ ? now - anchor_ : 0;
  if ((control_ & kCoreClock) != 0) return elapsed;
  return (phase_ + std::min<Cycles>(elapsed, kSpan) * kSysTickReferenceHz) / core_hz_;
}

bool SysTick::range(uint32_t offset, Cycles from, Cycles to, ValueRange* range) const {
  const bool runs = (control_ & kEnable) != 0;
  const uint64_t most = runs ? ticks_until(to) : 0;
  // A wrap sets COUNTFLAG, and a read of CSR clears it.
  if (to - anchor_ > kSpan || most >= count_ + (runs ? 0u : 1u)) return false;
  if (offset == kCsr && (control_ & kCountFlag) == 0) {
    *range = ValueRange::of(control_);
  } else if (offset == kRvr) {
    *range = ValueRange::of(reload_);
  } else if (offset == kCvr) {
    // Before the anchor it was higher, by no more than all these cycles.
    const Cycles before = from < anchor_ ? anchor_ - from : 0;
    const uint64_t least = runs ? ticks_until(from) : 0;
    const uint64_t high = std::max<uint64_t>(count_, std::min(count_ + before, uint64_t{reload_}));
    *range = ValueRange::between(count_ - static_cast<uint32_t>(most),
                                 static_cast<uint32_t>(high - least));
  } else {
    return false;
  }
  return true;
}

void SysTick::settle(Cycles now) {
  const uint64_t ticks = take_ticks(now);
  if ((control_ & kEnable) == 0 || ticks == 0) {
    return;
  }
  const uint64_t period = uint64_t{reload_} + 1;
  bool wrapped;
  if (ticks <= count_) {
    wrapped = ticks == count_;
    count_ -= static_cast<uint32_t>(ticks);
  } else {
    // `past`: edges after the one that loaded RVR.
    const uint64_t past = ticks - count_ - 1;
    wrapped = count_ != 0 || (reload_ != 0 && past >= reload_);
    count_ = static_cast<uint32_t>(reload_ - past % period);
  }
  if (wrapped) {
    control_ |= kCountFlag;
    if ((control_ & kTickInt) != 0) {
      nvic_.pend(kSysTick);
    }
  }
}

void SysTick::set_clock_stands(bool stands, Cycles now) {
  settle(now);
  clock_stands_ = stands;
  schedule();
}

void SysTick::schedule() {
  const bool wraps = count_ != 0 || reload_ != 0;
  if (clock_stands_ || (control_ & (kEnable | kTickInt)) != (kEnable | kTickInt) || !wraps) {
    events_.cancel(wrap_);
    return;
  }
  const uint64_t ticks = count_ != 0 ? count_ : uint64_t{reload_} + 1;
  Cycles cycles = ticks;
  if ((control_ & kCoreClock) == 0) {
    cycles = (ticks * core_hz_ - phase_ + kSysTickReferenceHz - 1) / kSysTickReferenceHz;
  }
  const Cycles due = anchor_ + cycles;
  if (!wrap_.scheduled() || wrap_.when() != due) {
    events_.schedule(wrap_, due);
  }
}

void SysTick::on_wrap(void* context, Cycles when) {
  SysTick* self = static_cast<SysTick*>(context);
  self->settle(when);
  self->schedule();
}

uint32_t SysTick::read(uint32_t offset, Cycles now) {
  settle(now);
  schedule();
  switch (offset) {
    case kCsr: {
      const uint32_t value = control_;
      control_ &= ~kCountFlag;
      return value;
    }
    case kRvr:
      return reload_;
    case kCvr:
      return count_;
    case kCalib:
      return kCalibration;
    default:
      return 0;
  }
}

void SysTick::write(uint32_t offset, uint32_t value, Cycles now) {
  settle(now);
  switch (offset) {
    case kCsr:
      control_ = (control_ & kCountFlag) | (value & (kEnable | kTickInt | kCoreClock));
      break;
    case kRvr:
      reload_ = value & 0xFFFFFF;
      break;
    case kCvr:  // any value clears
      count_ = 0;
      control_ &= ~kCountFlag;
      break;
    default:
      break;
  }
  schedule();
}

void SysTick::snapshot(Snapshot& s) {
  s.field("systick.control", control_);
  s.field("systick.reload", reload_);
  s.field("systick.count", count_);
  s.field("systick.anchor", anchor_);
  s.field("systick.core_hz", core_hz_);
  s.field("systick.phase", phase_);
  s.field("systick.clock_stands", clock_stands_);
  events_.snapshot(s, wrap_);
  if (core_hz_ == 0 || phase_ >= core_hz_) {
    s.fail("systick.phase", "is no part of a period");
    core_hz_ = 1;
    phase_ = 0;
  }
}

}  // namespace millrace::board
