// SPDX-License-Identifier: Apache-2.0
// The exception handlers of selftest, and what they tell the thread.
#pragma once

#include <cstdint>

namespace millrace::rt1062 {

// Order of handlers: every handler shifts its digit in, software 2 and PendSV 1, when it does its
// work; 0x12 is PendSV, then software.
void trace_clear();
uint32_t trace_value();

extern volatile bool software_pends_pendsv;  // before it traces itself
extern volatile bool software_uses_fpu;      // overwrites s3 and s15
extern volatile uint32_t software_exc_return;
extern volatile uint32_t supervisor_argument;  // r0 of the last SVC

// MemManage and UsageFault store CFSR and MMFAR, clear CFSR and skip the instruction; a call to
// where nothing may be executed returns.
extern volatile uint32_t fault_status, fault_address;
void clear_faults();

// One load, one store, one call: each the only access that can fault in it.
void probe_read(uint32_t address);
void probe_write(uint32_t address);
void probe_call(uint32_t address);

}  // namespace millrace::rt1062
