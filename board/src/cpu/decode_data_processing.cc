// SPDX-License-Identifier: Apache-2.0
// 32-bit data processing: immediates and shifted registers, Armv7-M ARM A5.3.1 .. A5.3.3, A5.3.11.
#include <bit>

#include "cpu/decode_parts.h"

namespace millrace::board {
namespace {

// The operations that immediate and shifted-register forms share. `op`: hw1[8:5].
// Kind::undefined: no such operation.
Kind operation(unsigned op) {
  switch (op) {
    case 0:
      return Kind::and_op;
    case 1:
      return Kind::bic;
    case 2:
      return Kind::orr;
    case 3:
      return Kind::orn;
    case 4:
      return Kind::eor;
    case 8:
      return Kind::add;
    case 10:
      return Kind::adc;
    case 11:
      return Kind::sbc;
    case 13:
      return Kind::sub;
    case 14:
      return Kind::rsb;
    default:
      return Kind::undefined;
  }
}

// ORR and ORN without a first operand are MOV and MVN; flag-setting without a destination makes
// TST, TEQ, CMN, CMP.
void apply_aliases(Insn* i) {
  if (i->rn == 15 && (i->kind == Kind::orr || i->kind == Kind::orn)) {
    i->kind = i->kind == Kind::orr ? Kind::mov : Kind::mvn;
    return;
  }
  if (i->rd == 15 && i->set_flags) {
    switch (i->kind) {
      case Kind::and_op:
        i->kind = Kind::tst;
        break;
      case Kind::eor:
        i->kind = Kind::teq;
        break;
      case Kind::add:
        i->kind = Kind::cmn;
        break;
      case Kind::sub:
        i->kind = Kind::cmp;
        break;
      default:
        break;
    }
  }
}

bool is_compare(Kind k) {
  return k == Kind::tst || k == Kind::teq || k == Kind::cmn || k == Kind::cmp;
}

// The register restrictions of the immediate and shifted-register forms.
bool registers_allowed(const Insn& i) {
  const bool add_sub = i.kind == Kind::add || i.kind == Kind::sub;
  const bool has_rn = i.kind != Kind::mov && i.kind != Kind::mvn;
  if (has_rn) {
    const bool sp_allowed = add_sub || i.kind == Kind::cmp || i.kind == Kind::cmn;
    if (i.rn == 15 || (i.rn == 13 && !sp_allowed)) {
      return false;
    }
  }
  if (is_compare(i.kind)) {
    return true;
  }
  return i.rd != 15 && (i.rd != 13 || (add_sub && i.rn == 13));
}

// A5.3.2 ThumbExpandImm_C. False: UNPREDICTABLE.
bool expand_immediate(uint32_t imm12, Insn* i) {
  const uint32_t byte = imm12 & 0xFF;
  i->carry = kNoCarry;
  if (imm12 < 0x400) {
    constexpr uint32_t kPatterns[] = {0x00000001, 0x00010001, 0x01000100, 0x01010101};
    i->imm = byte * kPatterns[imm12 >> 8];
    return imm12 < 0x100 || byte != 0;
  }
  i->imm = std::rotr(0x80 | (imm12 & 0x7F), static_cast<int>(imm12 >> 7));
  i->carry = static_cast<uint8_t>(i->imm >> 31);
  return true;
}

void set_shift(uint32_t type, uint32_t amount, Insn* i) {
  i->shift = static_cast<Shift>(type);
  i->shift_amount = static_cast<uint8_t>(amount);
  if (amount == 0 && type != 0) {
    if (type == 3) {
      i->shift = Shift::rrx;
      i->shift_amount = 1;
    } else {
      i->shift_amount = 32;
    }
  }
}

Insn shifted_register(uint16_t hw1, uint16_t hw2) {
  Insn i;
  i.size = 4;
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 8);
  i.rm = reg(hw2, 0);
  i.set_flags = bit(hw1, 4);
  const uint32_t amount = (bits(hw2, 14, 12) << 2) | bits(hw2, 7, 6);
  const unsigned op = bits(hw1, 8, 5);
  if (op == 6) {
    if (i.set_flags || bit(hw2, 4)) {
      return undefined(4);
    }
    i.kind = Kind::pkh;
    i.imm = bit(hw2, 5) ? 1 : 0;
    set_shift(bits(hw2, 5, 4), amount, &i);
    return is_sp_or_pc(i.rd) || is_sp_or_pc(i.rn) || is_sp_or_pc(i.rm) || bit(hw2, 15)
               ? unpredictable(4)
               : i;
  }
  i.kind = operation(op);
  if (i.kind == Kind::undefined) {
    return i;
  }
  apply_aliases(&i);
  set_shift(bits(hw2, 5, 4), amount, &i);
  const bool plain = i.shift == Shift::lsl && i.shift_amount == 0;
  if (bit(hw2, 15)) {
    return unpredictable(4);
  }
  if (i.kind == Kind::mov && plain && !i.set_flags) {
    return i.rd == 15 || i.rm == 15 || (i.rd == 13 && i.rm == 13) ? unpredictable(4) : i;
  }
  const bool stack_adjust = (i.kind == Kind::add || i.kind == Kind::sub) && i.rd == 13;
  if (!registers_allowed(i) || is_sp_or_pc(i.rm) ||
      (stack_adjust && (i.shift != Shift::lsl || i.shift_amount > 3))) {
    return unpredictable(4);
  }
  return i;
}

Insn modified_immediate(uint16_t hw1, uint16_t hw2) {
  Insn i;
  i.size = 4;
  i.immediate = true;
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 8);
  i.set_flags = bit(hw1, 4);
  i.kind = operation(bits(hw1, 8, 5));
  if (i.kind == Kind::undefined) {
    return i;
  }
  apply_aliases(&i);
  const uint32_t imm12 = (bit(hw1, 10) ? 0x800u : 0) | (bits(hw2, 14, 12) << 8) | (hw2 & 0xFFu);
  if (!expand_immediate(imm12, &i) || !registers_allowed(i)) {
    return unpredictable(4);
  }
  return i;
}

