// SPDX-License-Identifier: Apache-2.0
// Where the linker script (image.ld) puts things. Addresses are those of the symbols, not values.
#pragma once

#include <cstdint>

extern "C" {
extern uint32_t image_fast_start, image_fast_end, image_fast_load;                 // code for ITCM
extern uint32_t image_fast_data_start, image_fast_data_end, image_fast_data_load;  // for DTCM
extern uint32_t image_fast_zeroed_start, image_fast_zeroed_end;
extern uint32_t image_data_start, image_data_end, image_data_load;
extern uint32_t image_bss_start, image_bss_end;
extern uint32_t image_stack_guard, image_stack_top;  // the guard is 32 bytes
extern uint32_t image_flexram_banks;                 // value of IOMUXC_GPR_GPR17
extern uint32_t image_length;                        // bytes in flash from 0x60000000
extern const uint32_t image_build_id_start[], image_build_id_end[];  // the GNU build ID's note
extern const uint32_t image_vectors[];

[[noreturn]] void reset_handler();
}

namespace millrace::rt1062 {

inline uint32_t address_of(const uint32_t& symbol) { return reinterpret_cast<uint32_t>(&symbol); }

// What a program of ours is: called with everything set up and interrupts on. When it returns,
// "done" is printed and the core sleeps.
void run_program();

}  // namespace millrace::rt1062
