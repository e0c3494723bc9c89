// SPDX-License-Identifier: Apache-2.0
// RTWDOG comes out of the chip's reset running (CS 2980, 1024 ticks of 32768 Hz). The Teensy core
// never touches it and runs for longer than those 31 ms, so the boot ROM must have switched it off:
// here it starts as NXP's SystemInit leaves it, off and open to updates.
//
// CS, TOVAL and WIN may be written in the kWindow bus clocks behind the unlock key, up to the write
// of CS. Outside of that their writes are ignored and reported. Taken from the manual of the same
// module in other chips: the length of the window and the time from interrupt to reset.
#include <algorithm>

#include "devices/wdog.h"

namespace millrace::board {

namespace {

constexpr uint32_t kCs = 0x0;
constexpr uint32_t kCnt = 0x4;
constexpr uint32_t kToval = 0x8;
constexpr uint32_t kWin = 0xC;

constexpr uint32_t kUpdate = 1u << 5;
constexpr uint32_t kInterrupt = 1u << 6;
constexpr uint32_t kEnable = 1u << 7;
constexpr uint32_t kReconfigured = 1u << 10;
constexpr uint32_t kUnlockedBit = 1u << 11;
constexpr uint32_t kPrescale = 1u << 12;
constexpr uint32_t kFlag = 1u << 14;
constexpr uint32_t kWindowed = 1u << 15;
constexpr uint32_t kUnlockKey = 0xD928C520;
constexpr uint32_t kRefreshKey = 0xB480A602;
constexpr uint64_t kWindow = 255;
constexpr uint64_t kInterruptToReset = 255;

constexpr RegisterSpec kTable[] = {
    {0x0, "CS", 0x00002520, 0x0000B3FF},
    {0x4, "CNT", 0x00000000, 0x00000000},
    {0x8, "TOVAL", 0x0000FFFF, 0x0000FFFF},
    {0xC, "WIN", 0x00000000, 0x0000FFFF},
};

}  // namespace

Rtwdog::Rtwdog(DeviceHost& host, Clocks& clocks)
    : host_(host),
      clocks_(clocks),
      registers_(kTable, 4, *this, host),
      event_(&Rtwdog::on_event, this) {
  clocks.add_user(*this);
}

void Rtwdog::reset() {
  registers_.reset();
  window_open_ = false;
  first_half_ = 0;
  expired_ = false;
  host_.events().cancel(event_);
  host_.set_interrupt(kIrq, false);
}

void Rtwdog::after_clock_change(Cycles now) {
  ticks_.change(now, source_hz(), clocks_.hz(Clock::core));
  bus_.change(now, clocks_.hz(Clock::ipg), clocks_.hz(Clock::core));
  schedule(now);
}

// Bus clock or the 32 kHz one; what stands behind the other two is not known, see write().
uint64_t Rtwdog::source_hz() const {
  return clocks_.hz((registers_[kCs] >> 8 & 3) == 0 ? Clock::ipg : Clock::osc32k);
}

uint64_t Rtwdog::count(Cycles now) const {
  if ((registers_[kCs] & kEnable) == 0) return 0;
  return ticks_.count(now) / ((registers_[kCs] & kPrescale) != 0 ? 256 : 1);
}

bool Rtwdog::unlocked(Cycles now) const { return window_open_ && bus_.count(now) <= kWindow; }

uint32_t Rtwdog::read(uint32_t offset, unsigned size, Cycles now) {
  uint32_t& cs = registers_[kCs];
  cs = (cs & ~kUnlockedBit) | (unlocked(now) ? kUnlockedBit : 0);
  registers_[kCnt] = static_cast<uint32_t>(count(now)) & 0xFFFF;
  return registers_.read(offset, size);
}

void Rtwdog::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const uint32_t at = offset & ~3u;
  if (at == kCnt) {
    if (offset == kCnt) key_written(size, value, now);
    return;
  }
  if (!registers_.has(offset)) {
    registers_.write(offset, size, value);
    return;
  }
  // The flag is cleared by writing 1, locked or not.
  if (offset == kCs && size > 1 && (value & kFlag) != 0) {
    registers_[kCs] &= ~kFlag;
    host_.set_interrupt(kIrq, false);
  }
  if (!unlocked(now)) {
    if (at != kCs || ((value ^ registers_[kCs]) & 0xB3FF) != 0) {
      host_.report_unknown(*this, at, true);
    }
    return;
  }
  registers_.write(offset, size, value);
  if (at != kCs) return;
  window_open_ = false;
  registers_[kCs] |= kReconfigured;
  if ((registers_[kCs] >> 9 & 1) != 0) host_.report_unknown(*this, kCs, true);
  restart(now);
}

void Rtwdog::key_written(unsigned size, uint32_t value, Cycles now) {
  // A key in 32 bits, or in two writes, the low half first.
  uint32_t key = value;
  if (size < 4 || value <= 0xFFFF) {
    if (first_half_ == 0) {
      if (value == (kUnlockKey & 0xFFFF) || value == (kRefreshKey & 0xFFFF)) {
        first_half_ = value;
        return;
      }
    } else {
      key = value << 16 | first_half_;
      first_half_ = 0;
    }
  }
  if (key == kUnlockKey) {
    if ((registers_[kCs] & kUpdate) == 0) return;
    window_open_ = true;
    registers_[kCs] &= ~kReconfigured;
    bus_.start(now, clocks_.hz(Clock::ipg), clocks_.hz(Clock::core));
  } else if (key == kRefreshKey) {
    refresh(now);
  } else if ((registers_[kCs] & kEnable) != 0) {
    request(now);  // anything else forces a reset
  }
}

void Rtwdog::refresh(Cycles now) {
  if ((registers_[kCs] & kEnable) == 0) return;
  if ((registers_[kCs] & kWindowed) != 0 && count(now) < registers_[kWin]) {
    request(now);
    return;
  }
  restart(now);
}

void Rtwdog::restart(Cycles now) {
  expired_ = false;
  ticks_.start(now, source_hz(), clocks_.hz(Clock::core));
  schedule(now);
}

void Rtwdog::schedule(Cycles now) {
  Cycles next = kNever;
  if ((registers_[kCs] & kEnable) != 0) {
    if (expired_) {
      next = bus_.when(kInterruptToReset);
    } else {
      const uint64_t scale = (registers_[kCs] & kPrescale) != 0 ? 256 : 1;
      next = std::max(ticks_.when(std::max(registers_[kToval], 1u) * scale), now + 1);
    }
  }
  if (next == kNever) {
    host_.events().cancel(event_);
  } else {
    host_.events().schedule(event_, next);
  }
}

void Rtwdog::on_event(void* context, Cycles when) {
  Rtwdog& dog = *static_cast<Rtwdog*>(context);
  if (!dog.expired_ && (dog.registers_[kCs] & kInterrupt) != 0) {
    dog.expired_ = true;
    dog.registers_[kCs] |= kFlag;
    dog.host_.set_interrupt(kIrq, true);
    dog.bus_.start(when, dog.clocks_.hz(Clock::ipg), dog.clocks_.hz(Clock::core));
    dog.schedule(when);
    return;
  }
  dog.request(when);
}

void Rtwdog::request(Cycles now) {
  host_.events().cancel(event_);
  if (request_) request_(now);
}

void Rtwdog::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  ticks_.snapshot(s);
  bus_.snapshot(s);
  s.field("window_open", window_open_);
  s.field("first_half", first_half_);
  s.field("expired", expired_);
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