Insn saturate(uint16_t hw1, uint16_t hw2) {
  Insn i;
  i.size = 4;
  const bool is_unsigned = bit(hw1, 7);
  const uint32_t amount = (bits(hw2, 14, 12) << 2) | bits(hw2, 7, 6);
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 8);
  i.imm = (hw2 & 0x1Fu) + (is_unsigned ? 0 : 1);
  if (bit(hw1, 5) && amount == 0) {
    i.kind = is_unsigned ? Kind::usat16 : Kind::ssat16;
    i.imm = (hw2 & 0xFu) + (is_unsigned ? 0 : 1);
    return is_sp_or_pc(i.rd) || is_sp_or_pc(i.rn) || bits(hw2, 5, 4) != 0 || bit(hw1, 10)
               ? unpredictable(4)
               : i;
  }
  i.kind = is_unsigned ? Kind::usat : Kind::ssat;
  i.shift = bit(hw1, 5) ? Shift::asr : Shift::lsl;
  i.shift_amount = static_cast<uint8_t>(amount);
  return is_sp_or_pc(i.rd) || is_sp_or_pc(i.rn) || bit(hw2, 5) || bit(hw1, 10) ? unpredictable(4)
                                                                               : i;
}

Insn bitfield(uint16_t hw1, uint16_t hw2) {
  Insn i;
  i.size = 4;
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 8);
  i.imm = (bits(hw2, 14, 12) << 2) | bits(hw2, 7, 6);
  const uint32_t field = hw2 & 0x1F;
  if (is_sp_or_pc(i.rd) || bit(hw2, 5) || bit(hw1, 10)) {
    return unpredictable(4);
  }
  if (bits(hw1, 7, 4) == 6) {
    i.kind = Kind::bfi;
    i.ra = static_cast<uint8_t>(field + 1 - i.imm);
    return field < i.imm || i.rn == 13 ? unpredictable(4) : i;
  }
  i.kind = bit(hw1, 7) ? Kind::ubfx : Kind::sbfx;
  i.ra = static_cast<uint8_t>(field + 1);
  return i.imm + i.ra > 32 || is_sp_or_pc(i.rn) ? unpredictable(4) : i;
}

// A5.3.3: plain binary immediate.
Insn plain_immediate(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  Insn i;
  i.size = 4;
  i.immediate = true;
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 8);
  const uint32_t imm12 = (bit(hw1, 10) ? 0x800u : 0) | (bits(hw2, 14, 12) << 8) | (hw2 & 0xFFu);
  switch (bits(hw1, 8, 4)) {
    case 0x00:
    case 0x0A: {
      const bool add = !bit(hw1, 7);
      i.imm = imm12;
      if (i.rn == 15) {
        i.kind = Kind::adr;
        i.imm = add ? at.aligned_pc() + imm12 : at.aligned_pc() - imm12;
        return is_sp_or_pc(i.rd) ? unpredictable(4) : i;
      }
      i.kind = add ? Kind::add : Kind::sub;
      return registers_allowed(i) ? i : unpredictable(4);
    }
    case 0x04:
    case 0x0C:
      i.kind = bit(hw1, 7) ? Kind::movt : Kind::mov;
      i.imm = (static_cast<uint32_t>(i.rn) << 12) | imm12;
      return is_sp_or_pc(i.rd) ? unpredictable(4) : i;
    case 0x10:
    case 0x12:
    case 0x18:
    case 0x1A:
      return saturate(hw1, hw2);
    case 0x14:
    case 0x16:
    case 0x1C:
      return bitfield(hw1, hw2);
    default:
      return undefined(4);
  }
}

}  // namespace

Insn decode_data_processing(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  if (bits(hw1, 12, 11) == 1) {
    return shifted_register(hw1, hw2);
  }
  return bit(hw1, 9) ? plain_immediate(hw1, hw2, at) : modified_immediate(hw1, hw2);
}

}  // namespace millrace::board
