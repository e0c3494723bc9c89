// SPDX-License-Identifier: Apache-2.0
// The core clock is PLL1 / ARM_PODF. While PLL1 moves, the core runs from PLL3 / 4 = 120 MHz; PLL3
// is on, as the flash is clocked from it. Not from the oscillator: 24 MHz would do as well, but
// would make the PLL's lock time five times as many bus cycles of waiting.
#include "firmware/ports/rt1062/clocks.h"

#include "firmware/ports/rt1062/rt1062_registers.h"

namespace millrace::rt1062 {
namespace {

void wait_until_clear(Register reg, uint32_t bits) {
  while ((reg.read() & bits) != 0) {
  }
}

void wait_until_set(Register reg, uint32_t bits) {
  while ((reg.read() & bits) != bits) {
  }
}

// Data sheet IMXRT1060CEC: VDD_SOC at least 1.25 V above 528 MHz.
void raise_voltage() {
  constexpr uint32_t kTarget = (1250 - 800) / 25;
  CCM_CCGR6.set_bits(CCM_CCGR6_DCDC);
  if ((DCDC_REG3.read() & DCDC_REG3_TRG) >= kTarget) return;
  DCDC_REG3.modify(DCDC_REG3_TRG, kTarget);
  wait_until_set(DCDC_REG0, DCDC_REG0_STS_DC_OK);
}

// 480 MHz = 24 MHz * 20 (DIV_SELECT 0).
void start_pll3() {
  CCM_ANALOG_PLL_USB1_CLR.write(CCM_ANALOG_PLL_USB1_DIV_SELECT);
  CCM_ANALOG_PLL_USB1_SET.write(CCM_ANALOG_PLL_ENABLE | CCM_ANALOG_PLL_USB1_POWER);
  wait_until_set(CCM_ANALOG_PLL_USB1, CCM_ANALOG_PLL_LOCK);
  CCM_ANALOG_PLL_USB1_CLR.write(CCM_ANALOG_PLL_BYPASS);
}

// 1200 MHz = 24 MHz * 100 / 2.
void start_pll1() {
  constexpr uint32_t kMultiplier = 100;
  CCM_ANALOG_PLL_ARM.write(CCM_ANALOG_PLL_ARM_POWERDOWN);
  CCM_ANALOG_PLL_ARM.write(CCM_ANALOG_PLL_ENABLE | kMultiplier);
  wait_until_set(CCM_ANALOG_PLL_ARM, CCM_ANALOG_PLL_LOCK);
}

}  // namespace

void set_up_clocks() {
  // After a reset WFI stops the core's clock (WAIT): SysTick would not count and wake it, and USB
  // and DMA could not reach the TCMs. In run mode it stops the core alone.
  CCM_CLPCR.clear_bits(CCM_CLPCR_LPM);
  PMU_MISC0_SET.write(PMU_MISC0_REFTOP_SELFBIASOFF);
  raise_voltage();
  start_pll3();

  CCM_CBCDR.modify(CCM_CBCDR_PERIPH_CLK2_PODF, 3u << 27);  // / 4
  CCM_CBCMR.modify(CCM_CBCMR_PERIPH_CLK2_SEL, 0);          // PLL3
  wait_until_clear(CCM_CDHIPR, CCM_CDHIPR_PERIPH2_CLK_SEL_BUSY);
  CCM_CBCDR.set_bits(CCM_CBCDR_PERIPH_CLK_SEL);
  wait_until_clear(CCM_CDHIPR, CCM_CDHIPR_PERIPH_CLK_SEL_BUSY);

  start_pll1();
  CCM_CACRR.write(1);  // / 2
  wait_until_clear(CCM_CDHIPR, CCM_CDHIPR_ARM_PODF_BUSY);
  CCM_CBCMR.modify(CCM_CBCMR_PRE_PERIPH_CLK_SEL, 3u << 18);  // PLL1
  CCM_CBCDR.modify(CCM_CBCDR_AHB_PODF, 0);
  wait_until_clear(CCM_CDHIPR, CCM_CDHIPR_AHB_PODF_BUSY);
  CCM_CBCDR.modify(CCM_CBCDR_IPG_PODF, 3u << 8);  // / 4, before the core gets fast
  CCM_CBCDR.clear_bits(CCM_CBCDR_PERIPH_CLK_SEL);
  wait_until_clear(CCM_CDHIPR, CCM_CDHIPR_PERIPH_CLK_SEL_BUSY);

  CCM_CSCMR1.modify(CCM_CSCMR1_PERCLK_PODF, CCM_CSCMR1_PERCLK_CLK_SEL);
  CCM_CSCDR1.modify(CCM_CSCDR1_UART_CLK_PODF, CCM_CSCDR1_UART_CLK_SEL);

  // The ROM may leave its timers running.
  CCM_CCGR1.set_bits(CCM_CCGR1_PIT);
  PIT_MCR.write(0);
  for (uint32_t channel = 0; channel < 4; ++channel) {
    PIT_TCTRL0.at(4 * channel).write(0);
    PIT_TFLG0.at(4 * channel).write(PIT_TFLG_TIF);
  }
}

}  // namespace millrace::rt1062
