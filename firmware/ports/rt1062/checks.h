// SPDX-License-Identifier: Apache-2.0
// Counts and prints what a program checks: one line PASS or FAIL an item, one line of totals.
#pragma once

#include <cstdint>

namespace millrace::rt1062 {

class Checks {
 public:
  // PASS if equal.
  void equal(const char* name, uint32_t got, uint32_t want);
  // PASS if low <= got <= high.
  void within(const char* name, uint32_t got, uint32_t low, uint32_t high);
  // "selftest: 12 passed, 0 failed"
  void print_summary(const char* program) const;

 private:
  bool begin_line(const char* name, bool passed);

  uint32_t passed_ = 0;
  uint32_t failed_ = 0;
};

// Keeps the compiler from knowing what a value is, so that it computes where it would fold.
template <typename T>
inline T opaque(T value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

}  // namespace millrace::rt1062
