// SPDX-License-Identifier: Apache-2.0
// Exceptions and the system control space 0xE0000000..0xE00FFFFF: NVIC, SCB, SysTick, MPU, FPU
// control, DWT, ITM, DEMCR. Armv7-M Architecture Reference Manual (DDI 0403E) B1.5, B3.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/event_queue.h"
#include "cpu/state.h"
#include "memory/memory_system.h"

namespace millrace::board {

// Synchronous causes, each with its status register bit (B3.2.15).
enum class FaultCause : uint8_t {
  undefined_instruction,  // UFSR.UNDEFINSTR
  invalid_state,          // UFSR.INVSTATE: Thumb bit clear
  invalid_pc,             // UFSR.INVPC: bad EXC_RETURN
  no_coprocessor,         // UFSR.NOCP
  unaligned,              // UFSR.UNALIGNED
  divide_by_zero,         // UFSR.DIVBYZERO
  bus_instruction,        // BFSR.IBUSERR
  bus_data,               // BFSR.PRECISERR, BFAR
  mpu_instruction,        // MMFSR.IACCVIOL
  mpu_data,               // MMFSR.DACCVIOL, MMFAR
  breakpoint,             // BKPT without a debugger: HardFault, HFSR.DEBUGEVT
};

class SystemControl : public Device, public AttributeSource {
 public:
  // Set whenever there may be an exception to take, a reset request or a wake-up: the core looks
  // at it at block boundaries and calls enter_pending() if it is true.
  virtual bool attention() const = 0;
  // Takes the highest pending exception if its priority allows: stacks (memory may fault), updates
  // `state` (r[15] becomes the handler), returns the cycles it took; 0 if none was taken.
  virtual uint32_t enter_pending(CpuState& state) = 0;
  // Branch to an EXC_RETURN value: unstacks, or tail-chains. Returns cycles.
  virtual uint32_t exception_return(CpuState& state, uint32_t exc_return) = 0;
  // SVC: pends SVCall, taken by the next enter_pending(). state.r[15]: the return address.
  virtual void supervisor_call(CpuState& state) = 0;
  // A fault of the instruction at `pc`; state.r[15] = pc already. Escalates as B1.5.15 says.
  // Taken by the next enter_pending(), or lock-up.
  virtual void fault(CpuState& state, FaultCause cause, uint32_t address) = 0;
  virtual bool locked_up() const = 0;
  virtual bool reset_requested() const = 0;
  // First FP instruction after exception entry with lazy stacking pending: stacks s0-s15, FPSCR.
  // Also the access check (CPACR). False: NOCP fault was raised.
  virtual bool prepare_fp(CpuState& state) = 0;
  virtual bool fp_lazy_pending() const = 0;
  // MSR/MRS/CPS of special registers (B5.2.2); applies privilege and stack switching.
  virtual uint32_t read_special(const CpuState& state, unsigned sysm) = 0;
  virtual void write_special(CpuState& state, unsigned sysm, uint32_t value, unsigned mask) = 0;
  virtual void change_masks(CpuState& state) = 0;  // PRIMASK/FAULTMASK changed by CPS

  // WFI/WFE: true while the core sleeps; wakes by pending interrupts as B1.5.18, B1.5.19.
  virtual bool should_wake(const CpuState& state) const = 0;
  virtual void send_event() = 0;  // SEV
  virtual bool take_event() = 0;  // WFE: clears the event register
  virtual void set_interrupt(unsigned irq, bool level) = 0;
  virtual void watch_data(uint32_t address, unsigned size, bool is_write, uint32_t pc) = 0;  // DWT
  virtual bool watches_data() const = 0;

  // Configuration the core obeys: CCR.UNALIGN_TRP, CCR.DIV_0_TRP.
  virtual bool trap_unaligned() const = 0;
  virtual bool trap_divide_by_zero() const = 0;
};

}  // namespace millrace::board
