// SPDX-License-Identifier: Apache-2.0
// A channel of the PIT, driven directly, with a zero-latency interrupt: irq_lock() and spin locks
// of Zephyr raise BASEPRI, which does not mask it, so what runs with interrupts locked is sampled
// like anything else. The handler may not call the kernel, and does not: it is naked, and what it
// calls is inlined.
//
// The frame of what was interrupted is on the stack that EXC_RETURN bit 2 names (v7-M B1.5.8): a
// thread's (PSP), or the one of interrupts (MSP). Under Zephyr both are right to read: a stack that
// has overflowed would have faulted on the way in.
//
// Nothing of a sample goes past the TCMs but the frame: the handler is in ITCM (__itcm_section),
// its memory in DTCM (__dtcm_bss_section), and, while it samples, the vector table is a copy there,
// because Zephyr's own is in flash and each sample would bring a line of it into the data cache.
// Interrupts of Zephyr are connected at build, so the copy does not age.
//
// Zephyr leaves PERCLK, the clock of the PIT, at IPG clock / 2 (75 MHz) on this chip; other boards
// may differ, and its GPT driver runs from it too, so it is read from the clock controller and not
// set. The core clock as well: CONFIG_SYS_CLOCK_HW_CYCLES_PER_SEC is that of the system timer.
#include "firmware/ports/zephyr/sampler_chip.h"

#include <string.h>
#include <zephyr/irq.h>
#include <zephyr/kernel.h>
#include <zephyr/linker/section_tags.h>
#include <zephyr/random/random.h>

#include "firmware/ports/rt1062/rt1062_registers.h"

using namespace millrace::rt1062;
using millrace::firmware::SamplerMemory;

extern "C" {
// For debuggers too (spec/sampler_control.md).
__dtcm_bss_section SamplerMemory millrace_sampler;
__dtcm_bss_section uint32_t millrace_sampler_buffer[CONFIG_MILLRACE_SAMPLER_WORDS];
// zephyr/build_id.ld
extern const uint32_t __millrace_build_id_start[];
extern const uint32_t __millrace_build_id_end[];
// The handler, below.
void millrace_pit_handler();
}

namespace millrace::firmware {
namespace {

constexpr uint32_t kChannel = CONFIG_MILLRACE_SAMPLER_PIT_CHANNEL;
constexpr Register kLoad = PIT_LDVAL0.at(4 * kChannel);
constexpr Register kControl = PIT_TCTRL0.at(4 * kChannel);
constexpr Register kFlag = PIT_TFLG0.at(4 * kChannel);
constexpr uint32_t kVectors = 16 + kIrqLines;
constexpr uint32_t kOscillatorKhz = 24'000;
constexpr uint32_t kPllDivider = 0x7f;      // CCM_ANALOG_PLL_ARM DIV_SELECT: 24 MHz x n / 2
constexpr uint32_t kArmPodf = 7;            // CCM_CACRR
constexpr uint32_t kFromArmPll = 3u << 18;  // CCM_CBCMR PRE_PERIPH_CLK_SEL

// VTOR wants a table of up to 256 words on a boundary of its size (v7-M B3.2.5).
__dtcm_bss_section alignas(1024) uint32_t fast_vectors[kVectors];

uint32_t ahb_khz() {
  const uint32_t cbcdr = CCM_CBCDR.read();
  if ((cbcdr & CCM_CBCDR_PERIPH_CLK_SEL) != 0 ||
      (CCM_CBCMR.read() & CCM_CBCMR_PRE_PERIPH_CLK_SEL) != kFromArmPll) {
    return static_cast<uint32_t>(sys_clock_hw_cycles_per_sec()) / 1000;  // another PLL
  }
  const uint32_t pll_khz = kOscillatorKhz * (CCM_ANALOG_PLL_ARM.read() & kPllDivider) / 2;
  return pll_khz / ((CCM_CACRR.read() & kArmPodf) + 1) / (((cbcdr & CCM_CBCDR_AHB_PODF) >> 10) + 1);
}

uint32_t perclk_khz() {
  const uint32_t select = CCM_CSCMR1.read();
  const uint32_t ipg_divider = ((CCM_CBCDR.read() & CCM_CBCDR_IPG_PODF) >> 8) + 1;
  const uint32_t root_khz =
      (select & CCM_CSCMR1_PERCLK_CLK_SEL) != 0 ? kOscillatorKhz : ahb_khz() / ipg_divider;
  return root_khz / ((select & CCM_CSCMR1_PERCLK_PODF) + 1);
}

class ZephyrSamplerPort final : public SamplerPort {
 public:
  explicit ZephyrSamplerPort(uint32_t (*count_events)()) : events_(count_events) {
    DEMCR.set_bits(DEMCR_TRCENA);
    DWT_CTRL.set_bits(DWT_CTRL_CYCCNTENA);
    CCM_CCGR1.set_bits(CCM_CCGR1_PIT);
    PIT_MCR.write(0);
    kControl.write(0);
    IRQ_DIRECT_CONNECT(kIrqPit, 0, millrace_pit_handler, IRQ_ZERO_LATENCY);
  }

