// SPDX-License-Identifier: Apache-2.0
// Branch target cache, direction counters and return stack. The Cortex-M7's own are not documented;
// the sizes are parameters that were fitted (core/timing.h, grade I).
#pragma once

#include <array>
#include <cstdint>

#include "core/timing.h"
#include "cpu/block.h"

namespace millrace::board {

class BranchPredictor {
 public:
  explicit BranchPredictor(const Timing& timing)
      : mispredict_(static_cast<uint8_t>(timing.branch_mispredict)) {}

  // What leaving a block costs beyond its issue cycles; learns. `pc`: of the branch; `end`: of the
  // instruction behind it.
  uint32_t leave(BlockEnd kind, uint32_t pc, uint32_t end, uint32_t target, bool taken) {
    switch (kind) {
      case BlockEnd::fall:
        return 0;
      case BlockEnd::conditional:
        return conditional(pc, target, taken);
      case BlockEnd::call:
        push(end);
        return direct(pc, target);
      case BlockEnd::jump:
        return direct(pc, target);
      case BlockEnd::indirect_call:
        push(end);
        return indirect(pc, target);
      case BlockEnd::indirect:
        return indirect(pc, target);
      case BlockEnd::returns:
        return pop() == target ? 0 : mispredict_;
    }
    return 0;
  }
  uint32_t mispredict() const { return mispredict_; }
  void reset() { *this = BranchPredictor(mispredict_); }

 private:
  static constexpr uint32_t kTargets = 64;
  static constexpr uint32_t kCounters = 1024;
  static constexpr uint32_t kReturns = 8;
  struct Target {
    uint32_t pc = 1;
    uint32_t target = 0;
  };

  explicit BranchPredictor(uint8_t mispredict) : mispredict_(mispredict) {}

  uint32_t direct(uint32_t pc, uint32_t target) {
    Target& t = targets_[(pc >> 1) % kTargets];
    const bool hit = t.pc == pc;
    t = {pc, target};
    return hit ? 0 : 1;
  }
  uint32_t conditional(uint32_t pc, uint32_t target, bool taken) {
    uint8_t& counter = counters_[(pc >> 1) % kCounters];
    const bool predicted = counter >= 2;
    if (taken) {
      counter = static_cast<uint8_t>(counter + (counter < 3 ? 1 : 0));
    } else {
      counter = static_cast<uint8_t>(counter - (counter > 0 ? 1 : 0));
    }
    if (predicted != taken) {
      return mispredict_;
    }
    return taken ? direct(pc, target) : 0;
  }
  uint32_t indirect(uint32_t pc, uint32_t target) {
    Target& t = targets_[(pc >> 1) % kTargets];
    const bool hit = t.pc == pc && t.target == target;
    t = {pc, target};
    return hit ? 0 : mispredict_;
  }
  void push(uint32_t address) { returns_[top_++ % kReturns] = address; }
  uint32_t pop() { return returns_[--top_ % kReturns]; }

  std::array<Target, kTargets> targets_{};
  std::array<uint8_t, kCounters> counters_{};
  std::array<uint32_t, kReturns> returns_{};
  uint32_t top_ = 0;
  uint8_t mispredict_;
};

}  // namespace millrace::board
