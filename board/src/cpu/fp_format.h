// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers taken apart and put together as the Armv7-M ARM does (A2.5.5..A2.5.8,
// FPUnpack, FPRound, FPProcessNaN): the part that every operation shares.
//
// A finite number other than zero is (sig / 2^63) * 2^exp with bit 63 of sig set. A result may have
// any bits below its precision; what was lost below bit 0 is or-ed into bit 0 ("jammed"), which
// with at least 11 spare bits rounds as the exact value would.
#pragma once

#include <bit>
#include <cstdint>

namespace millrace::board::fp {

enum class Rounding : uint8_t { nearest, up, down, zero, nearest_away };  // first four: FPSCR.RMode

// FPSCR's cumulative flags.
inline constexpr uint32_t kInvalid = 1u << 0;
inline constexpr uint32_t kDivideByZero = 1u << 1;
inline constexpr uint32_t kOverflow = 1u << 2;
inline constexpr uint32_t kUnderflow = 1u << 3;
inline constexpr uint32_t kInexact = 1u << 4;
inline constexpr uint32_t kInputDenormal = 1u << 7;

struct Env {
  explicit Env(uint32_t fpscr)
      : rounding(static_cast<Rounding>((fpscr >> 22) & 3)),
        flush((fpscr & (1u << 24)) != 0),
        default_nan((fpscr & (1u << 25)) != 0),
        alternative_half((fpscr & (1u << 26)) != 0),
        flags(fpscr) {}

  Rounding rounding;
  bool flush;
  bool default_nan;
  bool alternative_half;
  uint32_t flags;  // FPSCR with the flags raised so far
};

// Half, single and double by the integer that holds them.
template <typename Bits>
struct Format;
template <>
struct Format<uint16_t> {
  static constexpr int kFraction = 10, kExponent = 5;
};
template <>
struct Format<uint32_t> {
  static constexpr int kFraction = 23, kExponent = 8;
};
template <>
struct Format<uint64_t> {
  static constexpr int kFraction = 52, kExponent = 11;
};

template <typename Bits>
struct Constants : Format<Bits> {
  using Base = Format<Bits>;
  static constexpr bool kHalf = sizeof(Bits) == 2;
  static constexpr int kBias = (1 << (Base::kExponent - 1)) - 1;
  static constexpr int kMinimum = 1 - kBias;  // exponent of the smallest normal number
  static constexpr int kTop = (1 << Base::kExponent) - 1;
  static constexpr int kSignShift = Base::kFraction + Base::kExponent;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << kSignShift);
  static constexpr Bits kFractionMask = static_cast<Bits>((Bits{1} << Base::kFraction) - 1);
  static constexpr Bits kQuiet = static_cast<Bits>(Bits{1} << (Base::kFraction - 1));
  static constexpr Bits kInfinity = static_cast<Bits>(Bits{kTop} << Base::kFraction);
  static constexpr Bits kDefaultNan = static_cast<Bits>(kInfinity | kQuiet);
};

enum class Class : uint8_t { zero, finite, infinity, quiet_nan, signalling_nan };

struct Number {
  Class kind = Class::zero;
  bool sign = false;
  int exp = 0;
  uint64_t sig = 0;

  bool is_nan() const { return kind >= Class::quiet_nan; }
};

inline uint64_t shift_right_jam(uint64_t x, int n) {
  if (n <= 0) {
    return x;
  }
  return n < 64 ? (x >> n) | ((x << (64 - n)) != 0 ? 1 : 0) : (x != 0 ? 1 : 0);
}

template <typename Bits>
constexpr Bits zero(bool sign) {
  return sign ? Constants<Bits>::kSign : Bits{0};
}

template <typename Bits>
constexpr Bits infinity(bool sign) {
  return static_cast<Bits>(zero<Bits>(sign) | Constants<Bits>::kInfinity);
}

// Denormal inputs become zero with FZ, but not half-precision ones.
template <typename Bits>
Number unpack(Env& env, Bits bits) {
  using C = Constants<Bits>;
  Number out;
  out.sign = (bits & C::kSign) != 0;
  const int biased = static_cast<int>(bits >> C::kFraction) & C::kTop;
  const uint64_t fraction = bits & C::kFractionMask;
  if (biased == C::kTop && !(C::kHalf && env.alternative_half)) {
    out.kind = fraction == 0                 ? Class::infinity
               : (fraction & C::kQuiet) != 0 ? Class::quiet_nan
                                             : Class::signalling_nan;
    return out;
  }
  if (biased != 0) {
    out.kind = Class::finite;
    out.exp = biased - C::kBias;
    out.sig = (uint64_t{1} << 63) | (fraction << (63 - C::kFraction));
    return out;
  }
  if (fraction == 0) {
    return out;
  }
  if (!C::kHalf && env.flush) {
    env.flags |= kInputDenormal;
    return out;
  }
  const int shift = std::countl_zero(fraction);
  out.kind = Class::finite;
  out.exp = C::kMinimum + (63 - C::kFraction) - shift;
  out.sig = fraction << shift;
  return out;
}

