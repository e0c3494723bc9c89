// SPDX-License-Identifier: Apache-2.0
// Conversions of FPv5 (Armv7-M ARM A2.5, FPToFixed, FixedToFP, FPSingleToDouble and relatives).
#pragma once

#include <cstdint>

#include "cpu/fp_format.h"

namespace millrace::board::fp {

// Value times 2^fraction_bits as an integer of `width` bits (16 or 32), saturated; sign- or
// zero-extended to 64. NaN: 0.
template <typename Bits>
uint64_t to_fixed(Env& env, Bits a, unsigned width, unsigned fraction_bits, bool is_signed,
                  Rounding rounding);
// The low `width` bits of `value` divided by 2^fraction_bits.
template <typename Bits>
Bits from_fixed(Env& env, uint32_t value, unsigned width, unsigned fraction_bits, bool is_signed);
// Between half, single and double precision.
template <typename To, typename From>
To convert(Env& env, From a);

}  // namespace millrace::board::fp
