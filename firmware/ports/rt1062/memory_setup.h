// SPDX-License-Identifier: Apache-2.0
// Memory protection unit and caches.
#pragma once

#include <cstdint>

namespace millrace::rt1062 {

// Sets up the MPU regions of memory_setup.cc and turns both caches on. Call once, early.
void set_up_memory();

// May be called in any state. An invalidated I-cache turns on; a D-cache turns on invalidated, and
// is cleaned and invalidated when it is turned off. Call with interrupts off.
void enable_icache(bool on);
void enable_dcache(bool on);

// Cleans and invalidates the whole D-cache.
void clean_dcache();

// Access to the ITCM as data: normally read-only.
void make_itcm_writable(bool on);

}  // namespace millrace::rt1062
