// SPDX-License-Identifier: Apache-2.0
// Everything is computed in integers, exactly, with flags and NaNs as the architecture has them.
// That is slow (tens of host instructions an operation), so the common case goes through the
// host's unit first: rounding to nearest, no flush-to-zero, and a result that is a normal number
// away from the ends of the range. Such a result is the same on every IEEE 754 machine; the only
// flag it can raise is Inexact, which is either set already or decided by an error term that is
// exact in that range (TwoSum, FMA residue). Everything else falls through to the integer code.
// fesetround() was rejected: it serialises, it must be restored around every other use of doubles,
// and x86 detects tininess after rounding where Arm does before.
#include "cpu/fp_arith.h"

#include <cmath>
#include <utility>

#include "cpu/fp_fast.h"

namespace millrace::board::fp {
namespace {

__extension__ using Wide = unsigned __int128;

template <typename Bits>
Host<Bits> to_host(Bits bits) {
  return std::bit_cast<Host<Bits>>(bits);
}

// Whether the host's operation may be tried at all.
bool plain(const Env& env) { return env.rounding == Rounding::nearest && !env.flush; }

template <typename Bits>
bool host_add(Env& env, Host<Bits> x, Host<Bits> y, Bits* out) {
  const Host<Bits> sum = x + y;
  if (!tame(sum) || !(std::fabs(x) < Host<Bits>(0x1p+120))) {
    return false;
  }
  if ((env.flags & kInexact) == 0) {
    const Host<Bits> part = sum - x;
    if ((x - (sum - part)) + (y - part) != 0) {
      env.flags |= kInexact;
    }
  }
  *out = std::bit_cast<Bits>(sum);
  return true;
}

// Whether x * y is not `wanted` exactly: of a product itself, or of a quotient or root that is
// checked by multiplying back.
bool product_differs(float x, float y, float wanted) {
  return static_cast<double>(x) * static_cast<double>(y) != static_cast<double>(wanted);
}
bool product_differs(double x, double y, double wanted) { return std::fma(x, y, -wanted) != 0; }

Number times(const Number& a, const Number& b, Wide* product) {
  Number out;
  out.kind = Class::finite;
  out.sign = a.sign != b.sign;
  *product = static_cast<Wide>(a.sig) * b.sig;
  out.exp = a.exp + b.exp + 1;
  if ((*product >> 127) == 0) {
    *product <<= 1;
    --out.exp;
  }
  return out;
}

uint64_t jam_high(Wide x) {
  return static_cast<uint64_t>(x >> 64) | (static_cast<uint64_t>(x) != 0 ? 1 : 0);
}

Wide shift_right_jam_wide(Wide x, int n) {
  if (n <= 0) {
    return x;
  }
  return n < 128 ? (x >> n) | ((x << (128 - n)) != 0 ? 1 : 0) : (x != 0 ? 1 : 0);
}

int leading_zeros(Wide x) {
  const uint64_t high = static_cast<uint64_t>(x >> 64);
  return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(x));
}

// x + y for finite numbers whose significands have bit 127 set; rounds.
template <typename Bits>
Bits add_finite(Env& env, Number x, Wide x_sig, Number y, Wide y_sig) {
  if (x.exp < y.exp) {
    std::swap(x, y);
    std::swap(x_sig, y_sig);
  }
  x_sig >>= 1;  // room for the carry; the bit lost is zero
  y_sig = shift_right_jam_wide(y_sig, x.exp - y.exp + 1);
  Wide sum;
  bool sign = x.sign;
  if (x.sign == y.sign) {
    sum = x_sig + y_sig;
  } else if (x_sig >= y_sig) {
    sum = x_sig - y_sig;
  } else {
    sum = y_sig - x_sig;
    sign = y.sign;
  }
  if (sum == 0) {
    return zero<Bits>(env.rounding == Rounding::down);
  }
  const int shift = leading_zeros(sum);
  return round_pack<Bits>(env, sign, x.exp + 1 - shift, jam_high(sum << shift));
}

// FPProcessNaNs. False: neither is a NaN.
template <typename Bits>
bool process_nans(Env& env, const Number& x, Bits a, const Number& y, Bits b, Bits* out) {
  if (!x.is_nan() && !y.is_nan()) {
    return false;
  }
  const bool first = x.kind == Class::signalling_nan ||
                     (y.kind != Class::signalling_nan && x.kind == Class::quiet_nan);
  *out = first ? process_nan(env, x.kind, a) : process_nan(env, y.kind, b);
  return true;
}

// FPAdd and FPSub: NaNs are processed before `negate` turns the second operand.
template <typename Bits>
Bits add_sub(Env& env, Bits a, Bits b, bool negate) {
  const Number x = unpack(env, a);
  Number y = unpack(env, b);
  Bits nan;
  if (process_nans(env, x, a, y, b, &nan)) {
    return nan;
  }
  y.sign = y.sign != negate;
  if (x.kind == Class::infinity || y.kind == Class::infinity) {
    if (x.kind == y.kind && x.sign != y.sign) {
      return invalid<Bits>(env);
    }
    return infinity<Bits>(x.kind == Class::infinity ? x.sign : y.sign);
  }
  if (x.kind == Class::zero && y.kind == Class::zero) {
    return zero<Bits>(x.sign == y.sign ? x.sign : env.rounding == Rounding::down);
  }
  if (x.kind == Class::zero) {
    return round_pack<Bits>(env, y.sign, y.exp, y.sig);
  }
  if (y.kind == Class::zero) {
    return round_pack<Bits>(env, x.sign, x.exp, x.sig);
  }
  return add_finite<Bits>(env, x, static_cast<Wide>(x.sig) << 64, y,
                          static_cast<Wide>(y.sig) << 64);
}

// Magnitude order of two that are not NaN: -1, 0, 1. Zeros are equal whatever their sign.
int order(const Number& x, const Number& y) {
  const auto key = [](const Number& n) {
    switch (n.kind) {
      case Class::zero:
        return std::pair<int, uint64_t>(-100'000, 0);
      case Class::infinity:
        return std::pair<int, uint64_t>(100'000, 0);
      default:
        return std::pair<int, uint64_t>(n.exp, n.sig);
    }
  };
  if (x.kind == Class::zero && y.kind == Class::zero) {
    return 0;
  }
  if (x.sign != y.sign) {
    return x.sign ? -1 : 1;
  }
  const auto kx = key(x);
  const auto ky = key(y);
  const int magnitude = kx < ky ? -1 : kx > ky ? 1 : 0;
  return x.sign ? -magnitude : magnitude;
}

// FPMaxNum, FPMinNum.
template <typename Bits>
Bits select_num(Env& env, Bits a, Bits b, bool maximum) {
  Number x = unpack(env, a);
  Number y = unpack(env, b);
  Number loser;
  loser.kind = Class::infinity;
  loser.sign = maximum;
  if (x.kind == Class::quiet_nan && y.kind != Class::quiet_nan) {
    x = loser;
  } else if (y.kind == Class::quiet_nan && x.kind != Class::quiet_nan) {
    y = loser;
  }
  Bits nan;
  if (process_nans(env, x, a, y, b, &nan)) {
    return nan;
  }
  const Number& chosen = (order(x, y) > 0) == maximum ? x : y;
  if (chosen.kind == Class::zero) {
    // Zeros of both signs: the positive one is the greater.
    const bool both = x.kind == Class::zero && y.kind == Class::zero;
    const bool sign = !both ? chosen.sign : maximum ? x.sign && y.sign : x.sign || y.sign;
    return zero<Bits>(sign);
  }
  if (chosen.kind == Class::infinity) {
    return infinity<Bits>(chosen.sign);
  }
  return round_pack<Bits>(env, chosen.sign, chosen.exp, chosen.sig);
}

}  // namespace

template <typename Bits>
Bits add(Env& env, Bits a, Bits b) {
  Bits out;
  if (plain(env) && host_add<Bits>(env, to_host(a), to_host(b), &out)) {
    return out;
  }
  return add_sub(env, a, b, false);
}

template <typename Bits>
Bits sub(Env& env, Bits a, Bits b) {
  Bits out;
  if (plain(env) && host_add<Bits>(env, to_host(a), to_host(neg(b)), &out)) {
    return out;
  }
  return add_sub(env, a, b, true);
}

template <typename Bits>
Bits mul(Env& env, Bits a, Bits b) {
  if (plain(env)) {
    const Host<Bits> x = to_host(a);
    const Host<Bits> y = to_host(b);
    const Host<Bits> product = x * y;
    if (tame(product)) {
      if ((env.flags & kInexact) == 0 && product_differs(x, y, product)) {
        env.flags |= kInexact;
      }
      return std::bit_cast<Bits>(product);
    }
  }
  const Number x = unpack(env, a);
  const Number y = unpack(env, b);
  Bits nan;
  if (process_nans(env, x, a, y, b, &nan)) {
    return nan;
  }
  const bool sign = x.sign != y.sign;
  if (x.kind == Class::infinity || y.kind == Class::infinity) {
    const bool with_zero = x.kind == Class::zero || y.kind == Class::zero;
    return with_zero ? invalid<Bits>(env) : infinity<Bits>(sign);
  }
  if (x.kind == Class::zero || y.kind == Class::zero) {
    return zero<Bits>(sign);
  }
  Wide product;
  const Number out = times(x, y, &product);
  return round_pack<Bits>(env, sign, out.exp, jam_high(product));
}

template <typename Bits>
Bits div(Env& env, Bits a, Bits b) {
  if (plain(env)) {
    const Host<Bits> x = to_host(a);
    const Host<Bits> y = to_host(b);
    const Host<Bits> quotient = x / y;
    if (tame(quotient) && tame(x) && tame(y)) {
      if ((env.flags & kInexact) == 0 && product_differs(quotient, y, x)) {
        env.flags |= kInexact;
      }
      return std::bit_cast<Bits>(quotient);
    }
  }
  const Number x = unpack(env, a);
  const Number y = unpack(env, b);
  Bits nan;
  if (process_nans(env, x, a, y, b, &nan)) {
    return nan;
  }
  const bool sign = x.sign != y.sign;
  if (x.kind == y.kind && x.kind != Class::finite) {
    return invalid<Bits>(env);  // infinity by infinity, zero by zero
  }
  if (x.kind == Class::infinity) {
    return infinity<Bits>(sign);
  }
  if (y.kind == Class::zero) {
    env.flags |= kDivideByZero;
    return infinity<Bits>(sign);
  }
  if (x.kind == Class::zero || y.kind == Class::infinity) {
    return zero<Bits>(sign);
  }
  const bool below_one = x.sig < y.sig;
  const Wide dividend = static_cast<Wide>(x.sig) << (below_one ? 64 : 63);
  const uint64_t quotient = static_cast<uint64_t>(dividend / y.sig);
  const bool rest = dividend % y.sig != 0;
  return round_pack<Bits>(env, sign, x.exp - y.exp - (below_one ? 1 : 0),
                          quotient | (rest ? 1 : 0));
}

template <typename Bits>
Bits sqrt(Env& env, Bits a) {
  if (plain(env)) {
    const Host<Bits> x = to_host(a);
    if (x > 0 && tame(x)) {
      const Host<Bits> root = std::sqrt(x);
      if ((env.flags & kInexact) == 0 && product_differs(root, root, x)) {
        env.flags |= kInexact;
      }
      return std::bit_cast<Bits>(root);
    }
  }
  const Number x = unpack(env, a);
  if (x.is_nan()) {
    return process_nan(env, x.kind, a);
  }
  if (x.kind == Class::zero) {
    return zero<Bits>(x.sign);
  }
  if (x.sign) {
    return invalid<Bits>(env);
  }
  if (x.kind == Class::infinity) {
    return infinity<Bits>(false);
  }
  // floor(sqrt(rest)) bit by bit; the radicand has 127 or 128 bits, so the root has 64.
  const bool odd = (x.exp & 1) != 0;
  Wide rest = static_cast<Wide>(x.sig) << (odd ? 64 : 63);
  Wide root = 0;
  for (Wide bit = static_cast<Wide>(1) << 126; bit != 0; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return round_pack<Bits>(env, false, (x.exp - (odd ? 1 : 0)) / 2,
                          static_cast<uint64_t>(root) | (rest != 0 ? 1 : 0));
}

template <typename Bits>
Bits mul_add(Env& env, Bits addend, Bits a, Bits b) {
  if (plain(env) && (env.flags & kInexact) != 0) {
    const Host<Bits> sum = std::fma(to_host(a), to_host(b), to_host(addend));
    if (tame(sum)) {
      return std::bit_cast<Bits>(sum);
    }
  }
  const Number c = unpack(env, addend);
  const Number x = unpack(env, a);
  const Number y = unpack(env, b);
  const bool bad_product = (x.kind == Class::infinity && y.kind == Class::zero) ||
                           (x.kind == Class::zero && y.kind == Class::infinity);
  // FPProcessNaNs3: signalling before quiet, the addend before the factors.
  if (c.is_nan() || x.is_nan() || y.is_nan()) {
    if (c.kind == Class::quiet_nan && bad_product) {
      return invalid<Bits>(env);
    }
    for (const Class kind : {Class::signalling_nan, Class::quiet_nan}) {
      if (c.kind == kind) {
        return process_nan(env, kind, addend);
      }
      if (x.kind == kind) {
        return process_nan(env, kind, a);
      }
      if (y.kind == kind) {
        return process_nan(env, kind, b);
      }
    }
  }
  const bool sign = x.sign != y.sign;
  const bool infinite = x.kind == Class::infinity || y.kind == Class::infinity;
  const bool nothing = x.kind == Class::zero || y.kind == Class::zero;
  if (bad_product || (infinite && c.kind == Class::infinity && c.sign != sign)) {
    return invalid<Bits>(env);
  }
  if (infinite || c.kind == Class::infinity) {
    return infinity<Bits>(infinite ? sign : c.sign);
  }
  if (nothing) {
    if (c.kind == Class::zero) {
      return zero<Bits>(c.sign == sign ? sign : env.rounding == Rounding::down);
    }
    return round_pack<Bits>(env, c.sign, c.exp, c.sig);
  }
  Wide product;
  const Number p = times(x, y, &product);
  if (c.kind == Class::zero) {
    return round_pack<Bits>(env, p.sign, p.exp, jam_high(product));
  }
  return add_finite<Bits>(env, p, product, c, static_cast<Wide>(c.sig) << 64);
}

template <typename Bits>
uint32_t compare(Env& env, Bits a, Bits b, bool signal_all) {
  const Number x = unpack(env, a);
  const Number y = unpack(env, b);
  if (x.is_nan() || y.is_nan()) {
    if (signal_all || x.kind == Class::signalling_nan || y.kind == Class::signalling_nan) {
      env.flags |= kInvalid;
    }
    return 0x30000000;
  }
  const int result = order(x, y);
  return result < 0 ? 0x80000000 : result == 0 ? 0x60000000 : 0x20000000;
}

template <typename Bits>
Bits max_num(Env& env, Bits a, Bits b) {
  return select_num(env, a, b, true);
}

template <typename Bits>
Bits min_num(Env& env, Bits a, Bits b) {
  return select_num(env, a, b, false);
}

template <typename Bits>
Bits round_int(Env& env, Bits a, Rounding rounding, bool exact) {
  using C = Constants<Bits>;
  const Number x = unpack(env, a);
  if (x.is_nan()) {
    return process_nan(env, x.kind, a);
  }
  if (x.kind == Class::zero) {
    return zero<Bits>(x.sign);
  }
  if (x.kind == Class::infinity || x.exp >= C::kFraction) {
    return a;
  }
  const Dropped dropped = drop_bits(x.sig, 63 - x.exp);
  const uint64_t whole = dropped.whole + (rounds_up(rounding, x.sign, dropped) ? 1 : 0);
  if (dropped.rest != 0 && exact) {
    env.flags |= kInexact;
  }
  if (whole == 0) {
    return zero<Bits>(x.sign);
  }
  const int shift = std::countl_zero(whole);
  return round_pack<Bits>(env, x.sign, 63 - shift, whole << shift);
}

#define MILLRACE_FP_INSTANTIATE(Bits)                      \
  template Bits add<Bits>(Env&, Bits, Bits);               \
  template Bits sub<Bits>(Env&, Bits, Bits);               \
  template Bits mul<Bits>(Env&, Bits, Bits);               \
  template Bits div<Bits>(Env&, Bits, Bits);               \
  template Bits sqrt<Bits>(Env&, Bits);                    \
  template Bits mul_add<Bits>(Env&, Bits, Bits, Bits);     \
  template uint32_t compare<Bits>(Env&, Bits, Bits, bool); \
  template Bits max_num<Bits>(Env&, Bits, Bits);           \
  template Bits min_num<Bits>(Env&, Bits, Bits);           \
  template Bits round_int<Bits>(Env&, Bits, Rounding, bool);
MILLRACE_FP_INSTANTIATE(uint32_t)
MILLRACE_FP_INSTANTIATE(uint64_t)
#undef MILLRACE_FP_INSTANTIATE

}  // namespace millrace::board::fp
