// SPDX-License-Identifier: Apache-2.0
// SystemControl of the Cortex-M7 r1p1 in the i.MX RT1062.
//
// The units with a life of their own are members (NVIC, SysTick, MPU, DWT, ITM); this class has
// what joins them: the register map (system_control.cc, scb.cc), stacking and exception return
// (exception_entry.cc, exception_return.cc), faults and escalation (faults.cc), the lazily stacked
// floating-point context (fp_context.cc) and special registers (special_registers.cc).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/timing.h"
#include "cpu/dwt.h"
#include "cpu/itm.h"
#include "cpu/mpu.h"
#include "cpu/nvic.h"
#include "cpu/system_control.h"
#include "cpu/systick.h"

namespace millrace::board {

// The synchronous exceptions so far and the last of them, for reports.
struct FaultRecord {
  uint64_t count = 0;
  uint64_t repeated = 0;  // times in a row that the same instruction faulted in the same way
  FaultCause cause = FaultCause::undefined_instruction;
  uint32_t address = 0;          // of the access, where there is one
  std::array<uint32_t, 16> r{};  // r[15]: of the instruction
  uint32_t xpsr = 0;
};

class SystemControlM7 final : public SystemControl {
 public:
  // The references must outlive the object. Attach it to `memory` at 0xE0000000, 1 MB, and as its
  // attribute source.
  SystemControlM7(EventQueue& events, MemorySystem& memory, const Timing& timing);

  // Core clock, for the external SysTick clock.
  void set_core_hz(uint64_t hz) { systick_.set_core_hz(hz, events_.now()); }
  void set_itm_output(Itm::Output output) { itm_.set_output(std::move(output)); }
  // Profiling counters that only the core can feed.
  void count(Dwt::Counter counter, uint32_t cycles) { dwt_.count(counter, cycles); }
  // For reports: the status registers as the firmware would read them.
  uint32_t cfsr() const { return cfsr_; }
  uint32_t hfsr() const { return hfsr_; }
  uint32_t mmfar() const { return mmfar_; }
  uint32_t bfar() const { return bfar_; }
  uint32_t vtor() const { return vtor_; }
  // Every exception taken (`taken`) and returned from, with its number.
  void set_exception_listener(std::function<void(unsigned exception, bool taken)> listener) {
    on_exception_ = std::move(listener);
  }
  const FaultRecord& faults() const { return faults_; }
  uint64_t exceptions() const { return exceptions_; }  // taken
  // The boot ROM's and the debugger's way to the registers: as a privileged word access.
  uint32_t read_register(uint32_t address) { return read(address - kBase, 4, events_.now()); }
  void write_register(uint32_t address, uint32_t value) {
    write(address - kBase, 4, value, events_.now());
  }

  // All of it but the ITM output. When restoring, `memory` restores its own caches and attributes.
  void snapshot(Snapshot& s);

