// SPDX-License-Identifier: Apache-2.0
// The 16-bit encodings, in the order of Armv7-M ARM A5.2.
#include <bit>

#include "cpu/decode_parts.h"
#include "cpu/decoder.h"

namespace millrace::board {
namespace {

// A5.2.1: shift (immediate), add, subtract, move, and compare.
Insn shift_add_sub_move(uint16_t hw, const DecodeContext& at) {
  Insn i;
  i.set_flags = !at.in_it();
  i.rd = reg(hw & 7, 0);
  i.rn = reg(bits(hw, 5, 3), 0);
  i.rm = i.rn;
  const unsigned op = bits(hw, 13, 11);
  if (op < 3) {
    i.kind = Kind::mov;
    i.shift = static_cast<Shift>(op);
    const uint32_t amount = bits(hw, 10, 6);
    if (op == 0 && amount == 0 && at.in_it()) {
      return unpredictable(2);
    }
    i.shift_amount = static_cast<uint8_t>(op != 0 && amount == 0 ? 32 : amount);
    return i;
  }
  if (op == 3) {
    i.kind = bit(hw, 9) ? Kind::sub : Kind::add;
    i.immediate = bit(hw, 10);
    i.rm = reg(bits(hw, 8, 6), 0);
    i.imm = i.rm;
    return i;
  }
  constexpr Kind kKinds[] = {Kind::mov, Kind::cmp, Kind::add, Kind::sub};
  i.kind = kKinds[op - 4];
  i.immediate = true;
  i.rd = i.rn = reg(bits(hw, 10, 8), 0);
  i.imm = hw & 0xFF;
  if (i.kind == Kind::cmp) {
    i.set_flags = true;
  }
  return i;
}

// A5.2.2: data processing.
Insn data_processing(uint16_t hw, const DecodeContext& at) {
  Insn i;
  i.set_flags = !at.in_it();
  i.rd = i.rn = reg(hw & 7, 0);
  i.rm = reg(bits(hw, 5, 3), 0);
  switch (bits(hw, 9, 6)) {
    case 0:
      i.kind = Kind::and_op;
      break;
    case 1:
      i.kind = Kind::eor;
      break;
    case 2:
    case 3:
    case 4:
    case 7:
      i.kind = Kind::shift_register;
      i.shift = bits(hw, 9, 6) == 7 ? Shift::ror : static_cast<Shift>(bits(hw, 9, 6) - 2);
      break;
    case 5:
      i.kind = Kind::adc;
      break;
    case 6:
      i.kind = Kind::sbc;
      break;
    case 8:
      i.kind = Kind::tst;
      i.set_flags = true;
      break;
    case 9:
      i.kind = Kind::rsb;
      i.rn = i.rm;
      i.immediate = true;
      break;
    case 10:
      i.kind = Kind::cmp;
      i.set_flags = true;
      break;
    case 11:
      i.kind = Kind::cmn;
      i.set_flags = true;
      break;
    case 12:
      i.kind = Kind::orr;
      break;
    case 13:
      i.kind = Kind::mul;
      break;
    case 14:
      i.kind = Kind::bic;
      break;
    default:
      i.kind = Kind::mvn;
      break;
  }
  return i;
}

// A5.2.3: special data instructions and branch and exchange.
Insn special_data(uint16_t hw, const DecodeContext& at) {
  Insn i;
  i.rm = reg(hw, 3);
  i.rd = i.rn = static_cast<uint8_t>((hw & 7) | (bit(hw, 7) ? 8 : 0));
  switch (bits(hw, 9, 8)) {
    case 0:
      if (i.rd == 15) {
        if (i.rm == 15 || at.before_last_in_it()) {
          return unpredictable(2);
        }
        i.kind = Kind::add_pc;
        i.imm = at.pc();
        return i;
      }
      i.kind = Kind::add;
      if (i.rm == 15) {
        i.immediate = true;
        i.imm = at.pc();
      }
      return i;
    case 1:
      if (i.rn == 15 || i.rm == 15 || (i.rn < 8 && i.rm < 8)) {
        return unpredictable(2);
      }
      i.kind = Kind::cmp;
      i.set_flags = true;
      return i;
    case 2:
      if (i.rd == 15) {
        if (at.before_last_in_it()) {
          return unpredictable(2);
        }
        i.kind = Kind::mov_pc;
        i.imm = at.pc();
        return i;
      }
      i.kind = Kind::mov;
      if (i.rm == 15) {
        i.kind = Kind::adr;
        i.imm = at.pc();
      }
      return i;
    default:
      if (at.before_last_in_it() || (bit(hw, 7) && i.rm == 15) || (hw & 7) != 0) {
        return unpredictable(2);
      }
      i.kind = bit(hw, 7) ? Kind::blx : Kind::bx;
      i.imm = at.pc();
      return i;
  }
}

// A5.2.4: load/store single data item.
Insn load_store(uint16_t hw) {
  Insn i;
  i.rd = reg(hw & 7, 0);
  i.rn = reg(bits(hw, 5, 3), 0);
  const unsigned op = bits(hw, 15, 12);
  if (op == 5) {
    constexpr Kind kKinds[] = {Kind::str, Kind::strh, Kind::strb, Kind::ldrsb,
                               Kind::ldr, Kind::ldrh, Kind::ldrb, Kind::ldrsh};
    i.kind = kKinds[bits(hw, 11, 9)];
    i.rm = reg(bits(hw, 8, 6), 0);
    return i;
  }
  i.immediate = true;
  const uint32_t imm5 = bits(hw, 10, 6);
  const bool load = bit(hw, 11);
  if (op == 6) {
    i.kind = load ? Kind::ldr : Kind::str;
    i.imm = imm5 * 4;
  } else if (op == 7) {
    i.kind = load ? Kind::ldrb : Kind::strb;
    i.imm = imm5;
  } else if (op == 8) {
    i.kind = load ? Kind::ldrh : Kind::strh;
    i.imm = imm5 * 2;
  } else {
    i.kind = load ? Kind::ldr : Kind::str;
    i.rd = reg(bits(hw, 10, 8), 0);
    i.rn = 13;
    i.imm = (hw & 0xFFu) * 4;
  }
  return i;
}

// B4.2.1 CPS, IT and hints share 0xBFxx.
Insn it_and_hints(uint16_t hw, const DecodeContext& at) {
  Insn i;
  const uint32_t op = bits(hw, 7, 4);
  const uint32_t mask = hw & 15;
  if (mask != 0) {
    if (op == 15 || (op == 14 && std::popcount(mask) != 1) || at.in_it()) {
      return unpredictable(2);
    }
    i.kind = Kind::it;
    i.imm = hw & 0xFF;
    return i;
  }
  constexpr Kind kHints[] = {Kind::nop, Kind::nop, Kind::wfe, Kind::wfi, Kind::sev};
  i.kind = op < 5 ? kHints[op] : Kind::nop;
  return i;
}

// A5.2.5: miscellaneous 16-bit instructions.
Insn miscellaneous(uint16_t hw, const DecodeContext& at) {
  Insn i;
  const unsigned op = bits(hw, 11, 8);
  switch (op) {
    case 0:  // ADD/SUB SP
      i.kind = bit(hw, 7) ? Kind::sub : Kind::add;
      i.immediate = true;
      i.rd = i.rn = 13;
      i.imm = (hw & 0x7Fu) * 4;
      return i;
    case 1:
    case 3:
    case 9:
    case 11:
      if (at.in_it()) {
        return unpredictable(2);
      }
      i.kind = Kind::cbz;
      i.rn = reg(hw & 7, 0);
      i.ra = bit(hw, 11) ? 1 : 0;
      i.imm = at.pc() + ((bits(hw, 7, 3) | (bit(hw, 9) ? 32u : 0)) << 1);
      return i;
    case 2: {
      constexpr Kind kKinds[] = {Kind::sxth, Kind::sxtb, Kind::uxth, Kind::uxtb};
      i.kind = kKinds[bits(hw, 7, 6)];
      i.rd = reg(hw & 7, 0);
      i.rm = reg(bits(hw, 5, 3), 0);
      i.rn = 15;
      return i;
    }
    case 4:
    case 5:
      i.kind = Kind::stm;
      i.rn = 13;
      i.add = false;
      i.writeback = true;
      i.list = static_cast<uint16_t>((hw & 0xFFu) | (bit(hw, 8) ? 0x4000u : 0));
      return i.list == 0 ? unpredictable(2) : i;
    case 6:
      if ((hw & 0xFFE0) != 0xB660) {
        return undefined(2);
      }
      if (at.in_it() || (hw & 0xF) == 0 || bit(hw, 3) || bit(hw, 2)) {
        return unpredictable(2);
      }
      i.kind = Kind::cps;
      i.imm = hw & 0x13;
      return i;
    case 10: {
      constexpr Kind kKinds[] = {Kind::rev, Kind::rev16, Kind::undefined, Kind::revsh};
      i.kind = kKinds[bits(hw, 7, 6)];
      i.rd = reg(hw & 7, 0);
      i.rm = reg(bits(hw, 5, 3), 0);
      return i;
    }
    case 12:
    case 13:
      i.kind = Kind::ldm;
      i.rn = 13;
      i.writeback = true;
      i.list = static_cast<uint16_t>((hw & 0xFFu) | (bit(hw, 8) ? 0x8000u : 0));
      if (i.list == 0 || (bit(hw, 8) && at.before_last_in_it())) {
        return unpredictable(2);
      }
      return i;
    case 14:
      i.kind = Kind::bkpt;
      i.imm = hw & 0xFF;
      i.cond = kAlways;
      return i;
    case 15:
      return it_and_hints(hw, at);
    default:
      return undefined(2);
  }
}

Insn load_store_multiple(uint16_t hw) {
  Insn i;
  i.rn = reg(bits(hw, 10, 8), 0);
  i.list = hw & 0xFF;
  if (i.list == 0) {
    return unpredictable(2);
  }
  if (bit(hw, 11)) {
    i.kind = Kind::ldm;
    i.writeback = !bit(i.list, i.rn);
  } else {
    i.kind = Kind::stm;
    i.writeback = true;
  }
  return i;
}

Insn conditional_branch(uint16_t hw, const DecodeContext& at) {
  Insn i;
  const uint32_t cond = bits(hw, 11, 8);
  if (cond == 14) {
    return undefined(2);
  }
  if (cond == 15) {
    i.kind = Kind::svc;
    i.imm = hw & 0xFF;
    return i;
  }
  if (at.in_it()) {
    return unpredictable(2);
  }
  i.kind = Kind::b;
  i.cond = static_cast<uint8_t>(cond);
  i.imm = at.pc() + (sign_extend(hw & 0xFF, 8) << 1);
  return i;
}

}  // namespace

Insn decode16(uint16_t hw, const DecodeContext& at) {
  const unsigned top = hw >> 10;
  if (top < 0x10) {
    return shift_add_sub_move(hw, at);
  }
  if (top == 0x10) {
    return data_processing(hw, at);
  }
  if (top == 0x11) {
    return special_data(hw, at);
  }
  Insn i;
  switch (hw >> 11) {
    case 0x09:  // LDR (literal)
      i.kind = Kind::ldr;
      i.literal = true;
      i.immediate = true;
      i.rd = reg(bits(hw, 10, 8), 0);
      i.rn = 15;
      i.imm = at.aligned_pc() + (hw & 0xFFu) * 4;
      return i;
    case 0x14:  // ADR
      i.kind = Kind::adr;
      i.rd = reg(bits(hw, 10, 8), 0);
      i.imm = at.aligned_pc() + (hw & 0xFFu) * 4;
      return i;
    case 0x15:  // ADD (SP plus immediate)
      i.kind = Kind::add;
      i.immediate = true;
      i.rd = reg(bits(hw, 10, 8), 0);
      i.rn = 13;
      i.imm = (hw & 0xFFu) * 4;
      return i;
    case 0x16:
    case 0x17:
      return miscellaneous(hw, at);
    case 0x18:
    case 0x19:
      return load_store_multiple(hw);
    case 0x1A:
    case 0x1B:
      return conditional_branch(hw, at);
    case 0x1C:
      if (at.before_last_in_it()) {
        return unpredictable(2);
      }
      i.kind = Kind::b;
      i.imm = at.pc() + (sign_extend(hw & 0x7FF, 11) << 1);
      return i;
    default:
      return load_store(hw);
  }
}

Insn decode(uint16_t first, uint16_t second, uint32_t address, uint32_t itstate) {
  const DecodeContext at{address, itstate};
  Insn i = instruction_size(first) == 2 ? decode16(first, at) : decode32(first, second, at);
  // BKPT executes whatever the condition says (A7.7.17); undefined instructions fault only when
  // their condition passes, which the M7 does too.
  if (at.in_it() && i.kind != Kind::bkpt) {
    i.cond = static_cast<uint8_t>(itstate >> 4);
  }
  return i;
}

}  // namespace millrace::board
