// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/programs/selftest/handlers.h"

#include "firmware/ports/rt1062/rt1062_registers.h"

namespace millrace::rt1062 {
namespace {

volatile uint32_t trace;

void trace_digit(uint32_t digit) { trace = trace << 4 | digit; }

}  // namespace

volatile bool software_pends_pendsv;
volatile bool software_uses_fpu;
volatile uint32_t software_exc_return;
volatile uint32_t supervisor_argument;
volatile uint32_t fault_status, fault_address;

void trace_clear() { trace = 0; }
uint32_t trace_value() { return trace; }

void clear_faults() {
  fault_status = 0;
  fault_address = 0;
}

[[gnu::noinline]] void probe_read(uint32_t address) {
  __asm__ volatile("ldr r3, [%0]" ::"r"(address) : "r3", "memory");
}

[[gnu::noinline]] void probe_write(uint32_t address) {
  __asm__ volatile("str %0, [%0]" ::"r"(address) : "memory");
}

[[gnu::noinline]] void probe_call(uint32_t address) {
  __asm__ volatile("blx %0" ::"r"(address) : "r0", "r1", "r2", "r3", "r12", "lr", "memory");
}

}  // namespace millrace::rt1062

extern "C" {

using namespace millrace::rt1062;

void software_handler() {
  software_exc_return = reinterpret_cast<uint32_t>(__builtin_return_address(0));
  if (software_pends_pendsv) {
    SCB_ICSR.write(SCB_ICSR_PENDSVSET);
    data_barrier();
    instruction_barrier();
  }
  if (software_uses_fpu) {
    __asm__ volatile("vmov.f32 s3, #7.0\n\tvmov.f32 s15, #7.0" ::: "s3", "s15");
  }
  trace_digit(2);
}

void pendsv_handler() { trace_digit(1); }

// `frame`: r0-r3, r12, lr, pc, xpsr (v7-M B1.5.6).
[[gnu::used]] void record_supervisor_call(const uint32_t* frame) { supervisor_argument = frame[0]; }

[[gnu::used]] void skip_fault(uint32_t* frame) {
  constexpr uint32_t kInstructionAccess = 1u << 0;
  const uint32_t status = SCB_CFSR.read();
  fault_status = status;
  fault_address = SCB_MMFAR.read();
  SCB_CFSR.write(status);  // bits clear by writing 1
  if ((status & kInstructionAccess) != 0) {
    frame[6] = frame[5] & ~1u;
    return;
  }
  // Of a 32-bit instruction the first halfword is 0xe800 or more (v7-M A5.1).
  const bool wide = *reinterpret_cast<const volatile uint16_t*>(frame[6]) >= 0xe800;
  frame[6] += wide ? 4 : 2;
}

[[gnu::naked]] void svcall_handler() { __asm__ volatile("mov r0, sp\n\tb record_supervisor_call"); }
[[gnu::naked]] void memmanage_handler() { __asm__ volatile("mov r0, sp\n\tb skip_fault"); }
[[gnu::naked]] void usagefault_handler() { __asm__ volatile("mov r0, sp\n\tb skip_fault"); }

}  // extern "C"
