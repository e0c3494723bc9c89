// SPDX-License-Identifier: Apache-2.0
// The 32-bit encodings, in the order of Armv7-M ARM A5.3: loads and stores, branches and
// miscellaneous control. Data processing: decode_data_processing.cc; floating point: decode_vfp.cc.
#include <bit>

#include "cpu/decode_parts.h"
#include "cpu/decoder.h"

namespace millrace::board {
namespace {

// A5.3.5: load/store multiple.
Insn load_store_multiple(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  Insn i;
  i.size = 4;
  const unsigned op = bits(hw1, 8, 7);
  if (op == 0 || op == 3) {
    return undefined(4);
  }
  const bool load = bit(hw1, 4);
  i.kind = load ? Kind::ldm : Kind::stm;
  i.rn = reg(hw1, 0);
  i.add = op == 1;
  i.writeback = bit(hw1, 5);
  i.list = hw2;
  if (i.rn == 15 || std::popcount(hw2) < 2 || bit(hw2, 13) || (i.writeback && bit(hw2, i.rn)) ||
      (load && (hw2 >> 14) == 3) || (!load && bit(hw2, 15)) ||
      (load && bit(hw2, 15) && at.before_last_in_it())) {
    return unpredictable(4);
  }
  return i;
}

Insn dual(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  Insn i;
  i.size = 4;
  i.kind = bit(hw1, 4) ? Kind::ldrd : Kind::strd;
  i.index = bit(hw1, 8);
  i.add = bit(hw1, 7);
  i.writeback = bit(hw1, 5);
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 12);
  i.ra = reg(hw2, 8);
  i.immediate = true;
  i.imm = (hw2 & 0xFFu) * 4;
  const bool load = i.kind == Kind::ldrd;
  if (is_sp_or_pc(i.rd) || is_sp_or_pc(i.ra) || (load && i.rd == i.ra) ||
      (i.writeback && (i.rn == i.rd || i.rn == i.ra)) || (i.rn == 15 && (!load || i.writeback))) {
    return unpredictable(4);
  }
  if (i.rn == 15) {
    i.literal = true;
    i.imm = i.add ? at.aligned_pc() + i.imm : at.aligned_pc() - i.imm;
  }
  return i;
}

Insn exclusive_word(uint16_t hw1, uint16_t hw2) {
  Insn i;
  i.size = 4;
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 12);
  i.ra = reg(hw2, 8);
  i.immediate = true;
  i.imm = (hw2 & 0xFFu) * 4;
  if (bit(hw1, 4)) {
    i.kind = Kind::ldrex;
    return is_sp_or_pc(i.rd) || i.rn == 15 || i.ra != 15 ? unpredictable(4) : i;
  }
  i.kind = Kind::strex;  // rd: what is stored; ra: the result
  return is_sp_or_pc(i.rd) || is_sp_or_pc(i.ra) || i.rn == 15 || i.ra == i.rn || i.ra == i.rd
             ? unpredictable(4)
             : i;
}

// TBB, TBH, LDREXB/H, STREXB/H.
Insn table_and_narrow_exclusive(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  Insn i;
  i.size = 4;
  const unsigned op3 = bits(hw2, 7, 4);
  const bool load = bit(hw1, 4);
  i.rn = reg(hw1, 0);
  if (load && op3 < 2) {
    i.kind = Kind::tbb;
    i.rm = reg(hw2, 0);
    i.ra = static_cast<uint8_t>(op3);
    i.imm = at.pc();
    return i.rn == 13 || is_sp_or_pc(i.rm) || at.before_last_in_it() || (hw2 & 0xFF00) != 0xF000
               ? unpredictable(4)
               : i;
  }
  if (op3 != 4 && op3 != 5) {
    return undefined(4);
  }
  i.rd = reg(hw2, 12);
  i.ra = reg(hw2, 0);
  i.immediate = true;
  if (load) {
    i.kind = op3 == 4 ? Kind::ldrexb : Kind::ldrexh;
    return is_sp_or_pc(i.rd) || i.rn == 15 || (hw2 & 0xF0F) != 0xF0F ? unpredictable(4) : i;
  }
  i.kind = op3 == 4 ? Kind::strexb : Kind::strexh;
  return is_sp_or_pc(i.rd) || is_sp_or_pc(i.ra) || i.rn == 15 || i.ra == i.rn || i.ra == i.rd ||
                 reg(hw2, 8) != 15
             ? unpredictable(4)
             : i;
}

