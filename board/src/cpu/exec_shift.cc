// SPDX-License-Identifier: Apache-2.0
// Shifts by register, bit fields, extension, byte reversal, saturation; Armv7-M ARM A2.2.1, A7.7.
#include <bit>

#include "cpu/exec.h"

namespace millrace::board {
namespace {

// Rd = Rn shifted by Rm[7:0].
template <Shift type, bool set_flags>
Next shift_register(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t x = s.r[op->rn];
  const unsigned n = s.r[op->rm] & 0xFF;
  uint32_t r = x;
  uint32_t carry = s.c;
  if (n != 0) {
    if constexpr (type == Shift::lsl) {
      r = n < 32 ? x << n : 0;
      carry = n <= 32 ? (x >> (32 - n)) & 1 : 0;
    } else if constexpr (type == Shift::lsr) {
      r = n < 32 ? x >> n : 0;
      carry = n <= 32 ? (x >> (n - 1)) & 1 : 0;
    } else if constexpr (type == Shift::asr) {
      const unsigned m = n < 32 ? n : 32;
      r = static_cast<uint32_t>(static_cast<int64_t>(static_cast<int32_t>(x)) >> m);
      carry = (x >> (m - 1)) & 1;
    } else {
      r = std::rotr(x, static_cast<int>(n & 31));
      carry = r >> 31;
    }
  }
  if constexpr (set_flags) {
    s.n_source = r;
    s.z_source = r;
    s.c = carry;
  }
  s.r[op->rd] = r;
  return next_op(cpu, op);
}

template <Shift type>
Handler by_flags(const Insn& i) {
  return i.set_flags ? &shift_register<type, true> : &shift_register<type, false>;
}

// Bit fields: imm = lsb, ra = width.
uint32_t field_mask(const Op& op) { return op.ra >= 32 ? 0xFFFFFFFFu : ((1u << op.ra) - 1); }
Next bfi(Cpu& cpu, const Op* op) {
  const uint32_t mask = field_mask(*op) << op->imm;
  uint32_t& r = cpu.state.r[op->rd];
  r = (r & ~mask) | ((cpu.state.r[op->rn] << op->imm) & mask);
  return next_op(cpu, op);
}
Next bfc(Cpu& cpu, const Op* op) {
  cpu.state.r[op->rd] &= ~(field_mask(*op) << op->imm);
  return next_op(cpu, op);
}
Next ubfx(Cpu& cpu, const Op* op) {
  cpu.state.r[op->rd] = (cpu.state.r[op->rn] >> op->imm) & field_mask(*op);
  return next_op(cpu, op);
}
Next sbfx(Cpu& cpu, const Op* op) {
  const unsigned up = 32u - op->ra - op->imm;
  const int32_t top = static_cast<int32_t>(cpu.state.r[op->rn] << up);
  cpu.state.r[op->rd] = static_cast<uint32_t>(top >> (32u - op->ra));
  return next_op(cpu, op);
}

uint32_t sign8(uint32_t x) { return static_cast<uint32_t>(static_cast<int8_t>(x)); }
uint32_t sign16(uint32_t x) { return static_cast<uint32_t>(static_cast<int16_t>(x)); }

template <Kind kind>
uint32_t extend(uint32_t x) {
  switch (kind) {
    case Kind::sxtb:
      return sign8(x);
    case Kind::sxth:
      return sign16(x);
    case Kind::uxtb:
      return x & 0xFF;
    case Kind::uxth:
      return x & 0xFFFF;
    case Kind::sxtb16:
      return (sign8(x) & 0xFFFF) | (sign8(x >> 16) << 16);
    default:
      return x & 0x00FF00FF;
  }
}

// ra: rotation. rn = 15 is without addition.
template <Kind kind, bool add>
Next extension(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t x = extend<kind>(std::rotr(s.r[op->rm], op->ra));
  if constexpr (!add) {
    s.r[op->rd] = x;
  } else if constexpr (kind == Kind::sxtb16 || kind == Kind::uxtb16) {
    const uint32_t n = s.r[op->rn];
    s.r[op->rd] = ((n + x) & 0xFFFF) | ((n & 0xFFFF0000u) + (x & 0xFFFF0000u));
  } else {
    s.r[op->rd] = s.r[op->rn] + x;
  }
  return next_op(cpu, op);
}

template <Kind kind>
Handler by_addition(const Insn& i) {
  return i.rn == 15 ? &extension<kind, false> : &extension<kind, true>;
}

uint32_t reverse_bytes(uint32_t x) {
  return (x >> 24) | ((x >> 8) & 0xFF00) | ((x << 8) & 0xFF0000) | (x << 24);
}

template <Kind kind>
Next one_operand(Cpu& cpu, const Op* op) {
  const uint32_t x = cpu.state.r[op->rm];
  uint32_t r = 0;
  if constexpr (kind == Kind::clz) {
    r = static_cast<uint32_t>(std::countl_zero(x));
  } else if constexpr (kind == Kind::rev) {
    r = reverse_bytes(x);
  } else if constexpr (kind == Kind::rev16) {
    r = ((x >> 8) & 0x00FF00FF) | ((x << 8) & 0xFF00FF00);
  } else if constexpr (kind == Kind::revsh) {
    r = sign16(((x >> 8) & 0xFF) | (x << 8));
  } else {
    r = ((x >> 1) & 0x55555555) | ((x & 0x55555555) << 1);
    r = ((r >> 2) & 0x33333333) | ((r & 0x33333333) << 2);
    r = ((r >> 4) & 0x0F0F0F0F) | ((r & 0x0F0F0F0F) << 4);
    r = reverse_bytes(r);
  }
  cpu.state.r[op->rd] = r;
  return next_op(cpu, op);
}

// Saturates to imm bits; sets Q.
uint32_t saturate_signed(CpuState& s, int32_t x, uint32_t width) {
  const int64_t high = (int64_t{1} << (width - 1)) - 1;
  const int64_t low = -high - 1;
  if (x > high || x < low) {
    s.q = 1;
    return static_cast<uint32_t>(x > high ? high : low);
  }
  return static_cast<uint32_t>(x);
}
uint32_t saturate_unsigned(CpuState& s, int32_t x, uint32_t width) {
  const int64_t high = (int64_t{1} << width) - 1;
  if (x > high || x < 0) {
    s.q = 1;
    return static_cast<uint32_t>(x < 0 ? 0 : high);
  }
  return static_cast<uint32_t>(x);
}

// ra: amount; 0 with ASR does not occur (it is the 16-bit form).
template <bool is_unsigned, bool asr>
Next saturate(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  int32_t x = static_cast<int32_t>(s.r[op->rn]);
  x = asr ? x >> op->ra : static_cast<int32_t>(static_cast<uint32_t>(x) << op->ra);
  s.r[op->rd] = is_unsigned ? saturate_unsigned(s, x, op->imm) : saturate_signed(s, x, op->imm);
  return next_op(cpu, op);
}
template <bool is_unsigned>
Next saturate16(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t x = s.r[op->rn];
  const int32_t low = static_cast<int16_t>(x);
  const int32_t high = static_cast<int16_t>(x >> 16);
  const uint32_t a =
      is_unsigned ? saturate_unsigned(s, low, op->imm) : saturate_signed(s, low, op->imm);
  const uint32_t b =
      is_unsigned ? saturate_unsigned(s, high, op->imm) : saturate_signed(s, high, op->imm);
  s.r[op->rd] = (a & 0xFFFF) | (b << 16);
  return next_op(cpu, op);
}

Next pkhbt(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  s.r[op->rd] = (s.r[op->rn] & 0xFFFF) | ((s.r[op->rm] << op->ra) & 0xFFFF0000u);
  return next_op(cpu, op);
}
Next pkhtb(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const int64_t m = static_cast<int32_t>(s.r[op->rm]);
  s.r[op->rd] = (s.r[op->rn] & 0xFFFF0000u) | (static_cast<uint32_t>(m >> op->ra) & 0xFFFF);
  return next_op(cpu, op);
}

}  // namespace

Handler shift_handler(const Insn& i) {
  switch (i.kind) {
    case Kind::shift_register:
      switch (i.shift) {
        case Shift::lsl:
          return by_flags<Shift::lsl>(i);
        case Shift::lsr:
          return by_flags<Shift::lsr>(i);
        case Shift::asr:
          return by_flags<Shift::asr>(i);
        default:
          return by_flags<Shift::ror>(i);
      }
    case Kind::bfi:
      return i.rn == 15 ? &bfc : &bfi;
    case Kind::sbfx:
      return &sbfx;
    case Kind::ubfx:
      return &ubfx;
    case Kind::sxtb:
      return by_addition<Kind::sxtb>(i);
    case Kind::sxth:
      return by_addition<Kind::sxth>(i);
    case Kind::sxtb16:
      return by_addition<Kind::sxtb16>(i);
    case Kind::uxtb:
      return by_addition<Kind::uxtb>(i);
    case Kind::uxth:
      return by_addition<Kind::uxth>(i);
    case Kind::uxtb16:
      return by_addition<Kind::uxtb16>(i);
    case Kind::clz:
      return &one_operand<Kind::clz>;
    case Kind::rev:
      return &one_operand<Kind::rev>;
    case Kind::rev16:
      return &one_operand<Kind::rev16>;
    case Kind::revsh:
      return &one_operand<Kind::revsh>;
    case Kind::rbit:
      return &one_operand<Kind::rbit>;
    case Kind::ssat:
      return i.shift == Shift::asr ? &saturate<false, true> : &saturate<false, false>;
    case Kind::usat:
      return i.shift == Shift::asr ? &saturate<true, true> : &saturate<true, false>;
    case Kind::ssat16:
      return &saturate16<false>;
    case Kind::usat16:
      return &saturate16<true>;
    case Kind::pkh:
      return (i.imm & 1) != 0 ? &pkhtb : &pkhbt;
    default:
      return nullptr;
  }
}

}  // namespace millrace::board
