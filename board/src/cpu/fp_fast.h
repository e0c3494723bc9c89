// SPDX-License-Identifier: Apache-2.0
// The common floating-point instructions on the host's unit, one function each, so that a decoded
// instruction does not look at its encoding again. Handles the state that ordinary code is in:
// rounding to nearest, no flush-to-zero, FPSCR.IXC set already, and a result that is a normal
// number away from the ends of the range - which no flag but IXC can follow. Else it says so, and
// execute_fp() does the work; the first inexact result there sets IXC.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "cpu/fp_format.h"
#include "cpu/state.h"

namespace millrace::board::fp {

enum class FastOp : uint8_t {
  add,
  sub,
  mul,
  nmul,
  mla,
  mls,
  fma,
  fms,
  fnma,
  fnms,
  div,
  sqrt,
  mov,
  abs,
  neg,
  cmp,
  cmpe,
  from_s32,
  to_s32,
  precision,
};

template <typename Bits>
using Host = std::conditional_t<sizeof(Bits) == 4, float, double>;

// Away from underflow and overflow, where error terms of sums and products are exact too. False
// for NaN.
inline bool tame(float x) { return std::fabs(x) > 0x1p-60f && std::fabs(x) < 0x1p+120f; }
inline bool tame(double x) { return std::fabs(x) > 0x1p-900 && std::fabs(x) < 0x1p+1000; }

// Register operands of an encoding: `v_low` is the lowest bit of Vx, `x` the position of its extra
// bit. For doubles that bit is 0.
template <typename Bits>
Bits read_operand(const CpuState& s, uint32_t instruction, unsigned v_low, unsigned x) {
  const uint32_t v = (instruction >> v_low) & 15;
  if constexpr (sizeof(Bits) == 4) {
    return s.s[(v << 1) | ((instruction >> x) & 1)];
  } else {
    return s.s[2 * v] | (static_cast<uint64_t>(s.s[2 * v + 1]) << 32);
  }
}

template <typename Bits>
void write_result(CpuState& s, uint32_t instruction, Bits value) {
  const uint32_t v = (instruction >> 12) & 15;
  if constexpr (sizeof(Bits) == 4) {
    s.s[(v << 1) | ((instruction >> 22) & 1)] = value;
  } else {
    s.s[2 * v] = static_cast<uint32_t>(value);
    s.s[2 * v + 1] = static_cast<uint32_t>(value >> 32);
  }
}

// The result of an arithmetic operation. False: not a case for the host.
template <FastOp op, typename T>
bool host_result(T d, T n, T m, T* out) {
  T r = 0;
  switch (op) {
    case FastOp::add:
      r = n + m;
      break;
    case FastOp::sub:
      r = n - m;
      break;
    case FastOp::mul:
      r = n * m;
      break;
    case FastOp::nmul:
      r = -(n * m);
      break;
    case FastOp::mla:
    case FastOp::mls: {
      const T product = n * m;
      if (!tame(product)) {
        return false;
      }
      r = op == FastOp::mla ? d + product : d - product;
      break;
    }
    case FastOp::fma:
      r = std::fma(n, m, d);
      break;
    case FastOp::fms:
      r = std::fma(-n, m, d);
      break;
    case FastOp::fnma:
      r = std::fma(-n, m, -d);
      break;
    case FastOp::fnms:
      r = std::fma(n, m, -d);
      break;
    case FastOp::div:
      r = n / m;
      break;
    default:
      if (!(m > 0)) {
        return false;
      }
      r = std::sqrt(m);
      break;
  }
  *out = r;
  return tame(r);
}

// True: done. False: nothing changed, call execute_fp().
template <typename Bits, FastOp op>
bool fast(CpuState& s, uint32_t instruction) {
  using T = Host<Bits>;
  constexpr uint32_t kModes = 0x01C00000;  // FZ, RMode
  const Bits m_bits = read_operand<Bits>(s, instruction, 0, 5);
  const T m = std::bit_cast<T>(m_bits);
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if constexpr (op == FastOp::mov) {
    write_result<Bits>(s, instruction, m_bits);
    return true;
  } else if constexpr (op == FastOp::abs) {
    write_result<Bits>(s, instruction, m_bits & ~kSign);
    return true;
  } else if constexpr (op == FastOp::neg) {
    write_result<Bits>(s, instruction, m_bits ^ kSign);
    return true;
  } else if constexpr (op == FastOp::cmp || op == FastOp::cmpe) {
    const T d = std::bit_cast<T>(read_operand<Bits>(s, instruction, 12, 22));
    if ((s.fpscr & kModes) != 0 || d != d || m != m) {
      return false;
    }
    const uint32_t nzcv = d < m ? 0x80000000u : d == m ? 0x60000000u : 0x20000000u;
    s.fpscr = (s.fpscr & 0x0FFFFFFF) | nzcv;
    return true;
  } else if constexpr (op == FastOp::precision) {
    if ((s.fpscr & (kModes | kInexact)) != kInexact) {
      return false;
    }
    if constexpr (sizeof(Bits) == 4) {
      if (!tame(m)) {
        return false;
      }
      write_result<uint64_t>(s, instruction, std::bit_cast<uint64_t>(static_cast<double>(m)));
    } else {
      if (!(std::fabs(m) < 0x1p+120)) {
        return false;
      }
      const float r = static_cast<float>(m);
      if (!tame(r)) {
        return false;
      }
      write_result<uint32_t>(s, instruction, std::bit_cast<uint32_t>(r));
    }
    return true;
  } else {
    if ((s.fpscr & (kModes | kInexact)) != kInexact) {
      return false;
    }
    if constexpr (op == FastOp::from_s32) {
      const uint32_t word = read_operand<uint32_t>(s, instruction, 0, 5);
      const T r = static_cast<T>(static_cast<int32_t>(word));
      write_result<Bits>(s, instruction, std::bit_cast<Bits>(r));
      return true;
    } else if constexpr (op == FastOp::to_s32) {
      if (!(std::fabs(m) < 0x1p+31)) {
        return false;
      }
      write_result<uint32_t>(s, instruction, static_cast<uint32_t>(static_cast<int32_t>(m)));
      return true;
    } else {
      T r;
      const T d = std::bit_cast<T>(read_operand<Bits>(s, instruction, 12, 22));
      const T n = std::bit_cast<T>(read_operand<Bits>(s, instruction, 16, 7));
      if (!host_result<op>(d, n, m, &r)) {
        return false;
      }
      write_result<Bits>(s, instruction, std::bit_cast<Bits>(r));
      return true;
    }
  }
}

template <typename Result>
struct FastEntry {
  uint32_t mask, value;
  Result single, twice;  // for single and for double precision
};

template <template <typename, FastOp> class Make, typename Result, FastOp op>
constexpr FastEntry<Result> fast_entry(uint32_t mask, uint32_t value) {
  return {mask, value, Make<uint32_t, op>::value, Make<uint64_t, op>::value};
}

// Make<Bits, op>::value for the instruction, or `otherwise` if it is none of FastOp.
template <template <typename, FastOp> class Make, typename Result>
Result select_fast(uint32_t instruction, Result otherwise) {
  constexpr uint32_t kThree = 0xFFB00E50;  // all but the registers and the size
  constexpr uint32_t kTwo = 0xFFBF0ED0;
  static constexpr FastEntry<Result> kEntries[] = {
      fast_entry<Make, Result, FastOp::add>(kThree, 0xEE300A00),
      fast_entry<Make, Result, FastOp::sub>(kThree, 0xEE300A40),
      fast_entry<Make, Result, FastOp::mul>(kThree, 0xEE200A00),
      fast_entry<Make, Result, FastOp::nmul>(kThree, 0xEE200A40),
      fast_entry<Make, Result, FastOp::mla>(kThree, 0xEE000A00),
      fast_entry<Make, Result, FastOp::mls>(kThree, 0xEE000A40),
      fast_entry<Make, Result, FastOp::fma>(kThree, 0xEEA00A00),
      fast_entry<Make, Result, FastOp::fms>(kThree, 0xEEA00A40),
      fast_entry<Make, Result, FastOp::fnma>(kThree, 0xEE900A40),
      fast_entry<Make, Result, FastOp::fnms>(kThree, 0xEE900A00),
      fast_entry<Make, Result, FastOp::div>(kThree, 0xEE800A00),
      fast_entry<Make, Result, FastOp::sqrt>(kTwo, 0xEEB10AC0),
      fast_entry<Make, Result, FastOp::mov>(kTwo, 0xEEB00A40),
      fast_entry<Make, Result, FastOp::abs>(kTwo, 0xEEB00AC0),
      fast_entry<Make, Result, FastOp::neg>(kTwo, 0xEEB10A40),
      fast_entry<Make, Result, FastOp::cmp>(kTwo, 0xEEB40A40),
      fast_entry<Make, Result, FastOp::cmpe>(kTwo, 0xEEB40AC0),
      fast_entry<Make, Result, FastOp::from_s32>(kTwo, 0xEEB80AC0),
      fast_entry<Make, Result, FastOp::to_s32>(kTwo, 0xEEBD0AC0),
      fast_entry<Make, Result, FastOp::precision>(kTwo, 0xEEB70AC0),
  };
  for (const FastEntry<Result>& entry : kEntries) {
    if ((instruction & entry.mask) == entry.value) {
      return (instruction & 0x100) != 0 ? entry.twice : entry.single;
    }
  }
  return otherwise;
}

}  // namespace millrace::board::fp
