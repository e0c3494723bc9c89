// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/checks.h"

#include "firmware/ports/rt1062/console.h"

namespace millrace::rt1062 {

bool Checks::begin_line(const char* name, bool passed) {
  ++(passed ? passed_ : failed_);
  print(passed ? "PASS " : "FAIL ");
  print(name);
  if (!passed) print(": ");
  return passed;
}

void Checks::equal(const char* name, uint32_t got, uint32_t want) {
  if (!begin_line(name, got == want)) {
    print_hex(got);
    print(", not ");
    print_hex(want);
  }
  print_char('\n');
}

void Checks::within(const char* name, uint32_t got, uint32_t low, uint32_t high) {
  if (!begin_line(name, got >= low && got <= high)) {
    print_decimal(got);
    print(", not ");
    print_decimal(low);
    print(" to ");
    print_decimal(high);
  }
  print_char('\n');
}

void Checks::print_summary(const char* program) const {
  print(program);
  print(": ");
  print_decimal(passed_);
  print(" passed, ");
  print_decimal(failed_);
  print(" failed\n");
}

}  // namespace millrace::rt1062
