// SPDX-License-Identifier: Apache-2.0
// Trace packets go nowhere on this board, so of FUNCTION only the watchpoint codes 5, 6 and 7 act.
// DATAVMATCH, CYCMATCH and the PC match keep their bits and never match: what reads a value or a PC
// per instruction belongs to a debugger, which the board has without DWT.
#include "cpu/dwt.h"

namespace millrace::board {
namespace {

constexpr uint32_t kCtrl = 0x00;
constexpr uint32_t kCycCnt = 0x04;
constexpr uint32_t kCpiCnt = 0x08;
constexpr uint32_t kFoldCnt = 0x18;
constexpr uint32_t kComp0 = 0x20;
constexpr uint32_t kCompEnd = kComp0 + 16 * Dwt::kComparators;

constexpr uint32_t kCycCntEna = 1;
constexpr unsigned kFirstCounterEnable = 17;  // CPIEVTENA, then EXC, SLEEP, LSU, FOLD
constexpr uint32_t kCtrlBits = 0x007F1FFF;
constexpr uint32_t kNumComp = Dwt::kComparators << 28;

constexpr uint32_t kFunctionBits = 0x000FFFAF;
constexpr uint32_t kMatched = 1u << 24;
constexpr uint32_t kOtherMatches = (1u << 8) | (1u << 7);  // DATAVMATCH, CYCMATCH

}  // namespace

uint32_t Dwt::cycle_count(Cycles now) const {
  return counting_ && now > anchor_ ? cycles_ + static_cast<uint32_t>(now - anchor_) : cycles_;
}

void Dwt::update() {
  counting_ = !clock_stands_ && trace_enabled_ && (control_ & kCycCntEna) != 0;
  watches_data_ = false;
  for (const Comparator& c : comparators_) {
    const uint32_t function = c.function & 15;
    if (trace_enabled_ && function >= 5 && function <= 7 && (c.function & kOtherMatches) == 0) {
      watches_data_ = true;
    }
  }
}

void Dwt::set_trace_enabled(bool on, Cycles now) {
  cycles_ = cycle_count(now);
  anchor_ = now;
  trace_enabled_ = on;
  update();
}

void Dwt::set_clock_stands(bool stands, Cycles now) {
  cycles_ = cycle_count(now);
  anchor_ = now;
  clock_stands_ = stands;
  update();
}

uint32_t Dwt::read(uint32_t offset, Cycles now) {
  if (offset == kCycCnt) {
    return cycle_count(now);
  }
  if (offset == kCtrl) {
    return control_ | kNumComp;
  }
  if (offset >= kCpiCnt && offset <= kFoldCnt) {
    return counters_[(offset - kCpiCnt) / 4];
  }
  if (offset >= kComp0 && offset < kCompEnd) {
    Comparator& c = comparators_[(offset - kComp0) / 16];
    switch (offset & 15) {
      case 0:
        return c.comp;
      case 4:
        return c.mask;
      case 8: {
        const uint32_t value = c.function;
        c.function &= ~kMatched;
        return value;
      }
      default:
        return 0;
    }
  }
  return 0;  // PCSR: not sampled
}

void Dwt::write(uint32_t offset, uint32_t value, Cycles now) {
  cycles_ = cycle_count(now);
  anchor_ = now;
  if (offset == kCycCnt) {
    cycles_ = value;
  } else if (offset == kCtrl) {
    const uint32_t enabled = value & ~control_;
    for (unsigned i = 0; i < counters_.size(); ++i) {
      if (((enabled >> (kFirstCounterEnable + i)) & 1) != 0) {
        counters_[i] = 0;
      }
    }
    control_ = value & kCtrlBits;
  } else if (offset >= kCpiCnt && offset <= kFoldCnt) {
    counters_[(offset - kCpiCnt) / 4] = static_cast<uint8_t>(value);
  } else if (offset >= kComp0 && offset < kCompEnd) {
    Comparator& c = comparators_[(offset - kComp0) / 16];
    switch (offset & 15) {
      case 0:
        c.comp = value;
        break;
      case 4:
        c.mask = value & 31;
        break;
      case 8:
        c.function = value & kFunctionBits;
        break;
      default:
        break;
    }
  }
  update();
}

void Dwt::count(Counter counter, uint32_t cycles) {
  const unsigned i = static_cast<unsigned>(counter);
  if (trace_enabled_ && ((control_ >> (kFirstCounterEnable + i)) & 1) != 0) {
    counters_[i] = static_cast<uint8_t>(counters_[i] + cycles);
  }
}

void Dwt::snapshot(Snapshot& s) {
  s.field("dwt.control", control_);
  s.field("dwt.trace_enabled", trace_enabled_);
  s.field("dwt.clock_stands", clock_stands_);
  s.field("dwt.cycles", cycles_);
  s.field("dwt.anchor", anchor_);
  s.field("dwt.counters", counters_);
  for (Comparator& c : comparators_) {
    s.field("dwt.comp", c.comp);
    s.field("dwt.mask", c.mask);
    s.field("dwt.function", c.function);
    c.mask &= 31;
  }
  update();
}

bool Dwt::match_data(uint32_t address, unsigned size, bool is_write) {
  bool matched = false;
  for (Comparator& c : comparators_) {
    const uint32_t function = c.function & 15;
    const bool direction =
        function == 7 || (function == 5 && !is_write) || (function == 6 && is_write);
    if (!trace_enabled_ || !direction || (c.function & kOtherMatches) != 0) {
      continue;
    }
    const uint64_t first = c.comp & (0xFFFFFFFFu << c.mask);
    const uint64_t end = first + (uint64_t{1} << c.mask);
    if (address < end && uint64_t{address} + size > first) {
      c.function |= kMatched;
      matched = true;
    }
  }
  return matched;
}

}  // namespace millrace::board
