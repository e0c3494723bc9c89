// SPDX-License-Identifier: Apache-2.0
// From the boot ROM's jump to run_program(). Everything here is linked into flash in every
// variant: it runs before there is anything else.
//
// The ROM leaves the core at 396 MHz (or 528), interrupts of its own behind it, its stack in a
// memory that is about to be moved. So: FlexRAM banks first, with no stack, then the stack, then
// the copies. The compiler must not turn the copy loops into calls of memcpy(), which may not have
// been copied yet: CMakeLists.txt sets -fno-tree-loop-distribute-patterns for this file.
#include <cstdint>

#include "firmware/ports/rt1062/clocks.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/memory_setup.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/ticks.h"

namespace millrace::rt1062 {
namespace {

[[gnu::section(".boot"), gnu::noinline]] void copy_words(uint32_t* to, const uint32_t* end,
                                                         const uint32_t* from) {
  while (to < end) *to++ = *from++;
}

[[gnu::section(".boot"), gnu::noinline]] void clear_words(uint32_t* to, const uint32_t* end) {
  while (to < end) *to++ = 0;
}

}  // namespace
}  // namespace millrace::rt1062

extern "C" {

using namespace millrace::rt1062;

[[gnu::section(".boot"), gnu::used, noreturn]] void boot_with_stack() {
  // v7-M B2.2.7: the cache is invalidated, then enabled, before the loops below fetch from flash.
  SCB_ICIALLU.write(0);
  data_barrier();
  instruction_barrier();
  SCB_CCR.set_bits(SCB_CCR_IC);
  data_barrier();
  instruction_barrier();

  copy_words(&image_fast_start, &image_fast_end, &image_fast_load);
  copy_words(&image_fast_data_start, &image_fast_data_end, &image_fast_data_load);
  clear_words(&image_fast_zeroed_start, &image_fast_zeroed_end);
  copy_words(&image_data_start, &image_data_end, &image_data_load);
  clear_words(&image_bss_start, &image_bss_end);
  SCB_CPACR.set_bits(0xfu << 20);  // CP10 and CP11: the FPU
  data_barrier();
  instruction_barrier();

  SYST_CSR.write(0);
  for (uint32_t i = 0; i < kIrqLines / 32; ++i) {
    NVIC_ICER0.at(i).write(0xffffffff);
    NVIC_ICPR0.at(i).write(0xffffffff);
  }
  SCB_VTOR.write(reinterpret_cast<uint32_t>(image_vectors));
  SCB_SHCSR.set_bits(SCB_SHCSR_USGFAULTENA | SCB_SHCSR_BUSFAULTENA | SCB_SHCSR_MEMFAULTENA);
  data_barrier();

  set_up_memory();
  set_up_clocks();
  set_up_console();
  set_up_ticks();
  enable_interrupts();
  run_program();
  print("done\n");
  flush_console();
  SYST_CSR.write(0);  // nothing shall wake the core any more
  while (true) wait_for_interrupt();
}

// IOMUXC_GPR_GPR16 = 0x00200007: banks as in GPR17, both TCMs on, VTOR after a reset in the ROM.
// GPR14: both TCMs may be 512 KB large (code 10); what a bank does not back is not there.
[[gnu::section(".boot"), gnu::naked]] void reset_handler() {
  __asm__ volatile(
      "cpsid i\n\t"
      "ldr r0, =%c[gpr17]\n\t"
      "ldr r1, =image_flexram_banks\n\t"
      "str r1, [r0]\n\t"
      "ldr r0, =%c[gpr16]\n\t"
      "ldr r1, =0x00200007\n\t"
      "str r1, [r0]\n\t"
      "ldr r0, =%c[gpr14]\n\t"
      "ldr r1, =0x00aa0000\n\t"
      "str r1, [r0]\n\t"
      "dsb\n\t"
      "isb\n\t"
      "ldr r0, =image_stack_top\n\t"
      "msr msp, r0\n\t"
      "isb\n\t"
      "b boot_with_stack\n\t"
      ".ltorg" ::[gpr17] "i"(kIomuxcGprGpr17),
      [gpr16] "i"(kIomuxcGprGpr16), [gpr14] "i"(kIomuxcGprGpr14));
}

}  // extern "C"
