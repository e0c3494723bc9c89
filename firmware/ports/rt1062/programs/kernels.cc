// SPDX-License-Identifier: Apache-2.0
// Small kernels, each with a result that is known beforehand (a closed form, a published check
// value, or exact arithmetic), and the core cycles that it took the second time: the first run
// fills the caches and trains the branch predictor.
#include <string.h>

#include <cstdint>

#include "firmware/ports/rt1062/checks.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/ticks.h"

namespace millrace::rt1062 {
namespace {

// 1^2 + ... + n^2 = n (n + 1) (2 n + 1) / 6: 333833500 for 1000.
uint32_t sum_of_squares() {
  const uint32_t n = opaque(1000u);
  uint32_t sum = 0;
  for (uint32_t i = 1; i <= n; ++i) sum += i * i;
  return sum;
}

// Euclid with divisions: gcd(F(40), F(39)) = 1 takes the most steps for its size; 64 times.
uint32_t greatest_common_divisors() {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t a = opaque(102334155u), b = opaque(63245986u);
    while (b != 0) {
      const uint32_t rest = a % b;
      a = b;
      b = rest;
    }
    sum += a;
  }
  return sum;
}

// Of all starting points below 1000, 871 takes the most Collatz steps: 178 (OEIS A006877, A006878).
uint32_t longest_collatz() {
  uint32_t best = 0, best_steps = 0;
  const uint32_t limit = opaque(1000u);
  for (uint32_t start = 1; start < limit; ++start) {
    uint32_t steps = 0;
    for (uint32_t n = start; n != 1; ++steps) n = (n & 1) != 0 ? 3 * n + 1 : n / 2;
    if (steps > best_steps) {
      best = start;
      best_steps = steps;
    }
  }
  return best << 16 | best_steps;
}

// 168 primes below 1000.
uint32_t count_primes() {
  static uint8_t composite[1000];
  memset(composite, 0, sizeof(composite));
  uint32_t count = 0;
  for (uint32_t i = 2; i < 1000; ++i) {
    if (composite[i] != 0) continue;
    ++count;
    for (uint32_t j = i * i; j < 1000; j += i) composite[j] = 1;
  }
  return count;
}

// The check value of CRC-32/ISO-HDLC over "123456789": cbf43926.
uint32_t crc32_check() {
  const char* text = opaque("123456789");
  uint32_t crc = 0xffffffff;
  for (; *text != '\0'; ++text) {
    crc ^= static_cast<uint8_t>(*text);
    for (unsigned bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320 & (0u - (crc & 1)));
  }
  return ~crc;
}

// Adler-32 (RFC 1950) of n zero bytes: a stays 1, b counts n: n << 16 | 1.
uint32_t adler32_of_zeros() {
  static uint8_t zeros[1024];
  const uint8_t* data = opaque(&zeros[0]);
  uint32_t a = 1, b = 0;
  for (uint32_t i = 0; i < sizeof(zeros); ++i) {
    a = (a + data[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

// Sum of i * (i & 7), i < 256, in single precision: every partial sum is an integer below 2^24.
// 32 groups of 8 (base 8 k): sum of (8 k + j) j = 224 k + 140; 224 * 496 + 140 * 32 = 115584.
uint32_t dot_product_float() {
  static float a[256], b[256];
  for (int i = 0; i < 256; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(i & 7);
  }
  float sum = 0;
  for (int i = 0; i < 256; ++i) sum += a[i] * b[i];
  return static_cast<uint32_t>(sum);
}

// A 16 x 16 matrix times twice the identity is twice the matrix; returns the wrong elements.
uint32_t matrix_product_float() {
  static float a[16][16], b[16][16], c[16][16];
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      a[i][j] = static_cast<float>(16 * i + j);
      b[i][j] = i == j ? 2.0f : 0.0f;
    }
  }
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
  }
  uint32_t wrong = 0;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) wrong += c[i][j] != 2 * a[i][j];
  }
  return wrong;
}

uint32_t low_word(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint32_t>(bits);
}

// Newton's iteration for 1 / sqrt(2) from 0.7 ends within a unit in the last place; 2 x^2 is then
// 1 to 52 bits. Returns the distance from 1 in units of 2^-50.
uint32_t newton_double() {
  double x = 0.7;
  const double two = opaque(2u);
  for (int i = 0; i < 8; ++i) x = x * (1.5 - 0.5 * two * x * x);
  const double error = (two * x * x - 1) * 1125899906842624.0;
  return static_cast<uint32_t>(error < 0 ? -error : error);
}

// 1/2 + 1/4 + ... + 2^-40 = 1 - 2^-40, exact: low word of 0x3feffffffffff000... is
// 0xffffe000 (1 - 2^-40 = (2 - 2^-39) / 2; the mantissa has 39 ones, then 13 zeros).
uint32_t geometric_series_double() {
  double sum = 0, term = 1;
  const int count = opaque(40);
  for (int i = 0; i < count; ++i) {
    term = term / 2;
    sum += term;
  }
  return low_word(sum);
}

