// SPDX-License-Identifier: Apache-2.0
// What the core does (IntervalTimer.cpp, startup.c, read at 7f107ee) and what follows from it:
//
// - PERCLK, and so the PIT, is the 24 MHz oscillator; its four channels share one interrupt.
//   IntervalTimer takes the lowest free channel, so the last is the sampler's. The vector that
//   stood there is called for the other channels' sake.
// - Vectors are in RAM, code that is not FLASHMEM in ITCM, variables that are not DMAMEM in DTCM:
//   nothing that the handler touches has a cache in front of it. FASTRUN says so once more.
// - Priority 0 is above what the core uses (128 as a rule, SysTick 32, USB 128). noInterrupts() is
//   `cpsid i`, which masks everything: such code is charged to what follows it.
#include "MillraceSampler.h"

#include <Arduino.h>

#ifndef MILLRACE_SAMPLER_ENTRIES
#define MILLRACE_SAMPLER_ENTRIES 16384
#endif

using millrace::firmware::SamplerMemory;

extern "C" {
// For debuggers too (spec/sampler_control.md).
SamplerMemory millrace_sampler;
uint32_t millrace_sampler_buffer[MILLRACE_SAMPLER_ENTRIES];
void (*volatile millrace_other_pit_handler)();

FASTRUN __attribute__((used)) void millrace_sampler_interrupt(const volatile uint32_t* frame) {
  if ((PIT_TFLG3 & 1) != 0) {
    const uint32_t now = ARM_DWT_CYCCNT;
    PIT_TFLG3 = 1;
    PIT_LDVAL3 = millrace::firmware::take_sample(&millrace_sampler, frame, now) - 1;
    // The flag must be down before the exception returns, or it is taken again: read it back.
    static_cast<void>(PIT_TFLG3);
    __asm__ volatile("dsb" ::: "memory");
    millrace_sampler.handler_cycles = millrace_sampler.handler_cycles + (ARM_DWT_CYCCNT - now);
    return;
  }
  if (millrace_other_pit_handler != nullptr) millrace_other_pit_handler();
  __asm__ volatile("dsb" ::: "memory");
}

FASTRUN __attribute__((naked)) void millrace_sampler_vector() {
  __asm__ volatile(
      "tst lr, #4\n\t"
      "ite eq\n\t"
      "mrseq r0, msp\n\t"
      "mrsne r0, psp\n\t"
      "b millrace_sampler_interrupt");
}
}  // extern "C"

class TeensySamplerPort final : public millrace::firmware::SamplerPort {
 public:
  uint32_t cycles() override { return ARM_DWT_CYCCNT; }
  uint32_t core_khz() override { return F_CPU_ACTUAL / 1000; }
  uint32_t timer_khz() override { return 24000; }

  void start_timer(uint32_t first_ticks, uint32_t second_ticks) override {
    PIT_MCR = 1;
    PIT_TCTRL3 = 0;
    PIT_LDVAL3 = first_ticks - 1;
    PIT_TFLG3 = 1;
    void (*const now)() = _VectorsRam[IRQ_PIT + 16];
    if (now != &millrace_sampler_vector) millrace_other_pit_handler = is_timer_on() ? now : nullptr;
    attachInterruptVector(IRQ_PIT, &millrace_sampler_vector);
    NVIC_SET_PRIORITY(IRQ_PIT, 0);
    NVIC_ENABLE_IRQ(IRQ_PIT);
    PIT_TCTRL3 = PIT_TCTRL_TIE | PIT_TCTRL_TEN;
    PIT_LDVAL3 = second_ticks - 1;
  }

  // The interrupt stays as it is: other channels may need it. Called before the first start too:
  // the registers of a device without a clock are not to be touched.
  void stop_timer() override {
    CCM_CCGR1 |= CCM_CCGR1_PIT(CCM_CCGR_ON);
    PIT_TCTRL3 = 0;
    PIT_TFLG3 = 1;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
  }

  uint32_t entropy() override { return (ARM_DWT_CYCCNT ^ HW_OCOTP_CFG0) * 0x9e3779b1u; }
  uint32_t events() override { return MillraceSampler::events; }
  size_t build_id(uint8_t*, size_t) override { return 0; }  // Teensyduino links without one

 private:
  static bool is_timer_on() { return (PIT_TCTRL0 | PIT_TCTRL1 | PIT_TCTRL2) != 0; }
};

volatile uint32_t MillraceSampler::events;

namespace {
TeensySamplerPort sampler_port;
}

millrace::firmware::StreamDeviceOptions MillraceSampler::options(
    millrace::firmware::Sampler& sampler) {
  millrace::firmware::StreamDeviceOptions options;
  options.firmware_name = "millrace-sampler";
  options.sampler = &sampler;
  return options;
}

MillraceSampler::MillraceSampler()
    : sampler_(sampler_port, millrace_sampler, millrace_sampler_buffer, MILLRACE_SAMPLER_ENTRIES),
      device_(port_, options(sampler_)) {}

void MillraceSampler::begin() { port_.count_boot(); }

void MillraceSampler::poll() {
  const bool configured = usb_configuration != 0;
  if (configured_ && !configured) device_.link_lost();
  configured_ = configured;
  device_.poll();
}
