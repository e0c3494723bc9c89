// SPDX-License-Identifier: Apache-2.0
// Nothing runs per tick. The counters are brought up to date when somebody looks; an event stands
// at an expiry only if its interrupt is on and not pending already, or if the channel is watched. A
// chained channel counts the expiries of the one before it by the same arithmetic.
//
// A counter goes from LDVAL to 0 and from there to LDVAL again: LDVAL + 1 ticks a period, and TIF
// rises as it is loaded again (chapter 53).
#include "devices/pit.h"

#include <algorithm>

namespace millrace::board {
namespace {

constexpr uint32_t kMcr = 0x00, kLtmr64h = 0xE0, kLtmr64l = 0xE4, kChannel0 = 0x100;
constexpr uint32_t kLdval = 0x0, kCval = 0x4, kTctrl = 0x8, kTflg = 0xC;  // of a channel, 16 apart
constexpr uint32_t kMdis = 2;
constexpr uint32_t kTen = 1, kTie = 2, kChn = 4;

constexpr RegisterSpec kTable[] = {
    {kMcr, "MCR", 0x2, 0x3}, {kLtmr64h, "LTMR64H", 0, 0}, {kLtmr64l, "LTMR64L", 0, 0},
    {0x100, "LDVAL0"},       {0x104, "CVAL0", 0, 0},      {0x108, "TCTRL0", 0, 7},
    {0x10C, "TFLG0", 0, 0},  {0x110, "LDVAL1"},           {0x114, "CVAL1", 0, 0},
    {0x118, "TCTRL1", 0, 7}, {0x11C, "TFLG1", 0, 0},      {0x120, "LDVAL2"},
    {0x124, "CVAL2", 0, 0},  {0x128, "TCTRL2", 0, 7},     {0x12C, "TFLG2", 0, 0},
    {0x130, "LDVAL3"},       {0x134, "CVAL3", 0, 0},      {0x138, "TCTRL3", 0, 7},
    {0x13C, "TFLG3", 0, 0},
};

}  // namespace

Pit::Pit(DeviceHost& host, Clocks& clocks, Trigger trigger)
    : host_(host),
      clocks_(clocks),
      trigger_(std::move(trigger)),
      registers_(kTable, 4, *this, host),
      event_(&Pit::on_event, this) {
  clocks.add_user(*this);
  ticks_.start(host.events().now(), clocks.hz(Clock::perclk), clocks.hz(Clock::core));
}

void Pit::before_clock_change(Cycles now) { settle(now); }

void Pit::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(Clock::perclk), clocks_.hz(Clock::core));
  update();
}

void Pit::on_event(void* context, Cycles when) {
  Pit* self = static_cast<Pit*>(context);
  self->settle(when);
  self->update();
}

void Pit::reset() {
  registers_.reset();
  for (Channel& channel : channels_) {
    channel.count = 0;
    channel.flag = false;
  }
  update();
}

void Pit::watch(unsigned channel, bool on) {
  settle(host_.events().now());
  if (on) {
    ++channels_[channel].watchers;
  } else if (channels_[channel].watchers != 0) {
    --channels_[channel].watchers;
  }
  update();
}

uint32_t Pit::load(unsigned channel) const { return registers_[kChannel0 + 16 * channel + kLdval]; }

uint32_t Pit::control(unsigned channel) const {
  return registers_[kChannel0 + 16 * channel + kTctrl];
}

bool Pit::enabled(unsigned channel) const { return (control(channel) & kTen) != 0; }

bool Pit::chained(unsigned channel) const { return channel != 0 && (control(channel) & kChn) != 0; }

uint64_t Pit::count_down(unsigned channel, uint64_t inputs) {
  if (!enabled(channel) || inputs == 0) return 0;
  Channel& c = channels_[channel];
  if (inputs <= c.count) {
    c.count -= static_cast<uint32_t>(inputs);
    return 0;
  }
  const uint64_t period = uint64_t{load(channel)} + 1;
  const uint64_t past = inputs - c.count - 1;  // inputs after the one that loaded LDVAL
  c.count = static_cast<uint32_t>(period - 1 - past % period);
  c.flag = true;
  return 1 + past / period;
}

