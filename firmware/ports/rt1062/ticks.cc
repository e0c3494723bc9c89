// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/ticks.h"

#include "firmware/ports/rt1062/clocks.h"

namespace millrace::rt1062 {
namespace {
volatile uint32_t tick_count;
}

uint32_t milliseconds() { return tick_count; }

void set_up_ticks() {
  DEMCR.set_bits(DEMCR_TRCENA);
  DWT_CYCCNT.write(0);
  DWT_CTRL.set_bits(DWT_CTRL_CYCCNTENA);
  // The manual calls the external clock 24 MHz; the chip divides it by 240.
  SYST_RVR.write(kSysTickExternalHz / 1000 - 1);
  SYST_CVR.write(0);
  SYST_CSR.write(SYST_CSR_TICKINT | SYST_CSR_ENABLE);
}

}  // namespace millrace::rt1062

// Weak: a program may have its own.
extern "C" [[gnu::weak]] void systick_handler() {
  millrace::rt1062::tick_count = millrace::rt1062::tick_count + 1;
}
