// SPDX-License-Identifier: Apache-2.0
// What the handlers share, and how lower.cc finds them. A handler does its work and tail-calls the
// next op, so that a block runs without coming back to a loop; recursion is bounded by the length
// of a block where the compiler does not make jumps of the calls.
#pragma once

#include <cstdint>

#include "cpu/cpu.h"
#include "cpu/insn.h"
#include "cpu/op.h"

namespace millrace::board {

inline Next next_op(Cpu& cpu, const Op* op) { return op[1].handler(cpu, op + 1); }

// Ends a load or store that may have asked for the chain to stop.
inline Next next_after(Cpu& cpu, const Op* op, Access access) {
  if (access == Access::done) [[likely]] {
    return next_op(cpu, op);
  }
  return cpu.stop_at(op, Next::resync);
}

// A7.3.1 ConditionPassed.
inline bool condition_passed(const CpuState& s, unsigned cond) {
  const bool n = (s.n_source >> 31) != 0;
  bool result = false;
  switch (cond >> 1) {
    case 0:
      result = s.z_source == 0;
      break;
    case 1:
      result = s.c != 0;
      break;
    case 2:
      result = n;
      break;
    case 3:
      result = s.v != 0;
      break;
    case 4:
      result = s.c != 0 && s.z_source != 0;
      break;
    case 5:
      result = n == (s.v != 0);
      break;
    case 6:
      result = n == (s.v != 0) && s.z_source != 0;
      break;
    default:
      return true;
  }
  return result != ((cond & 1) != 0);
}

struct Sum {
  uint32_t value;
  uint32_t carry;
  uint32_t overflow;
};
// A2.2.1 AddWithCarry.
inline Sum add_with_carry(uint32_t a, uint32_t b, uint32_t carry) {
  const uint64_t wide = static_cast<uint64_t>(a) + b + carry;
  const uint32_t r = static_cast<uint32_t>(wide);
  return {r, static_cast<uint32_t>(wide >> 32), ((a ^ r) & (b ^ r)) >> 31};
}

// The handler of an instruction of the group; null: not in it.
Handler alu_handler(const Insn& i);
// Of the instruction and the conditional branch behind it in one; null: there is none.
Handler alu_and_branch_handler(const Insn& i, const Insn& branch);
Handler shift_handler(const Insn& i);
Handler multiply_handler(const Insn& i);
Handler dsp_handler(const Insn& i);
Handler load_store_handler(const Insn& i);
Handler multiple_handler(const Insn& i);  // LDM, STM, LDRD, STRD, exclusives
Handler branch_handler(const Insn& i);
Handler system_handler(const Insn& i);
Handler vfp_handler(const Insn& i);

// Ops that no instruction is.
Next op_fall(Cpu& cpu, const Op* op);       // the end of a block
Next op_stepped(Cpu& cpu, const Op* op);    // the end of a single step
Next op_align_sp(Cpu& cpu, const Op* op);   // SP[1:0] are 0
Next op_fetch_bus(Cpu& cpu, const Op* op);  // the fetch failed
Next op_fetch_mpu(Cpu& cpu, const Op* op);
Next op_undefined(Cpu& cpu, const Op* op);
Handler guard_handler(unsigned cond);  // executes the next op.imm ops if the condition passes

}  // namespace millrace::board