void Pit::advance(uint64_t ticks) {
  settled_ += ticks;
  if ((registers_[kMcr] & kMdis) != 0) return;
  uint64_t expiries = 0;
  for (unsigned i = 0; i < kChannels; ++i) {
    expiries = count_down(i, chained(i) ? expiries : ticks);
  }
}

uint64_t Pit::ticks_to_expiry(unsigned channel) const {
  constexpr uint64_t kFar = uint64_t{1} << 62;  // 6000 years
  if (!enabled(channel)) return 0;
  uint64_t inputs = uint64_t{channels_[channel].count} + 1;
  while (chained(channel)) {
    --channel;
    if (!enabled(channel)) return 0;
    const uint64_t period = uint64_t{load(channel)} + 1;
    if (inputs - 1 >= kFar / period) return 0;
    inputs = channels_[channel].count + 1 + (inputs - 1) * period;
  }
  return inputs;
}

uint64_t Pit::ticks_to_event() const {
  if ((registers_[kMcr] & kMdis) != 0) return 0;
  uint64_t first = 0;
  for (unsigned i = 0; i < kChannels; ++i) {
    const Channel& c = channels_[i];
    const bool interrupts = (control(i) & kTie) != 0 && !c.flag;
    if (!interrupts && (c.watchers == 0 || !trigger_)) continue;
    const uint64_t ticks = ticks_to_expiry(i);
    if (ticks != 0 && (first == 0 || ticks < first)) first = ticks;
  }
  return first;
}

void Pit::settle(Cycles now) {
  const uint64_t tick = ticks_.count(now);
  while (settled_ < tick) {
    const uint64_t step = ticks_to_event();
    if (step == 0 || step > tick - settled_) break;
    std::array<bool, kChannels> fires{};
    for (unsigned i = 0; i < kChannels; ++i) {
      fires[i] = channels_[i].watchers != 0 && ticks_to_expiry(i) == step;
    }
    advance(step);
    const Cycles when = ticks_.when(settled_);
    for (unsigned i = 0; i < kChannels; ++i) {
      if (fires[i] && trigger_) trigger_(i, when);
    }
  }
  if (settled_ < tick) advance(tick - settled_);
}

void Pit::update() {
  bool level = false;
  for (unsigned i = 0; i < kChannels; ++i) {
    level = level || (channels_[i].flag && (control(i) & kTie) != 0);
  }
  if (level != level_) {
    level_ = level;
    host_.set_interrupt(kIrq, level);
  }
  const uint64_t step = ticks_to_event();
  schedule_at(host_.events(), event_, step == 0 ? kNever : ticks_.when(settled_ + step));
}

uint32_t Pit::read(uint32_t offset, unsigned size, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size);
  uint32_t value;
  if (lanes.offset == kLtmr64h) {  // LTMR64H holds the low half for the next read
    value = channels_[1].count;
    lifetime_low_ = channels_[0].count;
  } else if (lanes.offset == kLtmr64l) {
    value = lifetime_low_;
  } else if (lanes.offset >= kChannel0 && lanes.offset < kChannel0 + 16 * kChannels) {
    const Channel& c = channels_[(lanes.offset - kChannel0) / 16];
    const uint32_t which = lanes.offset % 16;
    value = which == kCval ? c.count : which == kTflg ? (c.flag ? 1 : 0) : registers_[lanes.offset];
  } else {
    value = registers_.read(offset, size) << lanes.shift;
  }
  update();
  return lanes.extract(value);
}

void Pit::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size, value);
  const RegisterChange change = registers_.write(offset, size, value);
  if (lanes.offset >= kChannel0 && change.known) {
    const unsigned channel = (lanes.offset - kChannel0) / 16;
    const uint32_t which = lanes.offset % 16;
    if (which == kTctrl && (change.after & ~change.before & kTen) != 0) {
      channels_[channel].count = load(channel);
    } else if (which == kTflg && (lanes.bits & 1) != 0) {
      channels_[channel].flag = false;
    }
  }
  update();
}

void Pit::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  ticks_.snapshot(s);
  s.field("settled", settled_);
  for (Channel& c : channels_) {
    s.field("count", c.count);
    s.field("flag", c.flag);
    s.field("watchers", c.watchers);
  }
  s.field("lifetime_low", lifetime_low_);
  s.field("level", level_);
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