// 167 is odd, so i -> 167 i mod 256 is a permutation: sorted, element i is i. Returns the misfits.
uint32_t insertion_sort() {
  static uint8_t values[256];
  for (uint32_t i = 0; i < 256; ++i) values[i] = static_cast<uint8_t>(167 * i);
  for (uint32_t i = 1; i < 256; ++i) {
    const uint8_t value = values[i];
    uint32_t j = i;
    for (; j > 0 && values[j - 1] > value; --j) values[j] = values[j - 1];
    values[j] = value;
  }
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < 256; ++i) wrong += values[i] != i;
  return wrong;
}

void sift_down(uint32_t* values, uint32_t root, uint32_t count) {
  while (2 * root + 1 < count) {
    uint32_t child = 2 * root + 1;
    if (child + 1 < count && values[child] < values[child + 1]) ++child;
    if (values[root] >= values[child]) return;
    const uint32_t swap = values[root];
    values[root] = values[child];
    values[child] = swap;
    root = child;
  }
}

// The same permutation of 1024 words (odd factor 633).
uint32_t heap_sort() {
  static uint32_t values[1024];
  for (uint32_t i = 0; i < 1024; ++i) values[i] = 633 * i % 1024;
  for (uint32_t i = 512; i > 0; --i) sift_down(values, i - 1, 1024);
  for (uint32_t end = 1023; end > 0; --end) {
    const uint32_t swap = values[0];
    values[0] = values[end];
    values[end] = swap;
    sift_down(values, 0, end);
  }
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < 1024; ++i) wrong += values[i] != i;
  return wrong;
}

alignas(32) uint8_t copy_from[4096], copy_to[4096];

// Returns the bytes that differ. The ends are odd on purpose.
uint32_t copy_block() {
  for (uint32_t i = 0; i < sizeof(copy_from); ++i) copy_from[i] = static_cast<uint8_t>(i * 7 + 3);
  memset(copy_to, 0, sizeof(copy_to));
  memcpy(copy_to + 1, copy_from + 3, 4000);
  uint32_t wrong = (copy_to[0] != 0) + (copy_to[4001] != 0);
  for (uint32_t i = 0; i < 4000; ++i) wrong += copy_to[1 + i] != copy_from[3 + i];
  return wrong;
}

uint32_t copy_aligned() {
  memcpy(copy_to, copy_from, opaque(sizeof(copy_from)));
  return copy_to[4095];  // 4095 * 7 + 3 = 28668 = 0x6ffc
}

// "the quick brown fox" has 19 characters; 'q' is the fifth; it sorts before "the quiet".
uint32_t string_functions() {
  const char* text = opaque("the quick brown fox");
  const char* other = opaque("the quiet brown fox");
  uint32_t result = static_cast<uint32_t>(strlen(text)) << 16;
  result |= static_cast<uint32_t>(strchr(text, 'q') - text) << 8;
  result |= (strcmp(text, other) < 0) << 1;
  result |= strncmp(text, other, 7) == 0;
  return result;
}

// A state machine with an unpredictable branch: counts the numbers in the text, 5 of them.
uint32_t parse_numbers() {
  uint32_t numbers = 0;
  enum { outside, in_integer, in_fraction } state = outside;
  for (const char* c = opaque("12 3.5, x7y 0.25;9"); *c != '\0'; ++c) {
    const bool digit = *c >= '0' && *c <= '9';
    switch (state) {
      case outside:
        if (digit) {
          ++numbers;
          state = in_integer;
        }
        break;
      case in_integer:
        if (!digit) state = *c == '.' ? in_fraction : outside;
        break;
      case in_fraction:
        if (!digit) state = outside;
        break;
    }
  }
  return numbers;
}

struct Kernel {
  const char* name;
  uint32_t (*run)();
  uint32_t want;
};

constexpr Kernel kKernels[] = {
    {"sum_of_squares", sum_of_squares, 333833500},
    {"gcd_division", greatest_common_divisors, 64},
    {"collatz", longest_collatz, 871u << 16 | 178},
    {"sieve", count_primes, 168},
    {"crc32", crc32_check, 0xcbf43926},
    {"adler32", adler32_of_zeros, 1024u << 16 | 1},
    {"dot_float", dot_product_float, 115584},
    {"matrix_float", matrix_product_float, 0},
    {"newton_double", newton_double, 0},
    {"series_double", geometric_series_double, 0xffffe000},
    {"insertion_sort", insertion_sort, 0},
    {"heap_sort", heap_sort, 0},
    {"memcpy_unaligned", copy_block, 0},
    {"memcpy_aligned", copy_aligned, 0xfc},
    {"strings", string_functions, 19u << 16 | 4u << 8 | 3},
    {"parse_numbers", parse_numbers, 5},
};

}  // namespace

void run_program() {
  Checks checks;
  for (const Kernel& kernel : kKernels) {
    kernel.run();
    disable_interrupts();
    const uint32_t start = cycles();
    const uint32_t got = kernel.run();
    const uint32_t spent = cycles() - start;
    enable_interrupts();
    print_decimal(spent, 9);
    print(" cycles ");
    checks.equal(kernel.name, got, kernel.want);
  }
  checks.print_summary("kernels");
}

}  // namespace millrace::rt1062
