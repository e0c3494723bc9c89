// SPDX-License-Identifier: Apache-2.0
// A counter is written while it stands still; writes while it runs are ignored. Alarms are armed by
// writing their enable bit or value and fire when the counter has the alarm's value; the alarm of
// the LP counter compares bits 46:15. The periodic interrupt comes at each change of bit PI_FREQ of
// the HP counter.
#include "devices/snvs.h"

#include <algorithm>

namespace millrace::board {

namespace {

constexpr uint64_t kCounterMask = (uint64_t{1} << 47) - 1;
constexpr unsigned kLpAlarmShift = 15;

constexpr uint32_t kHpcr = 0x08;
constexpr uint32_t kHpsr = 0x14;
constexpr uint32_t kHprtcmr = 0x24;
constexpr uint32_t kHprtclr = 0x28;
constexpr uint32_t kHptamr = 0x2C;
constexpr uint32_t kHptalr = 0x30;
constexpr uint32_t kLplr = 0x34;
constexpr uint32_t kLpcr = 0x38;
constexpr uint32_t kLpsr = 0x4C;
constexpr uint32_t kLpsrtcmr = 0x50;
constexpr uint32_t kLpsrtclr = 0x54;
constexpr uint32_t kLptar = 0x58;
constexpr uint32_t kLpgprLegacy = 0x68;
constexpr uint32_t kLpgprAlias = 0x90;
constexpr uint32_t kLpgpr = 0x100;

constexpr uint32_t kRtcEnable = 1;  // HPCR
constexpr uint32_t kHpAlarmEnable = 2;
constexpr uint32_t kPeriodicEnable = 8;
constexpr uint32_t kSynchronize = 1u << 16;
constexpr uint32_t kHpAlarm = 1;  // HPSR
constexpr uint32_t kPeriodic = 2;
constexpr uint32_t kSrtcEnable = 1;  // LPCR
constexpr uint32_t kLpAlarmEnable = 2;
constexpr uint32_t kDumbPmic = 1u << 5;
constexpr uint32_t kTurnOff = 1u << 6;
constexpr uint32_t kLpAlarm = 1;  // LPSR

constexpr RegisterSpec kTable[] = {
    {0x00, "HPLR", 0x00000000, 0x0007037F},
    {0x04, "HPCOMR", 0x00000000, 0x80092726},
    {0x08, "HPCR", 0x00000000, 0x0F007DFF},
    {0x0C, "HPSICR", 0x00000000, 0x8000003F},
    {0x10, "HPSVCR", 0x00000000, 0xC000007F},
    {0x14, "HPSR", 0x80003000, 0x00000083, RegisterKind::one_clears},
    {0x18, "HPSVSR", 0x80000000, 0x0800003F, RegisterKind::one_clears},
    {0x24, "HPRTCMR", 0x00000000, 0x00000000},
    {0x28, "HPRTCLR", 0x00000000, 0x00000000},
    {0x2C, "HPTAMR", 0x00000000, 0x00007FFF},
    {0x30, "HPTALR", 0x00000000},
    {0x34, "LPLR", 0x00000000, 0x0000037F},
    {0x38, "LPCR", 0x00000020, 0x01FF7DFF},
    {0x3C, "LPMKCR", 0x00000000, 0x0000001F},
    {0x40, "LPSVCR", 0x00000000, 0x0000003F},
    {0x48, "LPTDCR", 0x00000000, 0x1000CA06},
    {0x4C, "LPSR", 0x00000008, 0x0017020F, RegisterKind::one_clears},
    {0x50, "LPSRTCMR", 0x00000000, 0x00000000},
    {0x54, "LPSRTCLR", 0x00000000, 0x00000000},
    {0x58, "LPTAR", 0x00000000},
    {0x64, "LPPGDR", 0x00000000},
    {0x100, "LPGPR0", 0x00000000},
    {0x104, "LPGPR1", 0x00000000},
    {0x108, "LPGPR2", 0x00000000},
    {0x10C, "LPGPR3", 0x00000000},
};

// The general purpose registers have two older places.
uint32_t resolve(uint32_t offset) {
  if (offset - kLpgprLegacy < 4) return kLpgpr + (offset - kLpgprLegacy);
  if (offset - kLpgprAlias < 16) return kLpgpr + (offset - kLpgprAlias);
  return offset;
}

}  // namespace

uint64_t Snvs::Counter::value(Cycles now) const {
  return (start + (running ? ticks.count(now) : 0)) & kCounterMask;
}

Cycles Snvs::Counter::when(uint64_t target, Cycles now) const {
  const uint64_t ahead = (target - value(now)) & kCounterMask;
  return ahead == 0 ? now : ticks.when(ticks.count(now) + ahead);
}

void Snvs::Counter::set(uint64_t value, bool run, Cycles now, const Clocks& clocks) {
  start = value & kCounterMask;
  running = run;
  ticks.start(now, clocks.hz(Clock::osc32k), clocks.hz(Clock::core));
}

void Snvs::Counter::snapshot(Snapshot& s) {
  ticks.snapshot(s);
  s.field("start", start);
  s.field("running", running);
}

Snvs::Snvs(DeviceHost& host, Clocks& clocks)
    : host_(host),
      clocks_(clocks),
      registers_(kTable, 4, *this, host),
      alarm_(&Snvs::on_alarm, this) {
  clocks.add_user(*this);
}

void Snvs::reset() {
  const Cycles now = host_.events().now();
  for (const RegisterSpec& spec : kTable) {
    if (spec.offset < kLplr) registers_[spec.offset] = spec.reset;
  }
  rtc_.set(0, false, now, clocks_);
  hp_alarm_armed_ = false;
  update(now);
}

void Snvs::after_clock_change(Cycles now) {
  const uint64_t hz = clocks_.hz(Clock::osc32k);
  rtc_.ticks.change(now, hz, clocks_.hz(Clock::core));
  srtc_.ticks.change(now, hz, clocks_.hz(Clock::core));
  update(now);
}

uint32_t Snvs::read(uint32_t offset, unsigned size, Cycles now) {
  const uint32_t at = resolve(offset);
  switch (at & ~3u) {
    case kHprtcmr:
    case kHprtclr:
      registers_[kHprtcmr] = static_cast<uint32_t>(rtc_.value(now) >> 32);
      registers_[kHprtclr] = static_cast<uint32_t>(rtc_.value(now));
      break;
    case kLpsrtcmr:
    case kLpsrtclr:
      registers_[kLpsrtcmr] = static_cast<uint32_t>(srtc_.value(now) >> 32);
      registers_[kLpsrtclr] = static_cast<uint32_t>(srtc_.value(now));
      break;
    default:
      break;
  }
  return registers_.read(at, size);
}

void Snvs::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(resolve(offset), size, value);
  if (!change.known) return;
  switch (change.offset) {
    case kHprtcmr:
    case kHprtclr:
      set_half(rtc_, kHprtclr, change.offset, change.written, now);
      break;
    case kLpsrtcmr:
    case kLpsrtclr:
      set_half(srtc_, kLpsrtclr, change.offset, change.written, now);
      break;
    case kHpcr:
      hp_control_written(change, now);
      break;
    case kHptamr:
    case kHptalr:
      hp_alarm_armed_ = true;
      break;
    case kLpcr:
      lp_control_written(change, now);
      break;
    case kLptar:
      lp_alarm_armed_ = true;
      break;
    case kHpsr:
    case kLpsr:
      break;
    default:
      return;
  }
  update(now);
}

