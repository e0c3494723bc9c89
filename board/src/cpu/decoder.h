// SPDX-License-Identifier: Apache-2.0
// Thumb and Thumb-2 decoding for ARMv7E-M with FPv5.
#pragma once

#include <cstdint>

#include "cpu/insn.h"

namespace millrace::board {

// Size in bytes of the instruction that begins with this halfword (A5.1).
constexpr unsigned instruction_size(uint16_t first) { return first >= 0xE800 ? 4 : 2; }

// Decodes one instruction. `second` counts only for 32-bit encodings. `address`: of the
// instruction, for PC-relative forms. `itstate`: in which it executes; it decides conditions and
// whether 16-bit data processing sets flags.
//
// UNPREDICTABLE encodings are Kind::unpredictable, which faults as UNDEFINED does. Exceptions,
// which execute in the obvious way because compilers or the M7 itself are known to do so:
// should-be-zero and should-be-one bits of MSR and MRS are ignored; STM
// that stores its own base with write-back stores the original value.
Insn decode(uint16_t first, uint16_t second, uint32_t address, uint32_t itstate);

// ITSTATE after the instruction at `itstate` (A7.3.2 ITAdvance); 0 outside an IT block.
constexpr uint32_t advance_itstate(uint32_t itstate) {
  return (itstate & 7) == 0 ? 0 : (itstate & 0xE0) | ((itstate << 1) & 0x1F);
}

}  // namespace millrace::board
