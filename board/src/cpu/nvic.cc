// SPDX-License-Identifier: Apache-2.0
// All exceptions live in bit sets indexed by exception number, so that "which comes first" is one
// pass over six words; it runs only when something has changed, never per instruction.
#include "cpu/nvic.h"

#include <bit>

namespace millrace::board {
namespace {

// Register groups, as offsets from 0xE000E000 (table B3-8): 16 words each, 5 implemented here.
constexpr uint32_t kIser = 0x100;
constexpr uint32_t kIcer = 0x180;
constexpr uint32_t kIspr = 0x200;
constexpr uint32_t kIcpr = 0x280;
constexpr uint32_t kIabr = 0x300;
constexpr uint32_t kIpr = 0x400;
constexpr uint32_t kGroupMask = 0xFFFFFF80;

constexpr unsigned kWords = kInterrupts / 32;

}  // namespace

void Nvic::assign(Bits* bits, unsigned n, bool on) {
  const uint32_t bit = 1u << (n % 32);
  if (on) {
    (*bits)[n / 32] |= bit;
  } else {
    (*bits)[n / 32] &= ~bit;
  }
}

// Interrupt 0 is exception 16: a register's word lies across two of the set's.
uint32_t Nvic::interrupt_word(const Bits& bits, unsigned word) {
  return (bits[word] >> 16) | (bits[word + 1] << 16);
}

void Nvic::reset() {
  pending_ = {};
  active_ = {};
  enabled_ = {};
  line_ = {};
  priority_ = {};
  priority_group_ = 0;
  attention_ = false;
  pend_event_ = false;
  for (const unsigned always : {kNmi, kHardFault, kSvCall, kPendSv, kSysTick}) {
    assign(&enabled_, always, true);
  }
}

void Nvic::set_line(unsigned irq, bool level) {
  const unsigned exception = irq + kFirstInterrupt;
  if (level == test(line_, exception)) {
    return;
  }
  assign(&line_, exception, level);
  if (level) {
    pend(exception);
  }
}

void Nvic::pend(unsigned exception) {
  if (!pending(exception)) {
    pend_event_ = true;
  }
  assign(&pending_, exception, true);
  attention_ = true;
}

void Nvic::unpend(unsigned exception) {
  if (!test(line_, exception)) {
    assign(&pending_, exception, false);
  }
}

void Nvic::set_enabled(unsigned exception, bool on) {
  assign(&enabled_, exception, on);
  attention_ = true;
}

void Nvic::set_active(unsigned exception, bool on) {
  assign(&active_, exception, on);
  attention_ = true;
}

void Nvic::activate(unsigned exception) {
  assign(&pending_, exception, false);
  assign(&active_, exception, true);
}

void Nvic::deactivate(unsigned exception) {
  assign(&active_, exception, false);
  if (test(line_, exception)) {
    pend(exception);
  }
  attention_ = true;
}

int Nvic::priority(unsigned exception) const {
  return exception <= kHardFault ? static_cast<int>(exception) - 4 : priority_[exception];
}

void Nvic::set_priority(unsigned exception, uint8_t value) {
  priority_[exception] = value & 0xF0;
  attention_ = true;
}

void Nvic::set_priority_group(unsigned prigroup) {
  priority_group_ = prigroup & 7;
  attention_ = true;
}

int Nvic::group_priority(int priority) const {
  return priority < 0 ? priority : priority & ~((2 << priority_group_) - 1);
}

Nvic::Candidate Nvic::highest_pending() const {
  Candidate best;
  for (unsigned word = 0; word < pending_.size(); ++word) {
    for (uint32_t bits = pending_[word] & enabled_[word]; bits != 0; bits &= bits - 1) {
      const unsigned exception = word * 32 + static_cast<unsigned>(std::countr_zero(bits));
      const int value = priority(exception);
      if (value < best.priority) {
        best = {exception, value};
      }
    }
  }
  return best;
}

int Nvic::active_priority() const {
  int best = kIdlePriority;
  for (unsigned word = 0; word < active_.size(); ++word) {
    for (uint32_t bits = active_[word]; bits != 0; bits &= bits - 1) {
      const unsigned exception = word * 32 + static_cast<unsigned>(std::countr_zero(bits));
      const int value = group_priority(priority(exception));
      if (value < best) {
        best = value;
      }
    }
  }
  return best;
}

unsigned Nvic::active_count() const {
  unsigned count = 0;
  for (const uint32_t bits : active_) {
    count += static_cast<unsigned>(std::popcount(bits));
  }
  return count;
}

bool Nvic::any_interrupt_pending() const {
  for (unsigned word = 0; word < kWords; ++word) {
    if (interrupt_word(pending_, word) != 0) {
      return true;
    }
  }
  return false;
}

bool Nvic::take_pend_event() {
  const bool event = pend_event_;
  pend_event_ = false;
  return event;
}

uint32_t Nvic::read(uint32_t offset) const {
  if (offset >= kIpr) {
    const unsigned irq = offset - kIpr;
    uint32_t value = 0;
    for (unsigned i = 0; i < 4 && irq + i < kInterrupts; ++i) {
      value |= static_cast<uint32_t>(priority_[kFirstInterrupt + irq + i]) << (8 * i);
    }
    return value;
  }
  const unsigned word = (offset & 0x7F) / 4;
  if (word >= kWords) {
    return 0;
  }
  switch (offset & kGroupMask) {
    case kIser:
    case kIcer:
      return interrupt_word(enabled_, word);
    case kIspr:
    case kIcpr:
      return interrupt_word(pending_, word);
    case kIabr:
      return interrupt_word(active_, word);
    default:
      return 0;
  }
}

void Nvic::write(uint32_t offset, uint32_t value, uint32_t lanes) {
  if (offset >= kIpr) {
    const unsigned irq = offset - kIpr;
    for (unsigned i = 0; i < 4 && irq + i < kInterrupts; ++i) {
      if (((lanes >> (8 * i)) & 0xFF) != 0) {
        set_priority(kFirstInterrupt + irq + i, static_cast<uint8_t>(value >> (8 * i)));
      }
    }
    return;
  }
  const unsigned word = (offset & 0x7F) / 4;
  if (word >= kWords) {
    return;
  }
  for (uint32_t bits = value & lanes; bits != 0; bits &= bits - 1) {
    const unsigned exception =
        kFirstInterrupt + word * 32 + static_cast<unsigned>(std::countr_zero(bits));
    switch (offset & kGroupMask) {
      case kIser:
        set_enabled(exception, true);
        break;
      case kIcer:
        set_enabled(exception, false);
        break;
      case kIspr:
        pend(exception);
        break;
      case kIcpr:
        unpend(exception);
        break;
      default:
        break;
    }
  }
}

void Nvic::trigger(unsigned irq) {
  if (irq < kInterrupts) {
    pend(kFirstInterrupt + irq);
  }
}

void Nvic::snapshot(Snapshot& s) {
  s.field("nvic.pending", pending_);
  s.field("nvic.active", active_);
  s.field("nvic.enabled", enabled_);
  s.field("nvic.line", line_);
  s.field("nvic.priority", priority_);
  s.field("nvic.priority_group", priority_group_);
  s.field("nvic.attention", attention_);
  s.field("nvic.pend_event", pend_event_);
  priority_group_ &= 7;
  // Bits beyond the last exception have no priority to look up.
  for (Bits* bits : {&pending_, &active_, &enabled_, &line_}) {
    bits->back() &= (1u << (kExceptions % 32)) - 1;
  }
}

}  // namespace millrace::board
