// SPDX-License-Identifier: Apache-2.0
// Multiply and divide; Armv7-M ARM A7.7. Accumulator register 15 stands for "none".
#include <bit>

#include "cpu/exec.h"

namespace millrace::board {
namespace {

int64_t sx(uint32_t x) { return static_cast<int32_t>(x); }
int32_t half(uint32_t x, bool top) { return static_cast<int16_t>(top ? x >> 16 : x); }
uint32_t low(int64_t x) { return static_cast<uint32_t>(x); }
uint32_t high(int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32); }

template <bool set_flags>
Next mul(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t r = s.r[op->rn] * s.r[op->rm];
  s.r[op->rd] = r;
  if constexpr (set_flags) {
    s.n_source = r;
    s.z_source = r;
  }
  return next_op(cpu, op);
}
Next mla(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  s.r[op->rd] = s.r[op->ra] + s.r[op->rn] * s.r[op->rm];
  return next_op(cpu, op);
}
Next mls(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  s.r[op->rd] = s.r[op->ra] - s.r[op->rn] * s.r[op->rm];
  return next_op(cpu, op);
}

template <Kind kind>
Next long_multiply(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t n = s.r[op->rn];
  const uint32_t m = s.r[op->rm];
  const uint64_t before = (static_cast<uint64_t>(s.r[op->ra]) << 32) | s.r[op->rd];
  uint64_t r = 0;
  if constexpr (kind == Kind::smull || kind == Kind::smlal) {
    r = static_cast<uint64_t>(sx(n) * sx(m));
  } else {
    r = static_cast<uint64_t>(n) * m;
  }
  if constexpr (kind == Kind::smlal || kind == Kind::umlal) {
    r += before;
  } else if constexpr (kind == Kind::umaal) {
    r += static_cast<uint64_t>(s.r[op->ra]) + s.r[op->rd];
  }
  s.r[op->rd] = static_cast<uint32_t>(r);
  s.r[op->ra] = static_cast<uint32_t>(r >> 32);
  return next_op(cpu, op);
}

// The schedule holds the shortest time; the rest depends on the number of quotient bits.
void charge_division(Cpu& cpu, uint32_t dividend, uint32_t divisor) {
  if (!cpu.timed() || divisor == 0) {
    return;
  }
  const int bits =
      static_cast<int>(std::bit_width(dividend)) - static_cast<int>(std::bit_width(divisor));
  const uint32_t range = cpu.timing().div_max - cpu.timing().div_min;
  if (bits > 0) {
    const uint32_t steps = (static_cast<uint32_t>(bits) + 3) / 4;
    cpu.add_stall(steps < range ? steps : range);
  }
}

template <bool is_signed>
Next divide(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t n = s.r[op->rn];
  const uint32_t m = s.r[op->rm];
  uint32_t r = 0;
  if (m == 0) {
    if (cpu.system().trap_divide_by_zero()) {
      return cpu.raise(op, FaultCause::divide_by_zero, 0);
    }
  } else if constexpr (is_signed) {
    const int64_t quotient = sx(n) / sx(m);  // 64 bits: INT_MIN / -1 wraps to INT_MIN
    r = low(quotient);
    charge_division(cpu, low(sx(n) < 0 ? -sx(n) : sx(n)), low(sx(m) < 0 ? -sx(m) : sx(m)));
  } else {
    r = n / m;
    charge_division(cpu, n, m);
  }
  s.r[op->rd] = r;
  return next_op(cpu, op);
}

void accumulate(CpuState& s, const Op& op, int64_t x) {
  int64_t r = x;
  if (op.ra != 15) {
    r += sx(s.r[op.ra]);
  }
  if (r != static_cast<int32_t>(r)) {
    s.q = 1;
  }
  s.r[op.rd] = low(r);
}

Next smla_half(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const int64_t product = static_cast<int64_t>(half(s.r[op->rn], (op->imm & 1) != 0)) *
                          half(s.r[op->rm], (op->imm & 2) != 0);
  accumulate(s, *op, product);
  return next_op(cpu, op);
}
Next smla_wide(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const int64_t product = sx(s.r[op->rn]) * half(s.r[op->rm], (op->imm & 2) != 0);
  accumulate(s, *op, product >> 16);
  return next_op(cpu, op);
}
int64_t two_products(const CpuState& s, const Op& op, bool subtract) {
  uint32_t m = s.r[op.rm];
  if ((op.imm & 1) != 0) {
    m = std::rotr(m, 16);
  }
  const uint32_t n = s.r[op.rn];
  const int64_t first = static_cast<int64_t>(half(n, false)) * half(m, false);
  const int64_t second = static_cast<int64_t>(half(n, true)) * half(m, true);
  return subtract ? first - second : first + second;
}
template <bool subtract>
Next smlad(Cpu& cpu, const Op* op) {
  accumulate(cpu.state, *op, two_products(cpu.state, *op, subtract));
  return next_op(cpu, op);
}

void add_long(CpuState& s, const Op& op, int64_t x) {
  const uint64_t before = (static_cast<uint64_t>(s.r[op.ra]) << 32) | s.r[op.rd];
  const int64_t r = static_cast<int64_t>(before + static_cast<uint64_t>(x));
  s.r[op.rd] = low(r);
  s.r[op.ra] = high(r);
}
template <bool subtract>
Next smlald(Cpu& cpu, const Op* op) {
  add_long(cpu.state, *op, two_products(cpu.state, *op, subtract));
  return next_op(cpu, op);
}
Next smlal_half(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  add_long(s, *op,
           static_cast<int64_t>(half(s.r[op->rn], (op->imm & 1) != 0)) *
               half(s.r[op->rm], (op->imm & 2) != 0));
  return next_op(cpu, op);
}

// The upper word of a 64-bit sum; imm bit 0: rounded.
template <bool subtract>
Next smmla(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint64_t product = static_cast<uint64_t>(sx(s.r[op->rn]) * sx(s.r[op->rm]));
  uint64_t r = op->ra == 15 ? 0 : static_cast<uint64_t>(s.r[op->ra]) << 32;
  r = subtract ? r - product : r + product;
  if ((op->imm & 1) != 0) {
    r += 0x80000000u;
  }
  s.r[op->rd] = static_cast<uint32_t>(r >> 32);
  return next_op(cpu, op);
}

Next usada8(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  uint32_t sum = op->ra == 15 ? 0 : s.r[op->ra];
  for (unsigned i = 0; i < 32; i += 8) {
    const uint32_t a = (s.r[op->rn] >> i) & 0xFF;
    const uint32_t b = (s.r[op->rm] >> i) & 0xFF;
    sum += a > b ? a - b : b - a;
  }
  s.r[op->rd] = sum;
  return next_op(cpu, op);
}

}  // namespace

