// SPDX-License-Identifier: Apache-2.0
// Core cycles from an interrupt's cause to the first instructions of its handler. Each handler
// reads a counter as the first thing it does; the figures contain those few instructions.
//
//   software  NVIC line 70, set pending by a store. From the cycle count read before the store.
//   PendSV    the same through ICSR.
//   SysTick   on the core clock: from the counter's 0, read off the counter itself.
//   PIT       the same at 24 MHz: a step is 25 core cycles.
//
// Warm: as it comes. Cold: the I-cache is invalidated before each. What lies where is the
// variant's: handlers, vectors and the interrupted code in flash or ITCM, the stack in OCRAM or
// DTCM.
#include <cstdint>

#include "firmware/ports/rt1062/clocks.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/ticks.h"

namespace millrace::rt1062 {
namespace {

volatile uint32_t handler_time;     // what the handler read
volatile uint32_t handler_entries;  // how often one ran

constexpr uint32_t kSamples = 64;
constexpr uint32_t kPitPeriod = 2400;  // 100 us
constexpr uint32_t kSysTickPeriod = 60'000;

}  // namespace
}  // namespace millrace::rt1062

extern "C" {

using namespace millrace::rt1062;

void software_handler() {
  handler_time = DWT_CYCCNT.read();
  handler_entries = handler_entries + 1;
}

void pendsv_handler() {
  handler_time = DWT_CYCCNT.read();
  handler_entries = handler_entries + 1;
}

void systick_handler() {
  handler_time = SYST_CVR.read();
  handler_entries = handler_entries + 1;
}

void pit_handler() {
  handler_time = PIT_CVAL0.read();
  PIT_TFLG0.write(PIT_TFLG_TIF);
  handler_entries = handler_entries + 1;
  // The flag must be down before the exception returns, or it is taken again: read it back.
  PIT_TFLG0.read();
  data_barrier();
}

}  // extern "C"

namespace millrace::rt1062 {
namespace {

class Statistics {
 public:
  void add(uint32_t value) {
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
    sum_ += value;
    ++count_;
  }
  void print_row(const char* name) const {
    print_padded(name, 24);
    print_decimal(min_, 8);
    print_fixed(static_cast<uint32_t>(static_cast<uint64_t>(sum_) * 10 / count_), 1, 10);
    print_decimal(max_, 8);
    print_char('\n');
  }

 private:
  uint32_t min_ = 0xffffffff, max_ = 0, sum_ = 0, count_ = 0;
};

enum class Cache { warm, cold };

void invalidate_icache() {
  data_barrier();
  SCB_ICIALLU.write(0);
  data_barrier();
  instruction_barrier();
}

void measure_pended(const char* name, Register pend, uint32_t bit, Cache cache) {
  Statistics statistics;
  for (uint32_t i = 0; i < kSamples + 1; ++i) {
    if (cache == Cache::cold) invalidate_icache();
    const uint32_t entries = handler_entries;
    data_barrier();
    const uint32_t start = cycles();
    pend.write(bit);
    while (handler_entries == entries) {
    }
    const uint32_t spent = handler_time - start;
    if (i > 0) statistics.add(spent);  // the first has everything cold
  }
  statistics.print_row(name);
}

enum class Wait { busy, asleep };

void await_entry(uint32_t entries, Wait wait) {
  while (handler_entries == entries) {
    if (wait == Wait::asleep) wait_for_interrupt();
  }
}

// `period` in steps of the down counter, which raises the interrupt as it becomes 0 and is reloaded
// with period - 1 a step later; `scale`: core cycles a step.
void measure_counter(const char* name, uint32_t period, uint32_t scale, Cache cache, Wait wait) {
  Statistics statistics;
  for (uint32_t i = 0; i < kSamples + 1; ++i) {
    if (cache == Cache::cold) invalidate_icache();
    await_entry(handler_entries, wait);
    if (i > 0) statistics.add((period - handler_time) % period * scale);
  }
  statistics.print_row(name);
}

void enable_line(uint32_t line) { NVIC_ISER0.at(line / 32).write(1u << line % 32); }
void disable_line(uint32_t line) {
  NVIC_ICER0.at(line / 32).write(1u << line % 32);
  data_barrier();
  instruction_barrier();
}

void measure_systick() {
  SYST_CSR.write(0);
  SYST_RVR.write(kSysTickPeriod - 1);
  SYST_CVR.write(0);
  SYST_CSR.write(SYST_CSR_CLKSOURCE | SYST_CSR_TICKINT | SYST_CSR_ENABLE);
  measure_counter("SysTick warm", kSysTickPeriod, 1, Cache::warm, Wait::busy);
  measure_counter("SysTick cold", kSysTickPeriod, 1, Cache::cold, Wait::busy);
  measure_counter("SysTick from sleep", kSysTickPeriod, 1, Cache::warm, Wait::asleep);
  SYST_CSR.write(0);
}

void measure_pit() {
  constexpr uint32_t kScale = kCoreHz / kOscillatorHz;
  PIT_LDVAL0.write(kPitPeriod - 1);
  PIT_TFLG0.write(PIT_TFLG_TIF);
  enable_line(kIrqPit);
  PIT_TCTRL0.write(PIT_TCTRL_TIE | PIT_TCTRL_TEN);
  measure_counter("PIT warm", kPitPeriod, kScale, Cache::warm, Wait::busy);
  measure_counter("PIT cold", kPitPeriod, kScale, Cache::cold, Wait::busy);
  measure_counter("PIT from sleep", kPitPeriod, kScale, Cache::warm, Wait::asleep);
  PIT_TCTRL0.write(0);
  disable_line(kIrqPit);
}

}  // namespace

void run_program() {
  SYST_CSR.write(0);  // no ticks between the samples
  print("cycles to the handler        min      mean     max\n");
  enable_line(kIrqSoftware);
  const Register software = NVIC_ISPR0.at(kIrqSoftware / 32);
  measure_pended("software warm", software, 1u << kIrqSoftware % 32, Cache::warm);
  measure_pended("software cold", software, 1u << kIrqSoftware % 32, Cache::cold);
  measure_pended("PendSV warm", SCB_ICSR, SCB_ICSR_PENDSVSET, Cache::warm);
  measure_pended("PendSV cold", SCB_ICSR, SCB_ICSR_PENDSVSET, Cache::cold);
  disable_line(kIrqSoftware);
  measure_systick();
  measure_pit();
}

}  // namespace millrace::rt1062
