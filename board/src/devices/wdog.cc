// SPDX-License-Identifier: Apache-2.0
// Time-out is WT + 1 half seconds after the last service, the interrupt WICT half seconds before
// it, in ticks of the 32768 Hz clock. A new WT is used from the next service on.
#include "devices/wdog.h"

#include <algorithm>

namespace millrace::board {

namespace {

constexpr uint32_t kWcr = 0x0;
constexpr uint32_t kWsr = 0x2;
constexpr uint32_t kWrsr = 0x4;
constexpr uint32_t kWicr = 0x6;

constexpr uint32_t kEnable = 1u << 2;
constexpr uint32_t kSoftwareReset = 1u << 4;  // active low
constexpr uint32_t kCauseSoftware = 1u << 0;
constexpr uint32_t kCauseTimeout = 1u << 1;
constexpr uint32_t kCausePowerOn = 1u << 4;
constexpr uint32_t kInterruptStatus = 1u << 14;
constexpr uint32_t kInterruptEnable = 1u << 15;
constexpr uint32_t kService1 = 0x5555;
constexpr uint32_t kService2 = 0xAAAA;
constexpr uint64_t kTicksPerHalfSecond = 16384;

constexpr RegisterSpec kTable[] = {
    {0x0, "WCR", 0x0030, 0xFFEF},  // SRS reads 1
    {0x2, "WSR", 0x0000, 0xFFFF},  {0x4, "WRSR", 0x0000, 0x0000},
    {0x6, "WICR", 0x0004, 0x80FF}, {0x8, "WMCR", 0x0001, 0x0001},
};

}  // namespace

Wdog::Wdog(DeviceHost& host, Clocks& clocks, unsigned number)
    : host_(host),
      clocks_(clocks),
      number_(number),
      registers_(kTable, 2, *this, host),
      cause_(0),
      event_(&Wdog::on_event, this) {
  clocks.add_user(*this);
  registers_[kWrsr] = kCausePowerOn;
}

void Wdog::reset() {
  registers_.reset();
  registers_[kWrsr] = cause_;
  cause_ = 0;
  serviced_once_ = false;
  expired_ = false;
  warned_ = false;
  host_.events().cancel(event_);
  host_.set_interrupt(number_ == 1 ? kIrq1 : kIrq2, false);
}

void Wdog::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(Clock::osc32k), clocks_.hz(Clock::core));
  update(now);
}

uint32_t Wdog::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void Wdog::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (!change.known) return;
  switch (change.offset) {
    case kWcr:
      registers_[kWcr] |= change.before & kEnable;  // only a reset stops it
      if ((change.after & ~change.before & kEnable) != 0) load(now);
      // A write of the upper byte alone says nothing about SRS.
      if ((offset & 1) == 0 && (change.written & kSoftwareReset) == 0) {
        request(kCauseSoftware, now);
      }
      break;
    case kWsr:
      if (serviced_once_ && change.after == kService2) {
        load(now);
        serviced_once_ = false;
      } else {
        serviced_once_ = change.after == kService1;
      }
      break;
    case kWicr:
      registers_[kWicr] &= ~(change.written & kInterruptStatus);
      break;
    default:
      return;
  }
  update(now);
}

void Wdog::load(Cycles now) {
  warned_ = false;
  half_seconds_ = (registers_[kWcr] >> 8) + 1;
  ticks_.start(now, clocks_.hz(Clock::osc32k), clocks_.hz(Clock::core));
}

void Wdog::on_event(void* context, Cycles when) { static_cast<Wdog*>(context)->update(when); }

void Wdog::update(Cycles now) {
  Cycles next = kNever;
  if ((registers_[kWcr] & kEnable) != 0 && !expired_) {
    const uint64_t count = ticks_.count(now);
    const uint64_t timeout = half_seconds_ * kTicksPerHalfSecond;
    const uint64_t before = (registers_[kWicr] & 0xFF) * kTicksPerHalfSecond;
    const uint64_t warning = timeout - std::min(timeout, before);
    if (count >= timeout) {
      expired_ = true;
      request(kCauseTimeout, now);
    } else {
      next = ticks_.when(warned_ ? timeout : warning);
      if (!warned_ && count >= warning) {
        warned_ = true;
        registers_[kWicr] |= kInterruptStatus;
        next = ticks_.when(timeout);
      }
    }
  }
  const uint32_t both = kInterruptStatus | kInterruptEnable;
  host_.set_interrupt(number_ == 1 ? kIrq1 : kIrq2, (registers_[kWicr] & both) == both);
  if (next == kNever) {
    host_.events().cancel(event_);
  } else {
    host_.events().schedule(event_, next);
  }
}

void Wdog::request(uint32_t cause, Cycles now) {
  cause_ = cause;
  if (request_) request_(now);
}

void Wdog::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  ticks_.snapshot(s);
  s.field("half_seconds", half_seconds_);
  s.field("serviced_once", serviced_once_);
  s.field("expired", expired_);
  s.field("warned", warned_);
  s.field("cause", cause_);
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
