// SPDX-License-Identifier: Apache-2.0
// Coprocessor and floating-point encodings, Armv7-M ARM A5.3.18 and A6.4 .. A6.7. The M7 has
// FPv5-D16: D16-D31 do not exist and encodings that name them are UNDEFINED.
#include "cpu/decode_parts.h"

namespace millrace::board {
namespace {

// Register numbers as indexes into s[]: S registers are V:x, D registers x:V times two.
uint8_t s_register(uint32_t v, bool x) { return static_cast<uint8_t>((v << 1) | (x ? 1 : 0)); }
uint8_t d_register(uint32_t v) { return static_cast<uint8_t>(v << 1); }

Insn pair_transfer(uint16_t hw1, uint16_t hw2) {
  Insn i = make(Kind::vmov_core_pair, 4);
  if (bits(hw2, 7, 6) != 0 || !bit(hw2, 4)) {
    return undefined(4);
  }
  const bool m = bit(hw2, 5);
  i.dual = bit(hw2, 8);
  if (i.dual && m) {
    return undefined(4);
  }
  i.to_core = bit(hw1, 4);
  i.rd = reg(hw2, 12);
  i.ra = reg(hw1, 0);
  i.rn = i.dual ? d_register(hw2 & 15) : s_register(hw2 & 15, m);
  return is_sp_or_pc(i.rd) || is_sp_or_pc(i.ra) || i.rn == 31 || (i.to_core && i.rd == i.ra)
             ? unpredictable(4)
             : i;
}

// A6.5: extension register load or store.
Insn load_store(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  Insn i;
  i.size = 4;
  const bool p = bit(hw1, 8);
  const bool u = bit(hw1, 7);
  const bool d = bit(hw1, 6);
  const bool w = bit(hw1, 5);
  const bool load = bit(hw1, 4);
  if (!p && !u) {
    return d && !w ? pair_transfer(hw1, hw2) : undefined(4);
  }
  if (p && u && w) {
    return undefined(4);
  }
  i.dual = bit(hw2, 8);
  if (i.dual && d) {
    return undefined(4);
  }
  const uint32_t imm8 = hw2 & 0xFFu;
  i.rn = reg(hw1, 0);
  i.rd = i.dual ? d_register(reg(hw2, 12)) : s_register(reg(hw2, 12), d);
  i.add = u;
  i.immediate = true;
  if (p && !w) {
    i.kind = load ? Kind::vldr : Kind::vstr;
    i.imm = imm8 * 4;
    if (i.rn == 15) {
      i.literal = true;
      i.imm = u ? at.aligned_pc() + i.imm : at.aligned_pc() - i.imm;
      return load ? i : unpredictable(4);
    }
    return i;
  }
  i.kind = load ? Kind::vldm : Kind::vstm;
  i.writeback = w;
  // FLDMX/FSTMX (odd counts of doublewords) move one word less than they step over.
  i.imm = imm8 * 4;
  i.ra = static_cast<uint8_t>(i.dual ? imm8 & ~1u : imm8);
  const uint32_t limit = 32u - i.rd;
  return i.ra == 0 || i.ra > limit || i.rn == 15 ? unpredictable(4) : i;
}

// A6.6, A6.7: 32-bit transfers.
Insn transfer(uint16_t hw1, uint16_t hw2) {
  Insn i;
  i.size = 4;
  i.to_core = bit(hw1, 4);
  i.rd = reg(hw2, 12);
  const unsigned a = bits(hw1, 7, 5);
  if (!bit(hw2, 8)) {
    if (a == 0) {
      i.kind = Kind::vmov_core_single;
      i.rn = s_register(reg(hw1, 0), bit(hw2, 7));
      return is_sp_or_pc(i.rd) || (hw2 & 0x6F) != 0 ? unpredictable(4) : i;
    }
    if (a == 7) {
      if (reg(hw1, 0) != 1) {
        return undefined(4);
      }
      i.kind = i.to_core ? Kind::vmrs : Kind::vmsr;
      return i.rd == 13 || (i.rd == 15 && !i.to_core) || (hw2 & 0xEF) != 0 ? unpredictable(4) : i;
    }
    return undefined(4);
  }
  if (a > 1 || bits(hw2, 6, 5) != 0 || bit(hw2, 7)) {
    return undefined(4);
  }
  i.kind = Kind::vmov_core_lane;
  i.rn = static_cast<uint8_t>(d_register(reg(hw1, 0)) + a);
  return is_sp_or_pc(i.rd) || (hw2 & 0xF) != 0 ? unpredictable(4) : i;
}

// The "other" data processing of A6.4: one source operand. Sets which of the registers are
// doublewords. False: UNDEFINED.
bool one_operand(uint16_t hw1, uint16_t hw2, bool* d_double, bool* m_double) {
  const unsigned opc2 = reg(hw1, 0);
  const bool high = bit(hw2, 7);
  const bool size = bit(hw2, 8);
  *d_double = *m_double = size;
  if (!bit(hw2, 6)) {  // VMOV (immediate)
    *m_double = false;
    return true;
  }
  switch (opc2) {
    case 0:
    case 1:
    case 4:
    case 5:
    case 6:
      return true;
    case 2:
      *m_double = false;
      return true;
    case 3:
      *d_double = false;
      return true;
    case 7:
      *m_double = high ? size : *m_double;
      *d_double = high ? !size : *d_double;
      return true;
    case 8:
      *m_double = false;
      return true;
    case 9:
      return false;
    case 12:
    case 13:
      *d_double = false;
      return true;
    default:  // fixed point: the source is the destination
      *m_double = false;
      return true;
  }
}

// UNPREDICTABLE forms of one_operand(): reserved bits, more fraction bits than the number has.
bool one_operand_allowed(uint16_t hw1, uint16_t hw2) {
  const unsigned opc2 = reg(hw1, 0);
  if (!bit(hw2, 6)) {
    return !bit(hw2, 7) && !bit(hw2, 5);
  }
  if (opc2 == 5) {
    return (hw2 & 0x2F) == 0;
  }
  if ((opc2 & 10) == 10) {
    const unsigned fraction_and_rest = bits(hw2, 3, 0) * 2 + bits(hw2, 5, 5);
    return fraction_and_rest <= (bit(hw2, 7) ? 32u : 16u);
  }
  return true;
}

// A6.4: floating-point data processing.
Insn data_processing(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  const bool size = bit(hw2, 8);
  const unsigned opc1 = bits(hw1, 7, 4) & ~4u;  // without D
  bool n_used = true;
  bool d_double = size;
  bool m_double = size;
  if (bit(hw1, 12)) {
    if ((opc1 & 8) == 0) {  // VSEL
      if (bit(hw2, 6)) {
        return undefined(4);
      }
    } else if (opc1 == 11) {
      n_used = false;
      if (!bit(hw2, 6) || !bit(hw1, 3)) {
        return undefined(4);
      }
      if (bit(hw1, 2)) {
        d_double = false;  // VCVTA and friends: to an integer
      } else if (bit(hw2, 7)) {
        return undefined(4);
      }
    } else if (opc1 != 8) {
      return undefined(4);
    }
    if (at.in_it()) {
      return unpredictable(4);
    }
  } else if (opc1 == 11) {
    n_used = false;
    if (!one_operand(hw1, hw2, &d_double, &m_double)) {
      return undefined(4);
    }
    if (!one_operand_allowed(hw1, hw2)) {
      return unpredictable(4);
    }
  } else if (opc1 == 8 && bit(hw2, 6)) {
    return undefined(4);
  }
  if ((d_double && bit(hw1, 6)) || (n_used && size && bit(hw2, 7)) || (m_double && bit(hw2, 5))) {
    return undefined(4);
  }
  Insn i = make(Kind::vfp_data, 4);
  i.dual = size;
  i.imm = (static_cast<uint32_t>(hw1) << 16) | hw2;
  return i;
}

}  // namespace

Insn decode_vfp(uint16_t hw1, uint16_t hw2, const DecodeContext& at) {
  const unsigned op1 = bits(hw1, 9, 4);
  if (op1 >= 0x30) {
    return undefined(4);  // Advanced SIMD
  }
  if (bits(hw2, 11, 9) != 5) {
    return op1 < 2 ? undefined(4) : make(Kind::coprocessor, 4);
  }
  if (bit(hw1, 9)) {
    if (bit(hw2, 4)) {
      return bit(hw1, 12) ? undefined(4) : transfer(hw1, hw2);
    }
    return data_processing(hw1, hw2, at);
  }
  return bit(hw1, 12) ? undefined(4) : load_store(hw1, hw2, at);
}

}  // namespace millrace::board
