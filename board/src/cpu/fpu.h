// SPDX-License-Identifier: Apache-2.0
// Floating-point data processing of FPv5-D16 (Armv7-M ARM A6.4, A7.7). Loads, stores and transfers
// to core registers are the core's.
#pragma once

#include <cstdint>

#include "cpu/op.h"
#include "cpu/state.h"

namespace millrace::board {

// Executes the 32-bit encoding `instruction` (first halfword in the upper half) on the registers
// and FPSCR of `state`. Access has been checked (SystemControl::prepare_fp). False, with nothing
// changed: UNDEFINED.
bool execute_fp(CpuState& state, uint32_t instruction);
// The same for op.imm. Next::go, or Next::fault after Cpu::raise().
Next execute_fp(Cpu& cpu, const Op& op);
// The handler that checks access, executes `instruction` (which is also op.imm) and goes on.
// REQUIRES: the decoder found it defined.
Handler fp_handler(uint32_t instruction);

}  // namespace millrace::board
