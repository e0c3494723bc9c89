// SPDX-License-Identifier: Apache-2.0
// SysTick (Armv7-M ARM B3.3). Nothing runs per tick: the counter is arithmetic on the time since
// it was last looked at, and one event stands at the next wrap while TICKINT is set.
#pragma once

#include <cstdint>

#include "core/event_queue.h"
#include "cpu/nvic.h"
#include "cpu/value_range.h"

namespace millrace::board {

// The external reference of the i.MX RT1062: 24 MHz / 240.
inline constexpr uint64_t kSysTickReferenceHz = 100'000;

class SysTick {
 public:
  SysTick(EventQueue& events, Nvic& nvic);
  void reset();
  // Core clock from `now` on; for CSR.CLKSOURCE = 0. REQUIRES: hz > 0.
  void set_core_hz(uint64_t hz, Cycles now);

  // SYST_CSR, RVR, CVR, CALIB at 0xE000E010..1C; `offset` from 0xE000E000.
  uint32_t read(uint32_t offset, Cycles now);
  void write(uint32_t offset, uint32_t value, Cycles now);

  // While the core clock stands nothing counts; the reference keeps its phase.
  void set_clock_stands(bool stands, Cycles now);
  bool interrupts() const { return (control_ & 3) == 3; }  // ENABLE and TICKINT

  // SystemControl::counter_range() of SYST_CSR, RVR or CVR.
  bool range(uint32_t offset, Cycles from, Cycles to, ValueRange* range) const;

  void snapshot(Snapshot& s);

 private:
  static void on_wrap(void* context, Cycles when);
  // Brings count_, the flags and a pended exception up to `now`.
  void settle(Cycles now);
  void schedule();
  uint64_t take_ticks(Cycles now);  // clock edges since anchor_; moves anchor_
  uint64_t ticks_until(Cycles now) const;

  EventQueue& events_;
  Nvic& nvic_;
  Event wrap_;
  uint32_t control_ = 0;
  uint32_t reload_ = 0;
  uint32_t count_ = 0;  // at anchor_
  Cycles anchor_ = 0;
  uint64_t core_hz_ = 600'000'000;
  bool clock_stands_ = false;
  uint64_t phase_ = 0;  // of the reference at anchor_, in 1/core_hz_ of its period
};

}  // namespace millrace::board
