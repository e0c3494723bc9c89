// SPDX-License-Identifier: Apache-2.0
// Time: milliseconds from SysTick, core cycles from the DWT.
#pragma once

#include <cstdint>

#include "firmware/ports/rt1062/rt1062_registers.h"

namespace millrace::rt1062 {

// SysTick at 1 kHz from the external 100 kHz clock, and the cycle counter.
void set_up_ticks();

// Since set_up_ticks(); wraps after 49 days.
uint32_t milliseconds();

// Core cycles; wraps after 7.2 s at 600 MHz.
inline uint32_t cycles() { return DWT_CYCCNT.read(); }

}  // namespace millrace::rt1062