Handler multiply_handler(const Insn& i) {
  switch (i.kind) {
    case Kind::mul:
      return i.set_flags ? &mul<true> : &mul<false>;
    case Kind::mla:
      return &mla;
    case Kind::mls:
      return &mls;
    case Kind::smull:
      return &long_multiply<Kind::smull>;
    case Kind::umull:
      return &long_multiply<Kind::umull>;
    case Kind::smlal:
      return &long_multiply<Kind::smlal>;
    case Kind::umlal:
      return &long_multiply<Kind::umlal>;
    case Kind::umaal:
      return &long_multiply<Kind::umaal>;
    case Kind::sdiv:
      return &divide<true>;
    case Kind::udiv:
      return &divide<false>;
    case Kind::smla_half:
      return &smla_half;
    case Kind::smla_wide:
      return &smla_wide;
    case Kind::smlal_half:
      return &smlal_half;
    case Kind::smlad:
      return &smlad<false>;
    case Kind::smlsd:
      return &smlad<true>;
    case Kind::smlald:
      return &smlald<false>;
    case Kind::smlsld:
      return &smlald<true>;
    case Kind::smmla:
      return &smmla<false>;
    case Kind::smmls:
      return &smmla<true>;
    case Kind::usada8:
      return &usada8;
    default:
      return nullptr;
  }
}

}  // namespace millrace::board
