// SPDX-License-Identifier: Apache-2.0
// Branch target cache, direction counters and return stack. The Cortex-M7's own are not documented;
// the sizes are parameters that were fitted (core/timing.h, grade I).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/snapshot.h"
#include "core/timing.h"
#include "cpu/block.h"

namespace millrace::board {

class BranchPredictor {
 public:
  explicit BranchPredictor(const Timing& timing)
      : mispredict_(timing.branch_mispredict),
        target_miss_(timing.branch_target_miss),
        target_mask_(mask(timing.branch_targets, kMaxTargets)),
        counter_mask_(mask(timing.branch_counters, kMaxCounters)),
        return_mask_(mask(timing.branch_returns, kMaxReturns)) {}

  // What leaving a block costs beyond its issue cycles; learns. `pc`: of the branch; `end`: of the
  // instruction behind it.
  uint32_t leave(BlockEnd kind, uint32_t pc, uint32_t end, uint32_t target, bool taken) {
    if (kind == BlockEnd::conditional) [[likely]] {
      return conditional(pc, target, taken);
    }
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
  void snapshot(Snapshot& s) {
    for (Target& t : targets_) {
      s.field("branch_pc", t.pc);
      s.field("branch_target", t.target);
    }
    s.field("branch_counters", counters_);
    s.field("branch_returns", returns_);
    s.field("branch_top", top_);
  }
  void reset() {
    targets_ = {};
    counters_ = {};
    returns_ = {};
    top_ = 0;
  }
  friend bool operator==(const BranchPredictor&, const BranchPredictor&) = default;

 private:
  static constexpr uint32_t kMaxTargets = 1024;
  static constexpr uint32_t kMaxCounters = 4096;
  static constexpr uint32_t kMaxReturns = 32;
  struct Target {
    uint32_t pc = 1;
    uint32_t target = 0;
    friend bool operator==(const Target&, const Target&) = default;
  };

  // Of the largest power of two that is not above `entries`.
  static uint32_t mask(uint32_t entries, uint32_t max) {
    return std::bit_floor(std::clamp(entries, 1u, max)) - 1;
  }

  uint32_t direct(uint32_t pc, uint32_t target) {
    Target& t = targets_[(pc >> 1) & target_mask_];
    if (t.pc == pc && t.target == target) [[likely]] {
      return 0;
    }
    const bool hit = t.pc == pc;
    t = {pc, target};
    return hit ? 0 : target_miss_;
  }
  uint32_t conditional(uint32_t pc, uint32_t target, bool taken) {
    uint8_t& counter = counters_[(pc >> 1) & counter_mask_];
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
    Target& t = targets_[(pc >> 1) & target_mask_];
    const bool hit = t.pc == pc && t.target == target;
    t = {pc, target};
    return hit ? 0 : mispredict_;
  }
  void push(uint32_t address) { returns_[top_++ & return_mask_] = address; }
  uint32_t pop() { return returns_[--top_ & return_mask_]; }

  std::array<Target, kMaxTargets> targets_{};
  std::array<uint8_t, kMaxCounters> counters_{};
  std::array<uint32_t, kMaxReturns> returns_{};
  uint32_t top_ = 0;
  uint32_t mispredict_, target_miss_, target_mask_, counter_mask_, return_mask_;
};

}  // namespace millrace::board