  uint32_t cycles() override { return DWT_CYCCNT.read(); }
  uint32_t core_khz() override { return ahb_khz(); }
  uint32_t timer_khz() override { return perclk_khz(); }

  void start_timer(uint32_t first_ticks, uint32_t second_ticks) override {
    own_vectors_ = reinterpret_cast<const uint32_t*>(SCB_VTOR.read());
    memcpy(fast_vectors, own_vectors_, sizeof(fast_vectors));
    use_vectors(fast_vectors);
    kControl.write(0);
    kLoad.write(first_ticks - 1);
    kFlag.write(PIT_TFLG_TIF);
    irq_enable(kIrqPit);
    kControl.write(PIT_TCTRL_TIE | PIT_TCTRL_TEN);
    kLoad.write(second_ticks - 1);
  }

  void stop_timer() override {
    kControl.write(0);
    irq_disable(kIrqPit);
    data_barrier();
    instruction_barrier();
    kFlag.write(PIT_TFLG_TIF);
    if (own_vectors_ != nullptr) use_vectors(own_vectors_);
  }

  uint32_t entropy() override { return sys_rand32_get() ^ (cycles() * 0x9e3779b1u); }
  uint32_t events() override { return events_ != nullptr ? events_() : 0; }

  // A note: sizes of name and descriptor, type 3, "GNU", the descriptor (System V ABI, "Note
  // Section").
  size_t build_id(uint8_t* out, size_t room) override {
    const uint32_t* const note = __millrace_build_id_start;
    const size_t bytes = reinterpret_cast<uint32_t>(__millrace_build_id_end) -
                         reinterpret_cast<uint32_t>(__millrace_build_id_start);
    if (bytes < 16 || note[0] != 4 || note[2] != 3) return 0;
    const size_t size = note[1];
    if (size > bytes - 16 || size > room) return 0;
    memcpy(out, note + 4, size);
    return size;
  }

 private:
  static void use_vectors(const uint32_t* vectors) {
    data_barrier();
    SCB_VTOR.write(reinterpret_cast<uint32_t>(vectors));
    data_barrier();
    instruction_barrier();
  }

  uint32_t (*events_)();
  const uint32_t* own_vectors_ = nullptr;
};

}  // namespace

Sampler& make_zephyr_sampler(uint32_t (*events)()) {
  static ZephyrSamplerPort port(events);
  static Sampler sampler(port, millrace_sampler, millrace_sampler_buffer,
                         CONFIG_MILLRACE_SAMPLER_WORDS);
  return sampler;
}

}  // namespace millrace::firmware

extern "C" {

using millrace::firmware::kFlag;
using millrace::firmware::kLoad;

__itcm_section [[gnu::used]] void millrace_pit_interrupt(const volatile uint32_t* frame) {
  const uint32_t now = DWT_CYCCNT.read();
  kFlag.write(PIT_TFLG_TIF);
  kLoad.write(millrace::firmware::take_sample(&millrace_sampler, frame, now) - 1);
  // The flag must be down before the exception returns, or it is taken again: read it back.
  kFlag.read();
  data_barrier();
  millrace_sampler.handler_cycles = millrace_sampler.handler_cycles + (DWT_CYCCNT.read() - now);
}

__itcm_section [[gnu::naked]] void millrace_pit_handler() {
  __asm__ volatile(
      "tst lr, #4\n\t"
      "ite eq\n\t"
      "mrseq r0, msp\n\t"
      "mrsne r0, psp\n\t"
      "b millrace_pit_interrupt");
}

}  // extern "C"