// A5.3.6: load/store dual or exclusive, table branch.
Insn dual_exclusive_table(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  if (bit(hw1, 8) || bit(hw1, 5)) {
    return dual(hw1, hw2, at);
  }
  return bit(hw1, 7) ? table_and_narrow_exclusive(hw1, hw2, at) : exclusive_word(hw1, hw2);
}

// A5.3.4: MSR, MRS, hints, barriers; B5.2.
Insn control(uint16_t hw1, uint16_t hw2) {
  Insn i;
  i.size = 4;
  const unsigned op = bits(hw1, 10, 4);
  if (op == 0x38 || op == 0x39) {
    i.kind = Kind::msr;
    i.rn = reg(hw1, 0);
    i.imm = hw2 & 0xFF;
    i.ra = static_cast<uint8_t>(bits(hw2, 11, 10));
    return is_sp_or_pc(i.rn) || i.ra == 0 ? unpredictable(4) : i;
  }
  if (op == 0x3E || op == 0x3F) {
    i.kind = Kind::mrs;
    i.rd = reg(hw2, 8);
    i.imm = hw2 & 0xFF;
    return is_sp_or_pc(i.rd) ? unpredictable(4) : i;
  }
  if (op == 0x3A) {
    if (bits(hw2, 10, 8) != 0) {
      return undefined(4);
    }
    if (reg(hw1, 0) != 15 || bits(hw2, 15, 11) != 0x10) {
      return unpredictable(4);
    }
    constexpr Kind kHints[] = {Kind::nop, Kind::nop, Kind::wfe, Kind::wfi, Kind::sev};
    const unsigned hint = hw2 & 0xFF;
    i.kind = hint < 5 ? kHints[hint] : Kind::nop;
    return i;
  }
  if (op == 0x3B) {
    if (reg(hw1, 0) != 15 || bits(hw2, 15, 8) != 0x8F) {
      return unpredictable(4);
    }
    switch (bits(hw2, 7, 4)) {
      case 2:
        i.kind = Kind::clrex;
        break;
      case 4:
        i.kind = Kind::dsb;
        break;
      case 5:
        i.kind = Kind::dmb;
        break;
      case 6:
        i.kind = Kind::isb;
        break;
      default:
        return undefined(4);
    }
    return i;
  }
  return undefined(4);
}

Insn branch_and_control(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  Insn i;
  i.size = 4;
  const unsigned op1 = bits(hw2, 14, 12);
  const uint32_t s = bit(hw1, 10) ? 1 : 0;
  if ((op1 & 1) != 0) {  // B T4, BL
    if (at.before_last_in_it()) {
      return unpredictable(4);
    }
    const uint32_t i1 = (bit(hw2, 13) ? 1u : 0) ^ s ^ 1;
    const uint32_t i2 = (bit(hw2, 11) ? 1u : 0) ^ s ^ 1;
    const uint32_t offset =
        (s << 24) | (i1 << 23) | (i2 << 22) | (bits(hw1, 9, 0) << 12) | (bits(hw2, 10, 0) << 1);
    i.kind = (op1 & 4) != 0 ? Kind::bl : Kind::b;
    i.imm = at.pc() + sign_extend(offset, 25);
    return i;
  }
  if ((op1 & 4) != 0) {
    return undefined(4);  // BLX (immediate) has no use on M profile
  }
  if (bits(hw1, 9, 7) == 7) {
    return op1 == 0 ? control(hw1, hw2) : undefined(4);
  }
  if (at.in_it()) {
    return unpredictable(4);
  }
  i.kind = Kind::b;
  i.cond = static_cast<uint8_t>(bits(hw1, 9, 6));
  const uint32_t offset = (s << 20) | (bit(hw2, 11) ? 1u << 19 : 0) |
                          (bit(hw2, 13) ? 1u << 18 : 0) | (bits(hw1, 5, 0) << 12) |
                          (bits(hw2, 10, 0) << 1);
  i.imm = at.pc() + sign_extend(offset, 21);
  return i;
}

