// SPDX-License-Identifier: Apache-2.0
// State of every exception - pending, active, enabled, priority - and the registers of the nested
// vectored interrupt controller over it, 0xE000E100..0xE000E4FF and STIR (Armv7-M ARM B3.4).
// Priorities have 4 bits. Stacking and vectors are system_control_m7.h.
#pragma once

#include <array>
#include <cstdint>

#include "core/snapshot.h"
#include "cpu/exception_number.h"

namespace millrace::board {

class Nvic {
 public:
  struct Candidate {
    unsigned exception = 0;  // 0: none
    int priority = kIdlePriority;
  };

  Nvic() { reset(); }
  void reset();

  // Input line of an interrupt. A rising line pends; a line still high when its handler returns
  // pends again. REQUIRES: irq < kInterrupts.
  void set_line(unsigned irq, bool level);

  // REQUIRES for all: exception < kExceptions.
  bool pending(unsigned exception) const { return test(pending_, exception); }
  bool active(unsigned exception) const { return test(active_, exception); }
  bool enabled(unsigned exception) const { return test(enabled_, exception); }
  void pend(unsigned exception);
  void unpend(unsigned exception);  // no effect on an interrupt whose line is high
  void set_enabled(unsigned exception, bool on);
  void set_active(unsigned exception, bool on);  // SHCSR writes; no other effect
  void activate(unsigned exception);             // pending -> active
  void deactivate(unsigned exception);  // active -> inactive, or pending if the line is high

  int priority(unsigned exception) const;                // -3..240
  void set_priority(unsigned exception, uint8_t value);  // upper 4 bits count
  uint8_t priority_byte(unsigned exception) const { return priority_[exception]; }
  unsigned priority_group() const { return priority_group_; }
  void set_priority_group(unsigned prigroup);  // AIRCR.PRIGROUP
  // Priority without its sub-priority: what decides on pre-emption (B1.5.4).
  int group_priority(int priority) const;

  // The pending enabled exception that would be taken first, whatever runs now (B1.5.4: lowest
  // priority value, then lowest number).
  Candidate highest_pending() const;
  // Group priority of what is active; kIdlePriority if nothing is. Without masks.
  int active_priority() const;
  unsigned active_count() const;
  bool any_interrupt_pending() const;  // ICSR.ISRPENDING

  // Set by everything that may let an exception be taken; cleared by who has looked.
  bool attention() const { return attention_; }
  void raise_attention() { attention_ = true; }
  void clear_attention() { attention_ = false; }
  // True if an exception became pending since the last call (SCR.SEVONPEND).
  bool take_pend_event();

  // Registers, word access; `offset` from 0xE000E000. `lanes`: the bits that are written.
  uint32_t read(uint32_t offset) const;
  void write(uint32_t offset, uint32_t value, uint32_t lanes);
  void trigger(unsigned irq);  // STIR

  void snapshot(Snapshot& s);

 private:
  // A bit an exception number.
  using Bits = std::array<uint32_t, kExceptions / 32 + 1>;
  static bool test(const Bits& bits, unsigned n) { return ((bits[n / 32] >> (n % 32)) & 1) != 0; }
  static void assign(Bits* bits, unsigned n, bool on);
  static uint32_t interrupt_word(const Bits& bits, unsigned word);

  Bits pending_{};
  Bits active_{};
  Bits enabled_{};
  Bits line_{};
  std::array<uint8_t, kExceptions> priority_{};
  unsigned priority_group_ = 0;
  bool attention_ = false;
  bool pend_event_ = false;
};

}  // namespace millrace::board
