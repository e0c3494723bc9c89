// SPDX-License-Identifier: Apache-2.0
// Between the core's ops and the arithmetic.
#include "cpu/cpu.h"
#include "cpu/fpu.h"

namespace millrace::board {

Next execute_fp(Cpu& cpu, const Op& op) {
  if (execute_fp(cpu.state, op.imm)) [[likely]] {
    return Next::go;
  }
  return cpu.raise(&op, FaultCause::undefined_instruction, 0);
}

}  // namespace millrace::board
