// SPDX-License-Identifier: Apache-2.0
// 32-bit operations on registers: shifts, extension, SIMD, multiplication; Armv7-M ARM A5.3.12 ..
// A5.3.17.
#include "cpu/decode_parts.h"

namespace millrace::board {
namespace {

Insn checked(const Insn& i, bool allowed) { return allowed ? i : unpredictable(4); }

Insn shift_or_extend(uint16_t hw1, uint16_t hw2, Insn i) {
  if (!bit(hw2, 7)) {
    if (bits(hw2, 6, 4) != 0 || bit(hw1, 7)) {
      return undefined(4);
    }
    i.kind = Kind::shift_register;
    i.shift = static_cast<Shift>(bits(hw1, 6, 5));
    i.set_flags = bit(hw1, 4);
    return checked(i, !is_sp_or_pc(i.rd) && !is_sp_or_pc(i.rn) && !is_sp_or_pc(i.rm));
  }
  constexpr Kind kKinds[] = {Kind::sxth, Kind::uxth, Kind::sxtb16,    Kind::uxtb16,
                             Kind::sxtb, Kind::uxtb, Kind::undefined, Kind::undefined};
  i.kind = kKinds[bits(hw1, 6, 4)];
  if (i.kind == Kind::undefined) {
    return i;
  }
  i.shift = Shift::ror;
  i.shift_amount = static_cast<uint8_t>(bits(hw2, 5, 4) * 8);
  return checked(i, !is_sp_or_pc(i.rd) && i.rn != 13 && !is_sp_or_pc(i.rm) && !bit(hw2, 6));
}

// A5.3.13, A5.3.14: parallel addition and subtraction.
Insn parallel(uint16_t hw1, uint16_t hw2, Insn i) {
  const unsigned op1 = bits(hw1, 6, 4);
  const unsigned prefix = bits(hw2, 6, 4);  // 0 S, 1 Q, 2 SH, 4 U, 5 UQ, 6 UH
  if (op1 == 3 || op1 == 7 || (prefix & 3) == 3) {
    return undefined(4);
  }
  i.kind = Kind::parallel;
  i.imm = (op1 << 3) | prefix;
  return checked(i, !is_sp_or_pc(i.rd) && !is_sp_or_pc(i.rn) && !is_sp_or_pc(i.rm));
}

// A5.3.15: miscellaneous operations.
Insn miscellaneous(uint16_t hw1, uint16_t hw2, Insn i) {
  const unsigned op2 = bits(hw2, 5, 4);
  const bool registers = !is_sp_or_pc(i.rd) && !is_sp_or_pc(i.rn) && !is_sp_or_pc(i.rm);
  switch (bits(hw1, 5, 4)) {
    case 0:
      i.kind = Kind::qadd;
      i.imm = op2;
      return checked(i, registers);
    case 1: {
      constexpr Kind kKinds[] = {Kind::rev, Kind::rev16, Kind::rbit, Kind::revsh};
      i.kind = kKinds[op2];
      return checked(i, registers && i.rn == i.rm);
    }
    case 2:
      i.kind = Kind::sel;
      return op2 != 0 ? undefined(4) : checked(i, registers);
    default:
      i.kind = Kind::clz;
      return op2 != 0 ? undefined(4) : checked(i, registers && i.rn == i.rm);
  }
}

// A5.3.16: multiply, multiply accumulate, and absolute difference.
Insn multiply(uint16_t hw1, uint16_t hw2, Insn i) {
  i.ra = reg(hw2, 12);
  const unsigned op2 = bits(hw2, 5, 4);
  const bool x = bit(hw2, 5);
  const bool y = bit(hw2, 4);
  if (bits(hw2, 7, 6) != 0) {
    return undefined(4);
  }
  bool needs_accumulator = false;
  switch (bits(hw1, 6, 4)) {
    case 0:
      if (x) {
        return undefined(4);
      }
      i.kind = y ? Kind::mls : i.ra == 15 ? Kind::mul : Kind::mla;
      needs_accumulator = y;
      break;
    case 1:
      i.kind = Kind::smla_half;
      i.imm = (x ? 1u : 0) | (y ? 2u : 0);
      break;
    case 2:
      i.kind = Kind::smlad;
      break;
    case 3:
      i.kind = Kind::smla_wide;
      break;
    case 4:
      i.kind = Kind::smlsd;
      break;
    case 5:
      i.kind = Kind::smmla;
      break;
    case 6:
      i.kind = Kind::smmls;
      needs_accumulator = true;
      break;
    default:
      if (op2 != 0) {
        return undefined(4);
      }
      i.kind = Kind::usada8;
      break;
  }
  if (i.kind == Kind::smla_wide) {
    i.imm = y ? 2 : 0;
  } else if (i.kind == Kind::smlad || i.kind == Kind::smlsd || i.kind == Kind::smmla ||
             i.kind == Kind::smmls) {
    i.imm = y ? 1 : 0;
  }
  if (x && i.kind != Kind::smla_half) {
    return undefined(4);
  }
  return checked(i, !is_sp_or_pc(i.rd) && !is_sp_or_pc(i.rn) && !is_sp_or_pc(i.rm) && i.ra != 13 &&
                        !(needs_accumulator && i.ra == 15));
}

// A5.3.17: long multiply, long multiply accumulate, and divide. rd = RdLo, ra = RdHi.
Insn long_multiply(uint16_t hw1, uint16_t hw2, Insn i) {
  const unsigned op2 = bits(hw2, 7, 4);
  i.rd = reg(hw2, 12);
  i.ra = reg(hw2, 8);
  i.kind = Kind::undefined;
  switch (bits(hw1, 6, 4)) {
    case 0:
      i.kind = op2 == 0 ? Kind::smull : Kind::undefined;
      break;
    case 1:
    case 3:
      if (op2 != 15) {
        return undefined(4);
      }
      i.kind = bit(hw1, 5) ? Kind::udiv : Kind::sdiv;
      i.rd = reg(hw2, 8);
      i.ra = 0;
      return checked(
          i, !is_sp_or_pc(i.rd) && !is_sp_or_pc(i.rn) && !is_sp_or_pc(i.rm) && reg(hw2, 12) == 15);
    case 2:
      i.kind = op2 == 0 ? Kind::umull : Kind::undefined;
      break;
    case 4:
      if (op2 == 0) {
        i.kind = Kind::smlal;
      } else if ((op2 & 12) == 8) {
        i.kind = Kind::smlal_half;
        i.imm = (bit(hw2, 5) ? 1u : 0) | (bit(hw2, 4) ? 2u : 0);
      } else if ((op2 & 14) == 12) {
        i.kind = Kind::smlald;
        i.imm = op2 & 1;
      }
      break;
    case 5:
      if ((op2 & 14) == 12) {
        i.kind = Kind::smlsld;
        i.imm = op2 & 1;
      }
      break;
    case 6:
      i.kind = op2 == 0 ? Kind::umlal : op2 == 6 ? Kind::umaal : Kind::undefined;
      break;
    default:
      break;
  }
  if (i.kind == Kind::undefined) {
    return i;
  }
  return checked(i, !is_sp_or_pc(i.rd) && !is_sp_or_pc(i.ra) && !is_sp_or_pc(i.rn) &&
                        !is_sp_or_pc(i.rm) && i.rd != i.ra);
}

}  // namespace

Insn decode_register_ops(uint16_t hw1, uint16_t hw2) {
  Insn i;
  i.size = 4;
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 8);
  i.rm = reg(hw2, 0);
  if (bits(hw1, 9, 7) == 6) {
    return multiply(hw1, hw2, i);
  }
  if (bits(hw1, 9, 7) == 7) {
    return long_multiply(hw1, hw2, i);
  }
  if (reg(hw2, 12) != 15) {
    return undefined(4);
  }
  if (!bit(hw1, 7)) {
    return shift_or_extend(hw1, hw2, i);
  }
  if (!bit(hw2, 7)) {
    return parallel(hw1, hw2, i);
  }
  return bit(hw1, 6) || bit(hw2, 6) ? undefined(4) : miscellaneous(hw1, hw2, i);
}

}  // namespace millrace::board
