// SPDX-License-Identifier: Apache-2.0
// The vector table, fixed at link time: a handler is a function of the right name, and what nobody
// defines goes to the fault handler. The linker script puts the table where the data is, except in
// the variant that runs from flash alone: there it stays in flash, and its fetch is part of what
// latency_interrupt measures.
#include <cstdint>

#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/rt1062_registers.h"

extern "C" {

// Hands the stack of the interrupted code to report_fault() (fault.cc), on a fresh stack: the main
// one from its top, or, where the frame stands within 1 KB of that, from below the frame, which
// would be overwritten before it is read.
[[gnu::naked]] void fault_handler() {
  __asm__ volatile(
      "cpsid i\n\t"
      "tst lr, #4\n\t"
      "ite eq\n\t"
      "mrseq r0, msp\n\t"
      "mrsne r0, psp\n\t"
      "mov r1, lr\n\t"
      "ldr r2, =image_stack_top\n\t"
      "sub r3, r2, r0\n\t"
      "cmp r3, #1024\n\t"
      "it ls\n\t"
      "movls r2, r0\n\t"
      "msr msp, r2\n\t"
      "ldr r2, =report_fault\n\t"
      "bx r2\n\t"
      ".ltorg");
}

[[gnu::weak, gnu::nothrow, gnu::alias("fault_handler")]] void memmanage_handler();
[[gnu::weak, gnu::nothrow, gnu::alias("fault_handler")]] void usagefault_handler();
[[gnu::weak, gnu::nothrow, gnu::alias("fault_handler")]] void pendsv_handler();
[[gnu::weak, gnu::nothrow, gnu::alias("fault_handler")]] void svcall_handler();
[[gnu::weak, gnu::nothrow, gnu::alias("fault_handler")]] void software_handler();
[[gnu::weak, gnu::nothrow, gnu::alias("fault_handler")]] void pit_handler();
[[gnu::weak, gnu::nothrow, gnu::alias("fault_handler")]] void usb1_handler();
void systick_handler();  // ticks.cc

}  // extern "C"

namespace millrace::rt1062 {
namespace {

using Handler = void (*)();

struct VectorTable {
  const uint32_t* stack_top = &image_stack_top;
  Handler exceptions[15];
  Handler interrupts[kIrqLines];

  constexpr VectorTable() : exceptions(), interrupts() {
    for (Handler& handler : exceptions) handler = fault_handler;
    for (Handler& handler : interrupts) handler = fault_handler;
    exceptions[0] = reset_handler;
    exceptions[3] = memmanage_handler;
    exceptions[5] = usagefault_handler;
    exceptions[10] = svcall_handler;
    exceptions[13] = pendsv_handler;
    exceptions[14] = systick_handler;
    interrupts[kIrqSoftware] = software_handler;
    interrupts[kIrqUsb1] = usb1_handler;
    interrupts[kIrqPit] = pit_handler;
  }
};
static_assert(sizeof(VectorTable) == 4 * 176);

// 176 words: the next power of two is 1024 bytes, the alignment that VTOR needs (v7-M B3.2.5).
[[gnu::section(".vectors"), gnu::used]] alignas(1024) constinit const VectorTable vector_table;

}  // namespace
}  // namespace millrace::rt1062
