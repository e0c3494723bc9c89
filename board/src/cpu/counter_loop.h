// SPDX-License-Identifier: Apache-2.0
// Loops of one block that do nothing but read a free-running counter and compare what has passed:
// `do { now = CYCCNT; } while (now - start < n);`. Tells which registers differ from round to round
// and for how many rounds the comparison certainly comes out as it did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/insn.h"
#include "cpu/state.h"

namespace millrace::board {

struct CounterLoop {
  // An operand of the comparison: in a register behind the round, or the constant `value`.
  struct Operand {
    bool known = false;
    bool in_register = false;
    uint8_t reg = 0;
    uint32_t value = 0;
    int slope = 0;  // 1, -1: what the counter advances by is added or subtracted each round
  };
  Operand minuend, subtrahend, difference;  // two of them are known
  // By number of the scoreboard (pipeline.h): registers and flags that differ from round to round.
  // Each is written before it is read, so a round begins anew whatever they hold.
  uint64_t varying = 0;
};

// `insns`: the block, which must branch back to itself. `load`: which of them reads the counter.
// Empty: the loop is something else.
std::optional<CounterLoop> find_counter_loop(const std::vector<Insn>& insns, size_t load);

// How many more rounds set the flags as the last one did, if the counter advances by `step` a
// round. `before`, `behind`: the state before and behind the last round. 0 if unsure.
uint64_t steady_rounds(const CounterLoop& loop, const CpuState& before, const CpuState& behind,
                       uint32_t step);

}  // namespace millrace::board
