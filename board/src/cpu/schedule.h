// SPDX-License-Identifier: Apache-2.0
// The static part of the timing: which cycle each instruction of a block issues in.
#pragma once

#include <vector>

#include "core/timing.h"
#include "cpu/block.h"
#include "cpu/insn.h"

namespace millrace::board {

// Sets the issue cycles of the block's ops, its length, late results and first uses. `timing` null:
// one cycle an instruction.
void schedule(const std::vector<Insn>& insns, const Timing* timing, Block* block);

// Cycles that `next` waits at its start for results of `before`.
uint8_t wait_between(const Block& before, const Block& next);

}  // namespace millrace::board
