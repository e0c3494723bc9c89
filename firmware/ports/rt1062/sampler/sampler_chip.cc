// SPDX-License-Identifier: Apache-2.0
// The PIT runs from the 24 MHz oscillator: a tick is 25 core cycles. Channel 3, the last that
// others take. All four channels share one interrupt, so the programs that have a sampler use no
// other.
//
// Priority 0, like nothing else in these programs: BASEPRI never masks it (Armv7-M B1.4.4), so code
// between UsbChip::lock() and unlock() is sampled like any other. PRIMASK does mask it: what runs
// behind `cpsid i` is charged to the instruction that lets interrupts in again, and the timer
// running out more than once meanwhile is counted as overruns. The programs use PRIMASK only to
// boot and to fall asleep.
//
// Nothing of this goes past the TCMs: the handler is in ITCM in every variant, its memory in DTCM,
// and where the vector table is in flash (variant `flash`) sampling uses a copy in DTCM. Else each
// sample would bring a line of it into the data cache, and throw out one that the program needs.
// What remains is the exception frame, which the core pushes onto the interrupted stack; in the
// variant `flash` that is in OCRAM, behind the data cache.
#include "firmware/ports/rt1062/sampler/sampler_chip.h"

#include <string.h>

#include "firmware/ports/rt1062/clocks.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/ticks.h"

using millrace::firmware::SamplerMemory;

extern "C" {
// For debuggers too (spec/sampler_control.md).
[[gnu::section(".bss.scratch_dtcm"), gnu::used]] SamplerMemory millrace_sampler;
[[gnu::section(".bss.scratch_dtcm"),
  gnu::used]] uint32_t millrace_sampler_buffer[MILLRACE_SAMPLER_ENTRIES];
}

namespace millrace::rt1062 {
namespace {

// What debuggers know.
static_assert(offsetof(SamplerMemory, state) == 8 && offsetof(SamplerMemory, buffer) == 16);
static_assert(offsetof(SamplerMemory, stored_words) == 24 &&
              offsetof(SamplerMemory, overruns) == 32);

constexpr uint32_t kChannel = 3;
constexpr Register kLoad = PIT_LDVAL0.at(4 * kChannel);
constexpr Register kControl = PIT_TCTRL0.at(4 * kChannel);
constexpr Register kFlag = PIT_TFLG0.at(4 * kChannel);
constexpr uint32_t kIrqWord = kIrqPit / 32, kIrqBit = 1u << kIrqPit % 32;
constexpr uint32_t kVectors = 16 + kIrqLines;
constexpr uint32_t kFirstAddressBehindTcm = 0x20200000;

[[gnu::section(".bss.scratch_dtcm")]] alignas(1024) uint32_t fast_vectors[kVectors];

class SamplerChip final : public firmware::SamplerPort {
 public:
  explicit SamplerChip(uint32_t (*count_events)()) : events_(count_events) {}

  uint32_t cycles() override { return rt1062::cycles(); }
  uint32_t core_khz() override { return kCoreHz / 1000; }
  uint32_t timer_khz() override { return kOscillatorHz / 1000; }

  void start_timer(uint32_t first_ticks, uint32_t second_ticks) override {
    use_fast_vectors(true);
    kControl.write(0);
    kLoad.write(first_ticks - 1);
    kFlag.write(PIT_TFLG_TIF);
    set_priority();
    NVIC_ICPR0.at(kIrqWord).write(kIrqBit);
    NVIC_ISER0.at(kIrqWord).write(kIrqBit);
    kControl.write(PIT_TCTRL_TIE | PIT_TCTRL_TEN);
    kLoad.write(second_ticks - 1);
  }

  void stop_timer() override {
    kControl.write(0);
    NVIC_ICER0.at(kIrqWord).write(kIrqBit);
    data_barrier();
    instruction_barrier();
    kFlag.write(PIT_TFLG_TIF);
    use_fast_vectors(false);
  }

  // The oscillator that the core does not run from makes the count differ from run to run.
  uint32_t entropy() override { return (rt1062::cycles() ^ OCOTP_CFG0.read()) * 0x9e3779b1u; }
  uint32_t events() override { return events_ != nullptr ? events_() : 0; }

  // A note: sizes of name and descriptor, type 3, "GNU", the descriptor (System V ABI, "Note
  // Section").
  size_t build_id(uint8_t* out, size_t room) override {
    const uint32_t* note = image_build_id_start;
    const size_t bytes = reinterpret_cast<uint32_t>(image_build_id_end) -
                         reinterpret_cast<uint32_t>(image_build_id_start);
    if (bytes < 16 || note[0] != 4 || note[2] != 3) return 0;
    const size_t size = note[1];
    if (size > bytes - 16 || size > room) return 0;
    memcpy(out, note + 4, size);
    return size;
  }

 private:
  static void set_priority() {
    const Register word = NVIC_IPR0.at(kIrqPit / 4);
    word.modify(0xffu << 8 * (kIrqPit % 4), 0);
  }

  static void use_fast_vectors(bool on) {
    const uint32_t linked = reinterpret_cast<uint32_t>(image_vectors);
    if (linked < kFirstAddressBehindTcm) return;
    if (on) memcpy(fast_vectors, image_vectors, sizeof(fast_vectors));
    data_barrier();
    SCB_VTOR.write(on ? reinterpret_cast<uint32_t>(fast_vectors) : linked);
    data_barrier();
    instruction_barrier();
  }

  uint32_t (*events_)();
};

}  // namespace

firmware::Sampler& make_sampler(uint32_t (*events)()) {
  static SamplerChip chip(events);
  static firmware::Sampler sampler(chip, millrace_sampler, millrace_sampler_buffer,
                                   MILLRACE_SAMPLER_ENTRIES);
  return sampler;
}

}  // namespace millrace::rt1062

extern "C" {

using namespace millrace::rt1062;

[[gnu::section(".itcm_code.sampler"), gnu::used]] void millrace_sampler_interrupt(
    const volatile uint32_t* frame) {
  const uint32_t now = DWT_CYCCNT.read();
  kFlag.write(PIT_TFLG_TIF);
  kLoad.write(millrace::firmware::take_sample(&millrace_sampler, frame, now) - 1);
  // The flag must be down before the exception returns, or it is taken again: read it back.
  kFlag.read();
  data_barrier();
  millrace_sampler.handler_cycles = millrace_sampler.handler_cycles + (DWT_CYCCNT.read() - now);
}

[[gnu::section(".itcm_code.sampler"), gnu::naked]] void pit_handler() {
  __asm__ volatile(
      "tst lr, #4\n\t"
      "ite eq\n\t"
      "mrseq r0, msp\n\t"
      "mrsne r0, psp\n\t"
      "b millrace_sampler_interrupt");
}

}  // extern "C"