  // Device.
  std::string_view name() const override { return "SCS"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

  // AttributeSource.
  MemoryAttributes attributes(uint32_t address, bool privileged) const override;
  bool uniform_page(uint32_t page_address, bool privileged, MemoryAttributes* out) const override;

  // SystemControl.
  bool attention() const override { return nvic_.attention(); }
  uint32_t enter_pending(CpuState& state) override;
  uint32_t exception_return(CpuState& state, uint32_t exc_return) override;
  void supervisor_call(CpuState& state) override;
  void fault(CpuState& state, FaultCause cause, uint32_t address) override;
  bool locked_up() const override { return locked_up_; }
  bool reset_requested() const override { return reset_requested_; }
  bool prepare_fp(CpuState& state) override;
  bool fp_lazy_pending() const override { return fp_check_; }
  uint32_t read_special(const CpuState& state, unsigned sysm) override;
  void write_special(CpuState& state, unsigned sysm, uint32_t value, unsigned mask) override;
  void change_masks(CpuState& state) override;
  bool should_wake(const CpuState& state) const override;
  void sleep_begins(Cycles now) override;
  void sleep_ends(Cycles now) override;
  // True: the core clock, and with it SysTick and the cycle counter, stand while the core sleeps.
  // Takes effect with the next sleep.
  void set_wait_mode(bool on) { wait_mode_ = on; }
  // The core sleeps so, and SysTick would otherwise wake it.
  bool systick_stands() const { return clock_stands_ && systick_.interrupts(); }
  void send_event() override { event_ = true; }
  bool take_event() override;
  bool take_sleep_on_exit() override;
  void set_interrupt(unsigned irq, bool level) override;
  void watch_data(uint32_t address, unsigned size, bool is_write, uint32_t pc) override;
  bool watches_data() const override { return dwt_.watches_data(); }
  bool counter_range(uint32_t address, Cycles from, Cycles to, ValueRange* range) const override;
  bool trap_unaligned() const override;
  bool trap_divide_by_zero() const override;

 private:
  static constexpr uint32_t kBase = 0xE0000000;

  // Time of a sequence of memory accesses: what they stalled, and whether one failed.
  struct Transfer {
    bool privileged = true;
    Cycles start = 0;
    uint32_t count = 0;
    uint32_t stall = 0;
    AccessFault fault = AccessFault::none;
    uint32_t address = 0;  // of the fault
  };
  uint32_t load(Transfer* transfer, uint32_t address);
  void store(Transfer* transfer, uint32_t address, uint32_t value);

  // system_control.cc
  uint32_t read_word(uint32_t offset, Cycles now);
  void write_word(uint32_t offset, uint32_t value, uint32_t lanes, Cycles now);
  void owe(uint32_t stall);
  // scb.cc: `offset` from 0xE000E000
  uint32_t read_scb(uint32_t offset) const;
  void write_scb(uint32_t offset, uint32_t value, uint32_t lanes, Cycles now);
  uint32_t read_icsr() const;
  void write_icsr(uint32_t value);
  uint32_t read_shcsr() const;
  void write_shcsr(uint32_t value);
  void write_aircr(uint32_t value);
  void write_ccr(uint32_t value);
  void write_demcr(uint32_t value, Cycles now);
  uint32_t read_handler_priorities(uint32_t offset) const;
  void write_handler_priorities(uint32_t offset, uint32_t value, uint32_t lanes);
  void cache_maintenance(uint32_t offset, uint32_t value, Cycles now);

  // faults.cc
  int execution_priority(const CpuState& state) const;
  int boosted_priority(uint32_t primask, uint32_t faultmask, uint32_t basepri) const;
  // Pends a synchronous exception, escalated if it cannot be taken at `current`; or locks up.
  void pend_synchronous(unsigned exception, int current);
  void lock_up();
  void record(const CpuState& state, FaultCause cause, uint32_t address);
  // A fault on the way to or from a handler: recorded unless it follows from one that still pends.
  void record_derived(const CpuState& state, FaultCause cause, uint32_t address);
  void transfer_fault(const CpuState& state, const Transfer& transfer, FaultCause cause,
                      int current);
  void skip_instruction(CpuState& state);
  bool takeable(const Nvic::Candidate& candidate, const CpuState& state) const;
  // After any change of masks or active exceptions.
  void priority_changed(const CpuState& state);

  // exception_entry.cc
  uint32_t push_frame(CpuState& state, Transfer* transfer);  // returns EXC_RETURN
  void run_events_until(Cycles end);
  // Fetches the vector of the highest pending exception and starts its handler. Adds stalls.
  void take_highest(CpuState& state, uint32_t exc_return, uint32_t* stall);
  bool fetch_vector(unsigned exception, uint32_t* vector, uint32_t* stall);

  // exception_return.cc
  bool valid_return(uint32_t exc_return, unsigned returning) const;
  bool pop_frame(CpuState& state, uint32_t exc_return, Transfer* transfer);

  // fp_context.cc
  bool fp_allowed(bool privileged) const;
  void defer_fp(const CpuState& state, uint32_t frame);
  void store_fp(const CpuState& state, uint32_t address, Transfer* transfer);
  bool preserve_fp(CpuState& state);
  void update_fp_check();

  EventQueue& events_;
  MemorySystem& memory_;
  const Timing& timing_;

  Nvic nvic_;
  bool wait_mode_ = false;
  bool clock_stands_ = false;
  SysTick systick_;
  Mpu mpu_;
  Dwt dwt_;
  Itm itm_;

  uint32_t vtor_ = 0;
  uint32_t scr_ = 0;
  uint32_t ccr_ = 0;
  uint32_t cfsr_ = 0;
  uint32_t hfsr_ = 0;
  uint32_t dfsr_ = 0;
  uint32_t mmfar_ = 0;
  uint32_t bfar_ = 0;
  uint32_t cpacr_ = 0;
  uint32_t csselr_ = 0;
  uint32_t demcr_ = 0;
  uint32_t actlr_ = 0;
  uint32_t fpccr_ = 0;
  uint32_t fpcar_ = 0;
  uint32_t fpdscr_ = 0;
  std::array<uint32_t, 7> m7_control_{};  // ITCMCR..ABFSR, 0xE000EF90..A8

  // Copies of what CpuState holds, for registers that are read through the bus.
  uint32_t current_exception_ = 0;
  uint32_t faultmask_ = 0;
  uint32_t basepri_ = 0;

  uint32_t owed_stall_ = 0;   // of cache maintenance, collected by enter_pending()
  bool thumb_clear_ = false;  // EPSR.T of the frame that is pushed next is 0
  bool fp_check_ = false;     // prepare_fp() is due although CONTROL.FPCA is set
  bool event_ = false;        // the event register of WFE
  bool sleep_on_exit_ = false;
  bool locked_up_ = false;
  bool reset_requested_ = false;
  FaultRecord faults_;
  bool fault_pends_ = false;  // the recorded fault has no handler yet
  uint64_t exceptions_ = 0;
  std::function<void(unsigned, bool)> on_exception_;
};

}  // namespace millrace::board
