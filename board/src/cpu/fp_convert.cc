// SPDX-License-Identifier: Apache-2.0
#include "cpu/fp_convert.h"

namespace millrace::board::fp {

template <typename Bits>
uint64_t to_fixed(Env& env, Bits a, unsigned width, unsigned fraction_bits, bool is_signed,
                  Rounding rounding) {
  const Number x = unpack(env, a);
  if (x.kind == Class::zero) {
    return 0;
  }
  if (x.is_nan()) {
    env.flags |= kInvalid;
    return 0;
  }
  // Largest magnitudes of either sign.
  const uint64_t above = (uint64_t{1} << (is_signed ? width - 1 : width)) - 1;
  const uint64_t below = is_signed ? above + 1 : 0;
  const uint64_t limit = x.sign ? below : above;
  const auto with_sign = [&](uint64_t magnitude) { return x.sign ? 0 - magnitude : magnitude; };
  const int exp = x.exp + static_cast<int>(fraction_bits);
  if (x.kind == Class::infinity || exp > 32) {
    env.flags |= kInvalid;
    return with_sign(limit);
  }
  const Dropped dropped = drop_bits(x.sig, 63 - exp);
  const uint64_t whole = dropped.whole + (rounds_up(rounding, x.sign, dropped) ? 1 : 0);
  if (whole > limit) {
    env.flags |= kInvalid;
    return with_sign(limit);
  }
  if (dropped.rest != 0) {
    env.flags |= kInexact;
  }
  return with_sign(whole);
}

template <typename Bits>
Bits from_fixed(Env& env, uint32_t value, unsigned width, unsigned fraction_bits, bool is_signed) {
  uint64_t magnitude = width == 16 ? value & 0xFFFFu : value;
  bool sign = false;
  if (is_signed && ((magnitude >> (width - 1)) & 1) != 0) {
    sign = true;
    magnitude = (uint64_t{1} << width) - magnitude;
  }
  if (magnitude == 0) {
    return 0;
  }
  const int shift = std::countl_zero(magnitude);
  return round_pack<Bits>(env, sign, 63 - shift - static_cast<int>(fraction_bits),
                          magnitude << shift);
}

template <typename To, typename From>
To convert(Env& env, From a) {
  const Number x = unpack(env, a);
  using C = Constants<To>;
  const bool no_specials = C::kHalf && env.alternative_half;
  if (x.is_nan()) {
    if (x.kind == Class::signalling_nan || no_specials) {
      env.flags |= kInvalid;
    }
    if (no_specials) {
      return zero<To>(x.sign);
    }
    if (env.default_nan) {
      return C::kDefaultNan;
    }
    // The payload keeps its upper bits.
    constexpr int kShift = C::kFraction - Constants<From>::kFraction;
    const uint64_t fraction = a & Constants<From>::kFractionMask;
    const uint64_t moved = kShift >= 0 ? fraction << (kShift >= 0 ? kShift : 0)
                                       : fraction >> (kShift >= 0 ? 0 : -kShift);
    return static_cast<To>(infinity<To>(x.sign) | C::kQuiet | static_cast<To>(moved));
  }
  if (x.kind == Class::infinity) {
    if (no_specials) {
      env.flags |= kInvalid;
      return static_cast<To>(zero<To>(x.sign) | (C::kSign - 1));
    }
    return infinity<To>(x.sign);
  }
  if (x.kind == Class::zero) {
    return zero<To>(x.sign);
  }
  return round_pack<To>(env, x.sign, x.exp, x.sig);
}

template uint64_t to_fixed<uint32_t>(Env&, uint32_t, unsigned, unsigned, bool, Rounding);
template uint64_t to_fixed<uint64_t>(Env&, uint64_t, unsigned, unsigned, bool, Rounding);
template uint32_t from_fixed<uint32_t>(Env&, uint32_t, unsigned, unsigned, bool);
template uint64_t from_fixed<uint64_t>(Env&, uint32_t, unsigned, unsigned, bool);
template uint64_t convert<uint64_t, uint32_t>(Env&, uint32_t);
template uint32_t convert<uint32_t, uint64_t>(Env&, uint64_t);
template uint32_t convert<uint32_t, uint16_t>(Env&, uint16_t);
template uint64_t convert<uint64_t, uint16_t>(Env&, uint16_t);
template uint16_t convert<uint16_t, uint32_t>(Env&, uint32_t);
template uint16_t convert<uint16_t, uint64_t>(Env&, uint64_t);

}  // namespace millrace::board::fp
