// SPDX-License-Identifier: Apache-2.0
// What an instruction is, by the manual's words: the decoder's result, from which ops (lower.h)
// and the static schedule (schedule.h) are made. Armv7-M ARM (DDI 0403E) chapters A5-A7.
#pragma once

#include <cstdint>

namespace millrace::board {

enum class Kind : uint8_t {
  undefined,      // UNDEFINED: UsageFault
  unpredictable,  // treated as UNDEFINED (decoder.h lists the choices made otherwise)
  coprocessor,    // to a coprocessor that is not there: UsageFault NOCP
  // Data processing, operand 2 an immediate or a shifted register. rd = 15 never appears here
  // but in mov_pc and add_pc.
  and_op,
  bic,
  orr,
  orn,
  eor,
  mov,
  mvn,
  tst,
  teq,
  add,
  adc,
  sub,
  sbc,
  rsb,
  cmp,
  cmn,
  adr,   // rd = imm, an absolute address
  movt,  // rd[31:16] = imm
  mov_pc,
  add_pc,          // PC = PC + rm
  shift_register,  // rd = rn shifted (by `shift`) by rm
  // Multiply and divide.
  mul,
  mla,
  mls,
  smull,
  umull,
  smlal,
  umlal,
  umaal,
  sdiv,
  udiv,
  smla_half,   // SMLA<x><y>; imm: bit 0 = x top, bit 1 = y top; ra = 15: SMUL<x><y>
  smla_wide,   // SMLAW<y>, SMULW<y>; imm bit 1 = y top
  smlal_half,  // SMLAL<x><y>
  smlad,       // imm bit 0: exchange; ra = 15: SMUAD
  smlsd,
  smlald,
  smlsld,
  smmla,  // imm bit 0: round; ra = 15: SMMUL
  smmls,
  usada8,  // ra = 15: USAD8
  // Bits, extension, saturation, packing.
  bfi,  // imm = lsb, ra = width; rn = 15: BFC
  sbfx,
  ubfx,
  ssat,  // rn shifted, imm: saturate to (SSAT: 1..32, USAT: 0..31)
  usat,
  ssat16,
  usat16,
  sxtb,  // rotation: shift_amount; rn = 15: without addition
  sxth,
  sxtb16,
  uxtb,
  uxth,
  uxtb16,
  clz,
  rev,
  rev16,
  revsh,
  rbit,
  pkh,  // imm bit 0: PKHTB
  sel,
  parallel,  // imm: op1 << 3 | op2 as in A5.3.14, A5.3.15
  qadd,      // imm: op2, 0 QADD 1 QDADD 2 QSUB 3 QDSUB
  // Loads and stores.
  ldr,
  ldrb,
  ldrh,
  ldrsb,
  ldrsh,
  str,
  strb,
  strh,
  ldrd,
  strd,
  ldm,  // list; decrement: before
  stm,
  ldrex,
  ldrexb,
  ldrexh,
  strex,
  strexb,
  strexh,
  clrex,
  preload,  // PLD, PLI: a hint
  // Branches.
  b,  // imm: target; cond
  bl,
  bx,
  blx,
  cbz,  // also CBNZ: imm target, ra = 1
  tbb,  // ra = 1: TBH
  // System.
  it,
  svc,
  bkpt,
  cps,  // imm bit 4: disable; bits 1, 0: I, F
  mrs,
  msr,  // imm: SYSm, ra: mask
  nop,  // also YIELD, DBG and unallocated hints
  wfe,
  wfi,
  sev,
  dmb,
  dsb,
  isb,
  // Floating point. rd, rn, rm: register numbers as in s[]; imm of vfp_data: the instruction.
  vldr,
  vstr,
  vldm,  // also VPOP; ra: number of words
  vstm,
  vmov_core_single,  // to_core: rd = core register, rn = S register
  vmov_core_lane,    // D register half
  vmov_core_pair,    // rd, ra core registers; rn the first of two S registers
  vmrs,              // rd = 15: APSR
  vmsr,
  vfp_data,
};

enum class Shift : uint8_t { lsl, lsr, asr, ror, rrx };

inline constexpr uint8_t kAlways = 14;
inline constexpr uint8_t kNoCarry = 2;

struct Insn {
  Kind kind = Kind::undefined;
  uint8_t size = 2;  // bytes
  uint8_t rd = 0, rn = 0, rm = 0, ra = 0;
  bool set_flags = false;
  bool immediate = false;  // operand 2 / offset is imm, else rm with shift
  Shift shift = Shift::lsl;
  uint8_t shift_amount = 0;
  uint8_t carry = kNoCarry;  // C after a logical operation with an immediate; kNoCarry: unchanged
  bool add = true;           // loads and stores: U
  bool index = true;         // P
  bool writeback = false;    // W
  bool unprivileged = false;
  bool literal = false;    // address is imm, absolute
  bool dual = false;       // VFP: doubleword registers
  bool to_core = false;    // VMOV, VMRS: from the FP side
  uint8_t cond = kAlways;  // conditional branches and instructions in an IT block
  uint32_t imm = 0;
  uint16_t list = 0;
};

}  // namespace millrace::board
