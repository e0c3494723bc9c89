// SPDX-License-Identifier: Apache-2.0
// Clock tree: core 600 MHz, IPG bus 150 MHz, PIT and LPUART 24 MHz.
#pragma once

#include <cstdint>

namespace millrace::rt1062 {

constexpr uint32_t kCoreHz = 600'000'000;
constexpr uint32_t kIpgHz = 150'000'000;
constexpr uint32_t kOscillatorHz = 24'000'000;  // PIT (PERCLK) and LPUARTs run from it
constexpr uint32_t kSysTickExternalHz = 100'000;

// From whatever the boot ROM left. Takes the time that a PLL and the regulator need to settle.
void set_up_clocks();

}  // namespace millrace::rt1062
