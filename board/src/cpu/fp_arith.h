// SPDX-License-Identifier: Apache-2.0
// Arithmetic of FPv5 on numbers as bits (Armv7-M ARM A2.5, pseudo-code FPAdd .. FPRoundInt).
// For Bits = uint32_t (single) and uint64_t (double). Flags accumulate in env.
#pragma once

#include <cstdint>

#include "cpu/fp_format.h"

namespace millrace::board::fp {

template <typename Bits>
Bits add(Env& env, Bits a, Bits b);
template <typename Bits>
Bits sub(Env& env, Bits a, Bits b);
template <typename Bits>
Bits mul(Env& env, Bits a, Bits b);
template <typename Bits>
Bits div(Env& env, Bits a, Bits b);
template <typename Bits>
Bits sqrt(Env& env, Bits a);
// addend + a * b, rounded once.
template <typename Bits>
Bits mul_add(Env& env, Bits addend, Bits a, Bits b);
// N, Z, C, V in bits 31..28. `signal_all`: quiet NaNs are invalid too (VCMPE).
template <typename Bits>
uint32_t compare(Env& env, Bits a, Bits b, bool signal_all);
// A single quiet NaN loses against a number.
template <typename Bits>
Bits max_num(Env& env, Bits a, Bits b);
template <typename Bits>
Bits min_num(Env& env, Bits a, Bits b);
// `exact`: raises Inexact when the value changed (VRINTX).
template <typename Bits>
Bits round_int(Env& env, Bits a, Rounding rounding, bool exact);

template <typename Bits>
constexpr Bits neg(Bits a) {
  return a ^ Constants<Bits>::kSign;
}
template <typename Bits>
constexpr Bits abs(Bits a) {
  return a & ~Constants<Bits>::kSign;
}

}  // namespace millrace::board::fp
