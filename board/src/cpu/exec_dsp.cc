// SPDX-License-Identifier: Apache-2.0
// Parallel and saturating addition and subtraction, SEL; Armv7-M ARM A7.7 (SADD16 and others).
#include <cstdint>

#include "cpu/exec.h"

namespace millrace::board {
namespace {

enum class Mode : uint8_t { wrap, saturate, halve };

int32_t clamp(int32_t x, int32_t low, int32_t high) { return x < low ? low : x > high ? high : x; }

// One lane: `x` the exact result; sets `ge` when the manual does.
template <Mode mode, bool is_unsigned, unsigned width>
uint32_t lane(int32_t x, bool subtracts, bool* ge) {
  constexpr uint32_t kMask = (1u << width) - 1;
  constexpr int32_t kTop = 1 << width;
  if constexpr (mode == Mode::wrap) {
    if constexpr (is_unsigned) {
      *ge = subtracts ? x >= 0 : x >= kTop;
    } else {
      *ge = x >= 0;
    }
    return static_cast<uint32_t>(x) & kMask;
  } else if constexpr (mode == Mode::saturate) {
    const int32_t low = is_unsigned ? 0 : -kTop / 2;
    const int32_t high = is_unsigned ? kTop - 1 : kTop / 2 - 1;
    return static_cast<uint32_t>(clamp(x, low, high)) & kMask;
  } else {
    return static_cast<uint32_t>(x >> 1) & kMask;
  }
}

template <bool is_unsigned>
int32_t half(uint32_t x, unsigned i) {
  const uint32_t h = x >> (16 * i);
  return is_unsigned ? static_cast<int32_t>(h & 0xFFFF) : static_cast<int16_t>(h);
}
template <bool is_unsigned>
int32_t byte(uint32_t x, unsigned i) {
  const uint32_t b = x >> (8 * i);
  return is_unsigned ? static_cast<int32_t>(b & 0xFF) : static_cast<int8_t>(b);
}

// op1 of A5.3.13: 0 ADD8, 1 ADD16, 2 ASX, 4 SUB8, 5 SUB16, 6 SAX.
template <Mode mode, bool is_unsigned, unsigned op1>
Next parallel(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t n = s.r[op->rn];
  const uint32_t m = s.r[op->rm];
  uint32_t r = 0;
  uint32_t flags = 0;
  if constexpr (op1 == 0 || op1 == 4) {
    constexpr bool kSubtract = op1 == 4;
    for (unsigned i = 0; i < 4; ++i) {
      const int32_t a = byte<is_unsigned>(n, i);
      const int32_t b = byte<is_unsigned>(m, i);
      bool ge = false;
      r |= lane<mode, is_unsigned, 8>(kSubtract ? a - b : a + b, kSubtract, &ge) << (8 * i);
      flags |= (ge ? 1u : 0) << i;
    }
  } else {
    for (unsigned i = 0; i < 2; ++i) {
      const bool subtract = op1 == 5 || (op1 == 2 && i == 0) || (op1 == 6 && i == 1);
      const bool cross = op1 == 2 || op1 == 6;
      const int32_t a = half<is_unsigned>(n, i);
      const int32_t b = half<is_unsigned>(m, cross ? 1 - i : i);
      bool ge = false;
      r |= lane<mode, is_unsigned, 16>(subtract ? a - b : a + b, subtract, &ge) << (16 * i);
      flags |= (ge ? 3u : 0) << (2 * i);
    }
  }
  if constexpr (mode == Mode::wrap) {
    s.ge = flags;
  }
  s.r[op->rd] = r;
  return next_op(cpu, op);
}

template <Mode mode, bool is_unsigned>
Handler by_operation(unsigned op1) {
  switch (op1) {
    case 0:
      return &parallel<mode, is_unsigned, 0>;
    case 1:
      return &parallel<mode, is_unsigned, 1>;
    case 2:
      return &parallel<mode, is_unsigned, 2>;
    case 4:
      return &parallel<mode, is_unsigned, 4>;
    case 5:
      return &parallel<mode, is_unsigned, 5>;
    default:
      return &parallel<mode, is_unsigned, 6>;
  }
}

int64_t saturate(CpuState& s, int64_t x) {
  if (x > INT32_MAX || x < INT32_MIN) {
    s.q = 1;
    return x < 0 ? INT32_MIN : INT32_MAX;
  }
  return x;
}

// QADD Rd, Rm, Rn.
template <bool doubles, bool subtracts>
Next qadd(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  int64_t n = static_cast<int32_t>(s.r[op->rn]);
  const int64_t m = static_cast<int32_t>(s.r[op->rm]);
  if constexpr (doubles) {
    n = saturate(s, 2 * n);
  }
  s.r[op->rd] = static_cast<uint32_t>(saturate(s, subtracts ? m - n : m + n));
  return next_op(cpu, op);
}

Next sel(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  uint32_t mask = 0;
  for (unsigned i = 0; i < 4; ++i) {
    mask |= ((s.ge >> i) & 1) != 0 ? 0xFFu << (8 * i) : 0;
  }
  s.r[op->rd] = (s.r[op->rn] & mask) | (s.r[op->rm] & ~mask);
  return next_op(cpu, op);
}

}  // namespace

Handler dsp_handler(const Insn& i) {
  if (i.kind == Kind::sel) {
    return &sel;
  }
  if (i.kind == Kind::qadd) {
    constexpr Handler kHandlers[] = {&qadd<false, false>, &qadd<true, false>, &qadd<false, true>,
                                     &qadd<true, true>};
    return kHandlers[i.imm & 3];
  }
  if (i.kind != Kind::parallel) {
    return nullptr;
  }
  const unsigned op1 = i.imm >> 3;
  switch (i.imm & 7) {
    case 0:
      return by_operation<Mode::wrap, false>(op1);
    case 1:
      return by_operation<Mode::saturate, false>(op1);
    case 2:
      return by_operation<Mode::halve, false>(op1);
    case 4:
      return by_operation<Mode::wrap, true>(op1);
    case 5:
      return by_operation<Mode::saturate, true>(op1);
    default:
      return by_operation<Mode::halve, true>(op1);
  }
}

}  // namespace millrace::board
