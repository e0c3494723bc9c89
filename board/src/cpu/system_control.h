// SPDX-License-Identifier: Apache-2.0
// Exceptions and the system control space 0xE0000000..0xE00FFFFF: NVIC, SCB, SysTick, MPU, FPU
// control, DWT, ITM, DEMCR. Armv7-M Architecture Reference Manual (DDI 0403E) B1.5, B3.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/event_queue.h"
#include "cpu/state.h"
#include "cpu/value_range.h"
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
  // Not of an instruction's execution; the system control finds these itself.
  supervisor_call,  // SVC that SVCall cannot serve now: HardFault
  stacking,         // MSTKERR, STKERR
  unstacking,       // MUNSTKERR, UNSTKERR
  lazy_stacking,    // MLSPERR, LSPERR
  vector_read,      // HFSR.VECTTBL
};

class SystemControl : public Device, public AttributeSource {
 public:
  // Set whenever there may be an exception to take, a reset request or a wake-up: the core looks
  // at it at block boundaries and calls enter_pending() if it is true.
  virtual bool attention() const = 0;
  // Takes the highest pending exception if its priority allows: stacks (memory may fault), updates
  // `state` (r[15] becomes the handler; unchanged if none was taken). Returns the cycles to add:
  // those it took, and stalls owed since the last call (cache maintenance registers, lazy FP
  // stacking). An event that is due during the stacking runs (late arrival): EventQueue::now() may
  // have moved by up to the returned cycles. No exception is taken while reset_requested().
  virtual uint32_t enter_pending(CpuState& state) = 0;
  // Branch to an EXC_RETURN value in handler mode: unstacks, or tail-chains. Returns cycles.
  virtual uint32_t exception_return(CpuState& state, uint32_t exc_return) = 0;
  // SVC: pends SVCall, taken by the next enter_pending(). state.r[15]: the return address.
  virtual void supervisor_call(CpuState& state) = 0;
  // A fault of the instruction at `pc`; state.r[15] = pc already. Escalates as B1.5.15 says.
  // Taken by the next enter_pending(), or lock-up. A refused access to the private peripheral bus
  // may be reported as mpu_data; it becomes the BusFault that it is.
  virtual void fault(CpuState& state, FaultCause cause, uint32_t address) = 0;
  virtual bool locked_up() const = 0;
  virtual bool reset_requested() const = 0;
  // ExecuteFPCheck (B1.5.7), before an FP instruction while CONTROL.FPCA is 0 or fp_lazy_pending():
  // the access check (CPACR), the deferred stacking of s0-s15 and FPSCR, FPCA and FPSCR's defaults.
  // False: a fault was raised, the instruction does not execute. REQUIRES: state.r[15] is its
  // address.
  virtual bool prepare_fp(CpuState& state) = 0;
  // Lazy stacking is pending, or CPACR does not give everyone access.
  virtual bool fp_lazy_pending() const = 0;
  // MSR/MRS/CPS of special registers (B5.2.2); applies privilege and stack switching.
  virtual uint32_t read_special(const CpuState& state, unsigned sysm) = 0;
  virtual void write_special(CpuState& state, unsigned sysm, uint32_t value, unsigned mask) = 0;
  // CPS has changed PRIMASK/FAULTMASK in `state`; takes a FAULTMASK back that may not be set.
  virtual void change_masks(CpuState& state) = 0;

  // Ends WFI: a pending exception that would be taken if PRIMASK were 0 (B1.5.19). Ends WFE too,
  // as does take_event() (B1.5.18), which a sleeping WFE asks besides.
  virtual bool should_wake(const CpuState& state) const = 0;
  // The last exception_return() sleeps at once, as if WFI followed (SCR.SLEEPONEXIT); clears.
  virtual bool take_sleep_on_exit() { return false; }
  // The core begins to sleep, or is about to go on, where its clock may stand meanwhile (WAIT
  // mode).
  virtual void sleep_begins(Cycles now) { static_cast<void>(now); }
  virtual void sleep_ends(Cycles now) { static_cast<void>(now); }
  virtual void send_event() = 0;  // SEV
  virtual bool take_event() = 0;  // WFE: clears the event register
  virtual void set_interrupt(unsigned irq, bool level) = 0;
  virtual void watch_data(uint32_t address, unsigned size, bool is_write, uint32_t pc) = 0;  // DWT
  virtual bool watches_data() const = 0;

  // All that a 32-bit read of the counter at `address` can give from `from` to `to`, if nothing
  // happens meanwhile. False: no counter, one that wraps until then, or a read has an effect.
  virtual bool counter_range(uint32_t address, Cycles from, Cycles to, ValueRange* range) const {
    static_cast<void>(address);
    static_cast<void>(from);
    static_cast<void>(to);
    static_cast<void>(range);
    return false;
  }

  // Configuration the core obeys: CCR.UNALIGN_TRP, CCR.DIV_0_TRP.
  virtual bool trap_unaligned() const = 0;
  virtual bool trap_divide_by_zero() const = 0;
};

}  // namespace millrace::board
