// SPDX-License-Identifier: Apache-2.0
// From instructions to ops.
#pragma once

#include <vector>

#include "cpu/insn.h"
#include "cpu/op.h"

namespace millrace::board {

// Whether nothing can follow the instruction in its block.
bool ends_block(const Insn& i);
// Appends the ops of one instruction. `place`: half, itstate, index of it.
void lower(const Insn& i, const Op& place, std::vector<Op>* ops);

}  // namespace millrace::board