// A significand without its last `drop` bits, and what these are against one half.
struct Dropped {
  uint64_t whole = 0;
  uint64_t rest = 1;  // drop > 64: nonzero and less than half
  uint64_t half = 2;
};

// REQUIRES: drop >= 1, bit 63 of sig is set.
inline Dropped drop_bits(uint64_t sig, int drop) {
  if (drop < 64) {
    return {sig >> drop, sig & ((uint64_t{1} << drop) - 1), uint64_t{1} << (drop - 1)};
  }
  if (drop == 64) {
    return {0, sig, uint64_t{1} << 63};
  }
  return {};
}

// Whether the magnitude grows.
inline bool rounds_up(Rounding rounding, bool sign, const Dropped& d) {
  switch (rounding) {
    case Rounding::nearest:
      return d.rest > d.half || (d.rest == d.half && (d.whole & 1) != 0);
    case Rounding::nearest_away:
      return d.rest >= d.half;
    case Rounding::up:
      return d.rest != 0 && !sign;
    case Rounding::down:
      return d.rest != 0 && sign;
    case Rounding::zero:
      break;
  }
  return false;
}

// Whether a magnitude that is too large becomes infinity, or the largest number.
inline bool overflows_to_infinity(Rounding rounding, bool sign) {
  switch (rounding) {
    case Rounding::up:
      return !sign;
    case Rounding::down:
      return sign;
    case Rounding::zero:
      return false;
    case Rounding::nearest:
    case Rounding::nearest_away:
      break;
  }
  return true;
}

// FPRound. REQUIRES: bit 63 of sig is set.
template <typename Bits>
Bits round_pack(Env& env, bool sign, int exp, uint64_t sig) {
  using C = Constants<Bits>;
  if (!C::kHalf && env.flush && exp < C::kMinimum) {
    env.flags |= kUnderflow;
    return zero<Bits>(sign);
  }
  const bool subnormal = exp < C::kMinimum;
  const int drop = 63 - C::kFraction + (subnormal ? C::kMinimum - exp : 0);
  const Dropped dropped = drop_bits(sig, drop);
  if (subnormal && dropped.rest != 0) {
    env.flags |= kUnderflow;
  }
  const bool up = rounds_up(env.rounding, sign, dropped);
  // The leading one of `whole` carries into the exponent field, as does rounding up.
  const uint64_t field = subnormal ? 0 : static_cast<uint64_t>(exp - C::kMinimum);
  const uint64_t magnitude = (field << C::kFraction) + dropped.whole + (up ? 1 : 0);
  const uint64_t biased = magnitude >> C::kFraction;
  if (C::kHalf && env.alternative_half) {
    if (biased > static_cast<uint64_t>(C::kTop)) {
      env.flags |= kInvalid;
      return static_cast<Bits>(zero<Bits>(sign) | (C::kSign - 1));
    }
  } else if (biased >= static_cast<uint64_t>(C::kTop)) {
    env.flags |= kOverflow | kInexact;
    return overflows_to_infinity(env.rounding, sign)
               ? infinity<Bits>(sign)
               : static_cast<Bits>(infinity<Bits>(sign) - 1);  // largest normal number
  }
  if (dropped.rest != 0) {
    env.flags |= kInexact;
  }
  return static_cast<Bits>(zero<Bits>(sign) | static_cast<Bits>(magnitude));
}

template <typename Bits>
Bits invalid(Env& env) {
  env.flags |= kInvalid;
  return Constants<Bits>::kDefaultNan;
}

// FPProcessNaN.
template <typename Bits>
Bits process_nan(Env& env, Class kind, Bits bits) {
  if (kind == Class::signalling_nan) {
    env.flags |= kInvalid;
  }
  return env.default_nan ? Constants<Bits>::kDefaultNan
                         : static_cast<Bits>(bits | Constants<Bits>::kQuiet);
}

}  // namespace millrace::board::fp
