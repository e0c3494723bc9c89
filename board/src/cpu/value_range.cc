// SPDX-License-Identifier: Apache-2.0
#include "cpu/value_range.h"

namespace millrace::board {
namespace {

constexpr uint32_t kSign = 0x80000000;

// As unsigned numbers that do not wrap.
struct Unsigned {
  uint64_t low, high;
};
Unsigned as_unsigned(ValueRange a) {
  return a.wraps() ? Unsigned{0, UINT32_MAX} : Unsigned{a.first, a.last()};
}

struct Signed {
  int64_t low, high;
};
Signed as_signed(ValueRange a) {
  const ValueRange shifted{a.first ^ kSign, a.length};  // the order of signed numbers
  const Unsigned u = as_unsigned(shifted);
  return {static_cast<int64_t>(u.low) - kSign, static_cast<int64_t>(u.high) - kSign};
}

ValueRange from(uint64_t low, uint64_t high) {
  return {static_cast<uint32_t>(low), static_cast<uint32_t>(high - low)};
}

}  // namespace

Bit sign_of(ValueRange a) {
  if (((a.first ^ a.last()) & kSign) != 0 || a.length >= kSign) return Bit::unknown;
  return bit_of((a.first & kSign) != 0);
}

Bit is_zero(ValueRange a) {
  if (!a.has(0)) return Bit::zero;
  return a.known() ? Bit::one : Bit::unknown;
}

ValueRange complement(ValueRange a) { return {~a.last(), a.length}; }

ValueRange add(ValueRange a, ValueRange b, Bit carry, RangeFlags* flags) {
  const uint32_t least = carry == Bit::one ? 1 : 0, most = carry == Bit::zero ? 0 : 1;
  const uint64_t length = uint64_t{a.length} + b.length + (most - least);
  const ValueRange sum = length >= UINT32_MAX
                             ? ValueRange::anything()
                             : ValueRange{a.first + b.first + least, static_cast<uint32_t>(length)};
  const Unsigned x = as_unsigned(a), y = as_unsigned(b);
  flags->c = x.low + y.low + least > UINT32_MAX    ? Bit::one
             : x.high + y.high + most > UINT32_MAX ? Bit::unknown
                                                   : Bit::zero;
  const Signed s = as_signed(a), t = as_signed(b);
  const int64_t low = s.low + t.low + least, high = s.high + t.high + most;
  const bool may_fit = low <= INT32_MAX && high >= INT32_MIN;
  flags->v = low >= INT32_MIN && high <= INT32_MAX ? Bit::zero : may_fit ? Bit::unknown : Bit::one;
  flags->n = sign_of(sum);
  flags->z = is_zero(sum);
  return sum;
}

ValueRange multiply(ValueRange a, ValueRange b) {
  if (a.known() && b.known()) return ValueRange::of(a.first * b.first);
  const Unsigned x = as_unsigned(a), y = as_unsigned(b);
  const uint64_t low = x.low * y.low, high = x.high * y.high;
  return high - low < UINT32_MAX ? from(low, high) : ValueRange::anything();
}

ValueRange high_product(ValueRange a, ValueRange b) {
  const Unsigned x = as_unsigned(a), y = as_unsigned(b);
  return from((x.low * y.low) >> 32, (x.high * y.high) >> 32);
}

ValueRange shift_left(ValueRange a, unsigned amount) {
  return multiply(a, ValueRange::of(uint32_t{1} << amount));
}

ValueRange shift_right(ValueRange a, unsigned amount) {
  const Unsigned u = as_unsigned(a);
  return from(u.low >> amount, u.high >> amount);
}

ValueRange low_bits(ValueRange a, unsigned width) {
  const uint32_t mask = width >= 32 ? UINT32_MAX : (uint32_t{1} << width) - 1;
  if (!a.wraps() && (a.first & ~mask) == (a.last() & ~mask)) return {a.first & mask, a.length};
  return {0, mask};
}

ValueRange sign_extend(ValueRange a, unsigned width) {
  const uint32_t sign = uint32_t{1} << (width - 1);
  const ValueRange low = low_bits(a, width);
  if (((low.first ^ low.last()) & sign) != 0) return ValueRange::anything();
  return {(low.first ^ sign) - sign, low.length};
}

ValueRange bitwise_and(ValueRange a, ValueRange b) {
  if (a.known() && b.known()) return ValueRange::of(a.first & b.first);
  // The result is at most the smaller one.
  const Unsigned x = as_unsigned(a), y = as_unsigned(b);
  return from(0, x.high < y.high ? x.high : y.high);
}

Bit holds(unsigned condition, const RangeFlags& f) {
  Bit b = Bit::one;
  switch (condition / 2) {
    case 0:
      b = f.z;
      break;
    case 1:
      b = f.c;
      break;
    case 2:
      b = f.n;
      break;
    case 3:
      b = f.v;
      break;
    case 4:
      b = f.c & !f.z;
      break;
    case 5:
      b = same(f.n, f.v);
      break;
    case 6:
      b = same(f.n, f.v) & !f.z;
      break;
    default:
      return Bit::one;
  }
  return condition % 2 == 0 ? b : !b;
}

}  // namespace millrace::board
