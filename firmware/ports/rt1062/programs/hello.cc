// SPDX-License-Identifier: Apache-2.0
// The smallest program: says hello, and counts ten SysTick milliseconds.
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/ticks.h"

namespace millrace::rt1062 {

void run_program() {
  print("Millrace on i.MX RT1062\n");
  uint32_t last = milliseconds();
  for (unsigned i = 0; i < 10; ++i) {
    while (milliseconds() == last) wait_for_interrupt();
    last = milliseconds();
    print("tick ");
    print_decimal(last);
    print_char('\n');
  }
}

}  // namespace millrace::rt1062
