// SPDX-License-Identifier: Apache-2.0
// Each register is followed through the block as constant, counter plus a constant, constant minus
// the counter, or unknown. The flags of a subtraction depend on a moving operand only through a few
// limits (zero, the sign bit, equality); as long as none is passed, every condition keeps its
// value, so conditions need not be told apart. A loop passes at most a handful of limits, and each
// is passed by plain execution.
#include "cpu/counter_loop.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/timing.h"
#include "cpu/pipeline.h"

namespace millrace::board {
namespace {

constexpr int kUnknown = 2;  // else a slope: -1, 0, 1

constexpr uint64_t bit_of(unsigned reg) { return uint64_t{1} << reg; }

class Follower {
 public:
  // False: not an instruction of such a loop.
  bool step(const Insn& i, bool reads_counter) {
    if (i.cond < kAlways || i.kind == Kind::it) return false;
    const PipelineUse use = pipeline_use(i, timing_);
    int slope = 0;
    for (unsigned k = 0; k < use.read_count; ++k) {
      const uint8_t reg = use.reads[k].reg;
      if ((written_ & bit_of(reg)) == 0) read_first_ |= bit_of(reg);
      if (slopes_[reg] != 0) slope = kUnknown;
    }
    if (use.load && slope != 0) return false;
    if (reads_counter) {
      if (i.kind != Kind::ldr || i.writeback || i.rd >= 13) return false;
      slope = 1;
    }
    CounterLoop::Operand a, b;
    const bool subtracts = operands(i, &a, &b);
    int difference = kUnknown;
    if (subtracts || is_plain_sum(i)) {
      const int second = subtracts ? -b.slope : b.slope;
      if (a.slope != kUnknown && b.slope != kUnknown && std::abs(a.slope + second) <= 1) {
        difference = slope = a.slope + second;
      }
    } else if (i.kind == Kind::mov && !i.immediate && is_plain(i)) {
      slope = slopes_[i.rm];
    }
    bool sets_flags = false;
    for (unsigned k = 0; k < use.write_count; ++k) {
      const uint8_t reg = use.writes[k].reg;
      written_ |= bit_of(reg);
      slopes_[reg] = slope;
      sets_flags |= reg == kFlags;
      for (CounterLoop::Operand* o : {&loop_.minuend, &loop_.subtrahend, &loop_.difference}) {
        if (o->in_register && o->reg == reg) o->known = false;
      }
    }
    if (sets_flags) set_comparison(i, subtracts, a, b, difference);
    return true;
  }

  std::optional<CounterLoop> result() {
    for (unsigned reg = 0; reg < kScoreboard; ++reg) {
      if (slopes_[reg] != 0) loop_.varying |= bit_of(reg);
    }
    const int known = (loop_.minuend.known ? 1 : 0) + (loop_.subtrahend.known ? 1 : 0) +
                      (loop_.difference.known ? 1 : 0);
    if ((loop_.varying & read_first_) != 0 || known < 2 || loop_.difference.slope == 0 ||
        (loop_.minuend.slope != 0 && loop_.subtrahend.slope != 0)) {
      return std::nullopt;
    }
    return loop_;
  }

 private:
  static bool is_plain(const Insn& i) { return i.shift == Shift::lsl && i.shift_amount == 0; }
  static bool is_plain_sum(const Insn& i) {
    return i.kind == Kind::add && (i.immediate || is_plain(i));
  }
  // The operands of a sum or difference. True: a difference.
  bool operands(const Insn& i, CounterLoop::Operand* a, CounterLoop::Operand* b) const {
    *a = {.known = true, .in_register = true, .reg = i.rn, .slope = slopes_[i.rn % 16]};
    if (i.immediate) {
      *b = {.known = true, .value = i.imm};
    } else {
      *b = {.known = true, .in_register = true, .reg = i.rm, .slope = slopes_[i.rm % 16]};
    }
    if (i.kind == Kind::rsb) std::swap(*a, *b);
    for (CounterLoop::Operand* o : {a, b}) {
      if (o->reg == 15) o->slope = kUnknown;
    }
    return (i.kind == Kind::sub || i.kind == Kind::rsb || i.kind == Kind::cmp) &&
           (i.immediate || is_plain(i));
  }
  void set_comparison(const Insn& i, bool subtracts, CounterLoop::Operand a, CounterLoop::Operand b,
                      int slope) {
    loop_.minuend = loop_.subtrahend = loop_.difference = {};
    if (!subtracts || slope == kUnknown) return;
    const bool compares = i.kind == Kind::cmp;
    for (CounterLoop::Operand* o : {&a, &b}) {
      if (!compares && o->in_register && o->reg == i.rd) o->known = false;
    }
    loop_.minuend = a;
    loop_.subtrahend = b;
    loop_.difference = {.known = !compares, .in_register = true, .reg = i.rd, .slope = slope};
  }

  const Timing timing_{};
  std::array<int, kScoreboard> slopes_{};
  uint64_t written_ = 0;
  uint64_t read_first_ = 0;
  CounterLoop loop_;
};

uint32_t value_of(const CounterLoop::Operand& o, const CpuState& s) {
  return o.in_register ? s.r[o.reg] : o.value;
}

// Rounds in which `value`, moving by `step` in the direction of `slope`, stays between the limits
// that are next to it. A limit belongs to what is above it.
uint64_t rounds_between(uint32_t value, int slope, uint32_t step,
                        std::initializer_list<uint32_t> limits) {
  uint64_t room = UINT32_MAX;
  for (const uint32_t limit : limits) {
    const uint32_t distance = slope > 0 ? limit - value - 1 : value - limit;
    room = std::min(room, uint64_t{distance});
  }
  return room / step;
}

}  // namespace

std::optional<CounterLoop> find_counter_loop(const std::vector<Insn>& insns, size_t load) {
  if (insns.empty() || insns.back().kind != Kind::b || insns.back().cond >= kAlways) {
    return std::nullopt;
  }
  Follower follower;
  for (size_t k = 0; k + 1 < insns.size(); ++k) {
    if (!follower.step(insns[k], k == load)) return std::nullopt;
  }
  return follower.result();
}

uint64_t steady_rounds(const CounterLoop& loop, const CpuState& before, const CpuState& behind,
                       uint32_t step) {
  if (step == 0) return 0;
  const auto difference_of = [&loop](const CpuState& s, uint32_t* a, uint32_t* b) {
    *a = value_of(loop.minuend, s);
    *b = value_of(loop.subtrahend, s);
    if (!loop.minuend.known) *a = value_of(loop.difference, s) + *b;
    if (!loop.subtrahend.known) *b = *a - value_of(loop.difference, s);
    return *a - *b;
  };
  uint32_t a = 0, b = 0, old_a = 0, old_b = 0;
  const uint32_t old = difference_of(before, &old_a, &old_b);
  const uint32_t difference = difference_of(behind, &a, &b);
  const uint32_t moved = loop.difference.slope > 0 ? difference - old : old - difference;
  if (moved != step) return 0;  // the counter stands still or was written
  constexpr uint32_t kSign = 0x80000000;
  const uint64_t rounds = rounds_between(difference, loop.difference.slope, step, {0, 1, kSign});
  return loop.minuend.slope != 0
             ? std::min(rounds, rounds_between(a, loop.minuend.slope, step, {0, kSign}))
             : std::min(rounds, rounds_between(b, loop.subtrahend.slope, step, {0, kSign}));
}

}  // namespace millrace::board
