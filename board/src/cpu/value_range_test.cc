// SPDX-License-Identifier: Apache-2.0
// Against all values of small ranges: each result must be in the range that is given for it.
#include "cpu/value_range.h"

#include <gtest/gtest.h>

#include <random>

namespace millrace::board {
namespace {

ValueRange random_range(std::mt19937& random) {
  constexpr uint32_t kPlaces[] = {0, 0x7FFFFFF8, 0x80000000, 0xFFFFFFF8, 0xFFF8, 1000};
  const uint32_t place =
      random() % 4 == 0 ? static_cast<uint32_t>(random()) : kPlaces[random() % std::size(kPlaces)];
  return {place + static_cast<uint32_t>(random() % 16), static_cast<uint32_t>(random() % 20)};
}

bool allows(Bit b, bool value) { return b == Bit::unknown || b == bit_of(value); }

TEST(ValueRange, HasExactlyItsValues) {
  const ValueRange wraps{0xFFFFFFFE, 3};
  EXPECT_TRUE(wraps.has(0xFFFFFFFE) && wraps.has(0) && wraps.has(1));
  EXPECT_FALSE(wraps.has(2) || wraps.has(0xFFFFFFFD));
  EXPECT_TRUE(wraps.wraps());
  EXPECT_TRUE(ValueRange::anything().has(0x12345678));
}

TEST(ValueRange, WhatIsCertainIsFound) {
  RangeFlags f;
  // 10..12 + 5: no carry, no overflow, not zero, not negative.
  EXPECT_EQ(add(ValueRange::between(10, 12), ValueRange::of(5), Bit::zero, &f),
            ValueRange::between(15, 17));
  EXPECT_TRUE(f.c == Bit::zero && f.v == Bit::zero && f.z == Bit::zero && f.n == Bit::zero);
  // 10..12 - 20: borrows (C 0), negative; so LO and LT hold.
  EXPECT_EQ(add(ValueRange::between(10, 12), complement(ValueRange::of(20)), Bit::one, &f),
            (ValueRange{0xFFFFFFF6, 2}));
  EXPECT_TRUE(holds(3, f) == Bit::one && holds(11, f) == Bit::one && holds(0, f) == Bit::zero);
  // 10..12 against 11: nothing is.
  add(ValueRange::between(10, 12), complement(ValueRange::of(11)), Bit::one, &f);
  EXPECT_TRUE(f.c == Bit::unknown && f.z == Bit::unknown && f.n == Bit::unknown);
  EXPECT_EQ(high_product(ValueRange::between(0x80000000, 0x80000004), ValueRange::of(6)),
            ValueRange::of(3));
}

TEST(ValueRange, EveryResultIsInItsRange) {
  std::mt19937 random(20261130);
  for (unsigned round = 0; round < 4000; ++round) {
    const ValueRange a = random_range(random), b = random_range(random);
    const unsigned amount = random() % 32, width = 1 + random() % 32;
    RangeFlags sum, difference;
    const bool carry = random() % 2 != 0;
    const ValueRange added = add(a, b, bit_of(carry), &sum);
    const ValueRange subtracted = add(a, complement(b), Bit::one, &difference);
    for (uint32_t i = 0; i <= a.length; ++i) {
      const uint32_t x = a.first + i;
      EXPECT_TRUE(a.has(x) && complement(a).has(~x));
      EXPECT_TRUE(allows(sign_of(a), x >> 31 != 0) && allows(is_zero(a), x == 0));
      EXPECT_TRUE(shift_left(a, amount).has(x << amount));
      EXPECT_TRUE(shift_right(a, amount).has(x >> amount));
      const uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1, sign = 1u << (width - 1);
      EXPECT_TRUE(low_bits(a, width).has(x & mask));
      EXPECT_TRUE(sign_extend(a, width).has(((x & mask) ^ sign) - sign));
      for (uint32_t k = 0; k <= b.length; ++k) {
        const uint32_t y = b.first + k;
        const uint64_t s = uint64_t{x} + y + (carry ? 1 : 0);
        EXPECT_TRUE(added.has(static_cast<uint32_t>(s)) && allows(sum.c, s >> 32 != 0));
        const int64_t exact = int64_t{static_cast<int32_t>(x)} + static_cast<int32_t>(y) + carry;
        EXPECT_TRUE(allows(sum.v, exact != static_cast<int32_t>(exact)));
        EXPECT_TRUE(subtracted.has(x - y));
        const bool less = static_cast<int32_t>(x) < static_cast<int32_t>(y);
        EXPECT_TRUE(allows(holds(0, difference), x == y) && allows(holds(2, difference), x >= y) &&
                    allows(holds(8, difference), x > y) && allows(holds(9, difference), x <= y) &&
                    allows(holds(10, difference), !less) && allows(holds(11, difference), less) &&
                    allows(holds(12, difference), !less && x != y) &&
                    allows(holds(13, difference), less || x == y));
        EXPECT_TRUE(multiply(a, b).has(x * y));
        EXPECT_TRUE(high_product(a, b).has(static_cast<uint32_t>((uint64_t{x} * y) >> 32)));
        EXPECT_TRUE(bitwise_and(a, b).has(x & y));
      }
    }
    ASSERT_FALSE(HasFailure()) << std::hex << a.first << '+' << a.length << ' ' << b.first << '+'
                               << b.length << ' ' << amount << ' ' << width;
  }
}

}  // namespace
}  // namespace millrace::board
