// SPDX-License-Identifier: Apache-2.0
// Between the core's ops and the arithmetic: a handler for each common instruction.
#include "cpu/exec.h"
#include "cpu/fp_fast.h"
#include "cpu/fpu.h"

namespace millrace::board {
namespace {

Next any(Cpu& cpu, const Op* op) {
  if (!cpu.prepare_fp(op)) {
    return Next::fault;
  }
  return execute_fp(cpu, *op) == Next::go ? next_op(cpu, op) : Next::fault;
}

template <typename Bits, fp::FastOp kind>
Next common(Cpu& cpu, const Op* op) {
  if (!cpu.prepare_fp(op)) {
    return Next::fault;
  }
  if (fp::fast<Bits, kind>(cpu.state, op->imm)) [[likely]] {
    return next_op(cpu, op);
  }
  return execute_fp(cpu, *op) == Next::go ? next_op(cpu, op) : Next::fault;
}

template <typename Bits, fp::FastOp kind>
struct MakeHandler {
  static constexpr Handler value = &common<Bits, kind>;
};

}  // namespace

Handler fp_handler(uint32_t instruction) {
  return fp::select_fast<MakeHandler, Handler>(instruction, &any);
}

Next execute_fp(Cpu& cpu, const Op& op) {
  if (execute_fp(cpu.state, op.imm)) [[likely]] {
    return Next::go;
  }
  return cpu.raise(&op, FaultCause::undefined_instruction, 0);
}

}  // namespace millrace::board
