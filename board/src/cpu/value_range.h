// SPDX-License-Identifier: Apache-2.0
// Values of which only limits are known: what a register holds in any of many rounds of a loop.
// Every operation gives a range that has all results; it may have more, so what holds for a range
// holds for each value in it.
#pragma once

#include <cstdint>

namespace millrace::board {

// first, first + 1, ..., first + length, modulo 2^32.
struct ValueRange {
  uint32_t first = 0;
  uint32_t length = 0;

  static constexpr ValueRange of(uint32_t value) { return {value, 0}; }
  static constexpr ValueRange anything() { return {0, UINT32_MAX}; }
  // REQUIRES: low <= high.
  static constexpr ValueRange between(uint32_t low, uint32_t high) { return {low, high - low}; }

  constexpr uint32_t last() const { return first + length; }
  constexpr bool known() const { return length == 0; }
  constexpr bool wraps() const { return last() < first; }  // from 2^32 - 1 to 0
  constexpr bool has(uint32_t value) const { return value - first <= length; }
  friend constexpr bool operator==(const ValueRange&, const ValueRange&) = default;
};

// A bit that is 0 or 1 for all values of a range, or not.
enum class Bit : uint8_t { zero, one, unknown };

constexpr Bit bit_of(bool value) { return value ? Bit::one : Bit::zero; }
constexpr Bit operator!(Bit b) { return b == Bit::unknown ? b : bit_of(b == Bit::zero); }
constexpr Bit operator&(Bit a, Bit b) {
  if (a == Bit::zero || b == Bit::zero) return Bit::zero;
  return a == Bit::one && b == Bit::one ? Bit::one : Bit::unknown;
}
constexpr Bit same(Bit a, Bit b) {
  return a == Bit::unknown || b == Bit::unknown ? Bit::unknown : bit_of(a == b);
}

struct RangeFlags {
  Bit n = Bit::unknown, z = Bit::unknown, c = Bit::unknown, v = Bit::unknown;
};

Bit sign_of(ValueRange a);
Bit is_zero(ValueRange a);
ValueRange complement(ValueRange a);
// a + b + carry, with the flags of AddWithCarry() (A2.2.1).
ValueRange add(ValueRange a, ValueRange b, Bit carry, RangeFlags* flags);
ValueRange multiply(ValueRange a, ValueRange b);
// Of the 64-bit product.
ValueRange high_product(ValueRange a, ValueRange b);
ValueRange shift_left(ValueRange a, unsigned amount);   // 0..31
ValueRange shift_right(ValueRange a, unsigned amount);  // 0..31, unsigned
// Bits 0..width - 1; width 1..32.
ValueRange low_bits(ValueRange a, unsigned width);
ValueRange sign_extend(ValueRange a, unsigned width);
ValueRange bitwise_and(ValueRange a, ValueRange b);
// Whether the condition (0..14, A7.3) holds.
Bit holds(unsigned condition, const RangeFlags& f);

}  // namespace millrace::board