void Snvs::set_half(Counter& counter, uint32_t low_offset, uint32_t offset, uint32_t value,
                    Cycles now) {
  if (counter.running) return;
  uint64_t whole = counter.start;
  if (offset == low_offset) {
    whole = (whole & ~uint64_t{0xFFFFFFFF}) | value;
  } else {
    whole = (whole & 0xFFFFFFFF) | uint64_t{value} << 32;
  }
  counter.set(whole, false, now, clocks_);
}

void Snvs::hp_control_written(const RegisterChange& change, Cycles now) {
  const bool enable = (change.after & kRtcEnable) != 0;
  if ((change.written & kSynchronize) != 0) {
    rtc_.set(srtc_.value(now), enable, now, clocks_);
  } else if (enable != rtc_.running) {
    rtc_.set(rtc_.value(now), enable, now, clocks_);
  }
  if ((change.after & ~change.before & kHpAlarmEnable) != 0) hp_alarm_armed_ = true;
  periods_ = rtc_.value(now) >> (change.after >> 4 & 0xF);
}

void Snvs::lp_control_written(const RegisterChange& change, Cycles now) {
  const bool enable = (change.after & kSrtcEnable) != 0;
  if (enable != srtc_.running) srtc_.set(srtc_.value(now), enable, now, clocks_);
  if ((change.after & ~change.before & kLpAlarmEnable) != 0) lp_alarm_armed_ = true;
  const uint32_t off = kDumbPmic | kTurnOff;
  if ((change.after & off) == off && power_off_) power_off_(now);
}

