// SPDX-License-Identifier: Apache-2.0
// A decoded instruction, ready to execute.
#pragma once

#include <cstdint>

namespace millrace::board {

class Cpu;
struct Op;

// Why a chain of handlers came back to the run loop; also what execute_fp() answers.
enum class Next : uint8_t {
  go,         // only from functions that do not chain: done, continue with the next op
  fall,       // the block's end was reached: r[15] is the next address
  taken,      // a direct branch was taken: r[15] is its target
  indirect,   // r[15] was written from a register or from memory
  resync,     // the instruction at Cpu::stop_op() is complete; events must be looked at
  fault,      // Cpu::raise() was called; the instruction at stop_op() had no effect
  exception,  // r[15] is the next address; an exception may be pending (SVC, CPS, MSR, return)
  sleep_wfi,  // r[15] is the next address
  sleep_wfe,
  breakpoint,  // BKPT at stop_op()
  stepped,     // the one instruction asked for is done
};

// Executes the op and, by a tail call, the ops behind it in the block.
using Handler = Next (*)(Cpu& cpu, const Op* op);

// An instruction makes one op, or several: inside an IT block a guard stands before it, and a write
// to SP may need its low bits cleared. A block ends in an op that sets r[15] to its imm.
struct Op {
  Handler handler = nullptr;
  uint32_t imm = 0;  // immediate, target, register list; FP data processing: the instruction
  uint8_t rd = 0;
  uint8_t rn = 0;
  uint8_t rm = 0;
  uint8_t ra = 0;       // or shift amount, width, second destination
  uint16_t cycle = 0;   // issue cycle, from the start of the block
  uint8_t half = 0;     // offset from the start of the block in halfwords
  uint8_t itstate = 0;  // ITSTATE in which this instruction executes (A7.3.2)
  uint8_t index = 0;    // number of the instruction in the block
  uint8_t ops = 1;      // of the instruction; this is the first of them
};
static_assert(sizeof(Op) <= 24);

}  // namespace millrace::board
