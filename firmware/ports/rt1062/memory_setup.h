// SPDX-License-Identifier: Apache-2.0
// Memory protection unit and caches.
#pragma once

#include <cstdint>

namespace millrace::rt1062 {

// Sets up the MPU regions of memory_setup.cc and turns both caches on. Call once, early.
void set_up_memory();

// Cleans and invalidates before it turns off; invalidates before it turns on. Both may be called in
// any state. The D-cache must not be switched from code that holds unsaved stack data in registers
// of an interrupted context: call with interrupts off.
void enable_icache(bool on);
void enable_dcache(bool on);

// Cleans and invalidates the whole D-cache.
void clean_dcache();

// Access to the ITCM as data: normally read-only.
void make_itcm_writable(bool on);

}  // namespace millrace::rt1062
