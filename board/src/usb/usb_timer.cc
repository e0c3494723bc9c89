// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_timer.h"

#include <algorithm>
#include <utility>

namespace millrace::board {
namespace {

constexpr uint64_t kMicrosecondHz = 1'000'000;
constexpr uint32_t kRun = 1u << 31, kReset = 1u << 30, kRepeat = 1u << 24, kCount = 0xFFFFFF;

}  // namespace

UsbTimer::UsbTimer(EventQueue& events, const Clocks& clocks, std::function<void(Cycles)> expired)
    : events_(events),
      clocks_(clocks),
      expired_(std::move(expired)),
      event_(&UsbTimer::on_event, this) {}

void UsbTimer::reset() {
  load_ = 0;
  run_ = repeat_ = done_ = false;
  start(0, events_.now());
}

void UsbTimer::start(uint32_t count, Cycles now) {
  from_ = count;
  origin_ = 0;
  ticks_.start(now, run_ && !done_ ? kMicrosecondHz : 0, clocks_.hz(Clock::core));
  schedule();
}

// The microsecond behind 0: a load of 999 is 1 ms.
void UsbTimer::schedule() {
  const Cycles when = ticks_.when(origin_ + from_ + 1);
  if (when == kNever) {
    events_.cancel(event_);
  } else {
    events_.schedule(event_, when);
  }
}

uint32_t UsbTimer::count(Cycles now) const {
  const uint64_t passed = ticks_.count(now) - origin_;
  return from_ - static_cast<uint32_t>(std::min<uint64_t>(passed, from_));
}

void UsbTimer::control(uint32_t value, Cycles now) {
  const bool run = (value & kRun) != 0;
  repeat_ = (value & kRepeat) != 0;
  if ((value & kReset) == 0 && run == run_) return;
  const uint32_t from = (value & kReset) != 0 ? load_ : count(now);
  run_ = run;
  if ((value & kReset) != 0) done_ = false;
  start(from, now);
}

uint32_t UsbTimer::control_at(Cycles now) const {
  return (run_ ? kRun : 0) | (repeat_ ? kRepeat : 0) | (count(now) & kCount);
}

void UsbTimer::clock_changed(Cycles now) {
  ticks_.change(now, run_ && !done_ ? kMicrosecondHz : 0, clocks_.hz(Clock::core));
  schedule();
}

void UsbTimer::on_event(void* context, Cycles when) {
  UsbTimer& self = *static_cast<UsbTimer*>(context);
  if (self.repeat_) {
    self.origin_ += uint64_t{self.from_} + 1;
    self.from_ = self.load_;
    self.schedule();
  } else {
    self.done_ = true;
    self.start(0, when);
  }
  self.expired_(when);
}

void UsbTimer::snapshot(Snapshot& s) {
  ticks_.snapshot(s);
  s.field("origin", origin_);
  s.field("from", from_);
  s.field("load", load_);
  s.field("run", run_);
  s.field("repeat", repeat_);
  s.field("done", done_);
  if (from_ > kCount || load_ > kCount) s.fail("from", "has more than 24 bits");
  events_.snapshot(s, event_);
}

}  // namespace millrace::board
