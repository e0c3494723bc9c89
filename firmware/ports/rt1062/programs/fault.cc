// SPDX-License-Identifier: Apache-2.0
// Stores through a null pointer, with known registers: shows what fault.cc reports.
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"

namespace millrace::rt1062 {

void run_program() {
  print("storing to address 8\n");
  flush_console();
  __asm__ volatile(
      "ldr r0, =0x11111111\n\t"
      "ldr r1, =0x22222222\n\t"
      "ldr r2, =0x33333333\n\t"
      "movs r3, #8\n\t"
      "ldr r12, =0x55555555\n\t"
      ".global fault_provoked\n"
      "fault_provoked:\n\t"
      "str r0, [r3]" ::
          : "r0", "r1", "r2", "r3", "r12", "memory");
}

}  // namespace millrace::rt1062