void Snvs::on_alarm(void* context, Cycles when) { static_cast<Snvs*>(context)->update(when); }

void Snvs::update(Cycles now) {
  const uint32_t hpcr = registers_[kHpcr];
  const uint32_t lpcr = registers_[kLpcr];
  Cycles next = kNever;

  if (hp_alarm_armed_ && rtc_.running && (hpcr & kHpAlarmEnable) != 0) {
    const uint64_t target = uint64_t{registers_[kHptamr]} << 32 | registers_[kHptalr];
    const Cycles due = rtc_.when(target, now);
    if (due <= now) {
      registers_[kHpsr] |= kHpAlarm;
      hp_alarm_armed_ = false;
    } else {
      next = std::min(next, due);
    }
  }
  if (rtc_.running && (hpcr & kPeriodicEnable) != 0) {
    const unsigned bit = hpcr >> 4 & 0xF;
    const uint64_t periods = rtc_.value(now) >> bit;
    if (periods != periods_) registers_[kHpsr] |= kPeriodic;
    periods_ = periods;
    next = std::min(next, rtc_.when((periods + 1) << bit, now));
  }
  if (lp_alarm_armed_ && srtc_.running && (lpcr & kLpAlarmEnable) != 0) {
    const uint64_t target = registers_[kLptar];
    const Cycles due = srtc_.value(now) >> kLpAlarmShift == target
                           ? now
                           : srtc_.when(target << kLpAlarmShift, now);
    if (due <= now) {
      registers_[kLpsr] |= kLpAlarm;
      lp_alarm_armed_ = false;
    } else {
      next = std::min(next, due);
    }
  }

  const uint32_t hpsr = registers_[kHpsr];
  host_.set_interrupt(kIrq,
                      ((hpsr & kHpAlarm) != 0 && (hpcr & kHpAlarmEnable) != 0) ||
                          ((hpsr & kPeriodic) != 0 && (hpcr & kPeriodicEnable) != 0) ||
                          ((registers_[kLpsr] & kLpAlarm) != 0 && (lpcr & kLpAlarmEnable) != 0));
  if (next == kNever) {
    host_.events().cancel(alarm_);
  } else {
    host_.events().schedule(alarm_, next);
  }
}

void Snvs::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  rtc_.snapshot(s);
  srtc_.snapshot(s);
  s.field("periods", periods_);
  s.field("hp_alarm_armed", hp_alarm_armed_);
  s.field("lp_alarm_armed", lp_alarm_armed_);
  host_.events().snapshot(s, alarm_);
}

}  // namespace millrace::board