// The addressing forms of A5.3.7 .. A5.3.10. False: UNDEFINED.
bool addressing(uint16_t hw1, uint16_t hw2, Insn* i) {
  i->immediate = true;
  if (bit(hw1, 7)) {
    i->imm = hw2 & 0xFFF;
    return true;
  }
  if (!bit(hw2, 11)) {
    i->immediate = false;
    i->rm = reg(hw2, 0);
    i->shift_amount = static_cast<uint8_t>(bits(hw2, 5, 4));
    return bits(hw2, 10, 6) == 0;
  }
  i->index = bit(hw2, 10);
  i->add = bit(hw2, 9);
  i->writeback = bit(hw2, 8);
  i->imm = hw2 & 0xFF;
  if (!i->index && !i->writeback) {
    return false;
  }
  if (i->index && i->add && !i->writeback) {
    i->unprivileged = true;
  }
  return true;
}

Insn store_single(uint16_t hw1, uint16_t hw2) {
  Insn i;
  i.size = 4;
  constexpr Kind kKinds[] = {Kind::strb, Kind::strh, Kind::str, Kind::undefined};
  i.kind = kKinds[bits(hw1, 6, 5)];
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 12);
  if (i.kind == Kind::undefined || i.rn == 15 || !addressing(hw1, hw2, &i)) {
    return undefined(4);
  }
  if (i.rd == 15 || (i.rd == 13 && (i.kind != Kind::str || i.unprivileged)) ||
      (!i.immediate && is_sp_or_pc(i.rm)) || (i.writeback && i.rn == i.rd)) {
    return unpredictable(4);
  }
  return i;
}

// A5.3.8, A5.3.9: with Rt = 15 byte and halfword loads are memory hints.
Insn memory_hint(const Insn& load) {
  const bool hint_form =
      !load.immediate || load.literal || (!load.writeback && !load.unprivileged && load.index);
  if (!hint_form || (!load.immediate && is_sp_or_pc(load.rm))) {
    return unpredictable(4);
  }
  Insn i = load;
  i.kind = load.kind == Kind::ldrb || load.kind == Kind::ldrsb ? Kind::preload : Kind::nop;
  return i;
}

Insn load_single(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  Insn i;
  i.size = 4;
  const bool is_signed = bit(hw1, 8);
  const unsigned width = bits(hw1, 6, 5);
  constexpr Kind kKinds[2][4] = {{Kind::ldrb, Kind::ldrh, Kind::ldr, Kind::undefined},
                                 {Kind::ldrsb, Kind::ldrsh, Kind::undefined, Kind::undefined}};
  i.kind = kKinds[is_signed ? 1 : 0][width];
  i.rn = reg(hw1, 0);
  i.rd = reg(hw2, 12);
  if (i.kind == Kind::undefined) {
    return undefined(4);
  }
  if (i.rn == 15) {
    i.literal = true;
    i.immediate = true;
    i.imm = bit(hw1, 7) ? at.aligned_pc() + (hw2 & 0xFFFu) : at.aligned_pc() - (hw2 & 0xFFFu);
  } else if (!addressing(hw1, hw2, &i)) {
    return undefined(4);
  }
  if (i.rd == 15 && i.kind != Kind::ldr) {
    return memory_hint(i);
  }
  if ((!i.immediate && is_sp_or_pc(i.rm)) || (i.writeback && i.rn == i.rd) ||
      (i.rd == 13 && (i.kind != Kind::ldr || i.unprivileged)) ||
      (i.rd == 15 && (i.unprivileged || at.before_last_in_it()))) {
    return unpredictable(4);
  }
  return i;
}

}  // namespace

Insn decode32(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  const unsigned op1 = bits(hw1, 12, 11);
  const unsigned op2 = bits(hw1, 10, 4);
  if (op1 != 2 && bit(op2, 6)) {
    return decode_vfp(hw1, hw2, at);
  }
  if (op1 == 1) {
    if (bit(op2, 5)) {
      return decode_data_processing(hw1, hw2, at);
    }
    return bit(op2, 2) ? dual_exclusive_table(hw1, hw2, at) : load_store_multiple(hw1, hw2, at);
  }
  if (op1 == 2) {
    return bit(hw2, 15) ? branch_and_control(hw1, hw2, at) : decode_data_processing(hw1, hw2, at);
  }
  if (bit(op2, 5)) {
    return decode_register_ops(hw1, hw2);
  }
  if (!bit(op2, 0)) {
    return bit(op2, 4) ? undefined(4) : store_single(hw1, hw2);
  }
  return load_single(hw1, hw2, at);
}

}  // namespace millrace::board
