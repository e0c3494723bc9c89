// SPDX-License-Identifier: Apache-2.0
// Registers of the i.MX RT1062 that our firmware uses, and no others. Register and bit names are
// those of the manuals: "RM" is the i.MX RT1060 Processor Reference Manual (IMXRT1060RM), "v7-M"
// the Armv7-M Architecture Reference Manual (DDI 0403), "M7" the Cortex-M7 Technical Reference
// Manual (DDI 0489).
#pragma once

#include <cstdint>

namespace millrace::rt1062 {

// One 32-bit memory-mapped register. Every call is exactly the bus accesses that it says.
struct Register {
  uint32_t address;

  uint32_t read() const { return *reinterpret_cast<volatile uint32_t*>(address); }
  void write(uint32_t value) const { *reinterpret_cast<volatile uint32_t*>(address) = value; }
  // Read, replace the bits of `mask` by those of `value`, write.
  void modify(uint32_t mask, uint32_t value) const { write((read() & ~mask) | value); }
  void set_bits(uint32_t bits) const { write(read() | bits); }
  void clear_bits(uint32_t bits) const { write(read() & ~bits); }
  constexpr Register at(uint32_t index) const { return Register{address + 4 * index}; }
};

// CCM, RM chapter "Clock Controller Module".
constexpr Register CCM_CACRR{0x400fc010};  // ARM_PODF: core clock = PLL1 / (ARM_PODF + 1)
constexpr Register CCM_CBCDR{0x400fc014};
constexpr Register CCM_CBCMR{0x400fc018};
constexpr Register CCM_CSCMR1{0x400fc01c};
constexpr Register CCM_CSCDR1{0x400fc024};
constexpr Register CCM_CDHIPR{0x400fc048};
constexpr Register CCM_CLPCR{0x400fc054};
constexpr Register CCM_CCGR1{0x400fc06c};
constexpr Register CCM_CCGR2{0x400fc070};
constexpr Register CCM_CCGR3{0x400fc074};
constexpr Register CCM_CCGR6{0x400fc080};
constexpr uint32_t CCM_CBCDR_PERIPH_CLK2_PODF = 7u << 27;
constexpr uint32_t CCM_CBCDR_PERIPH_CLK_SEL = 1u << 25;
constexpr uint32_t CCM_CBCDR_AHB_PODF = 7u << 10;
constexpr uint32_t CCM_CBCDR_IPG_PODF = 3u << 8;
constexpr uint32_t CCM_CBCMR_PRE_PERIPH_CLK_SEL = 3u << 18;  // 3: PLL1 / ARM_PODF
constexpr uint32_t CCM_CBCMR_PERIPH_CLK2_SEL = 3u << 12;     // 0: PLL3
constexpr uint32_t CCM_CSCMR1_PERCLK_CLK_SEL = 1u << 6;      // 1: 24 MHz oscillator
constexpr uint32_t CCM_CSCMR1_PERCLK_PODF = 0x3fu;
constexpr uint32_t CCM_CSCDR1_UART_CLK_SEL = 1u << 6;  // 1: 24 MHz oscillator
constexpr uint32_t CCM_CSCDR1_UART_CLK_PODF = 0x3fu;
constexpr uint32_t CCM_CDHIPR_ARM_PODF_BUSY = 1u << 16;
constexpr uint32_t CCM_CDHIPR_PERIPH_CLK_SEL_BUSY = 1u << 5;
constexpr uint32_t CCM_CDHIPR_PERIPH2_CLK_SEL_BUSY = 1u << 3;
constexpr uint32_t CCM_CDHIPR_AHB_PODF_BUSY = 1u << 1;
constexpr uint32_t CCM_CLPCR_LPM = 3u << 0;      // what WFI does: 0 keeps all clocks, 1 WAIT
constexpr uint32_t CCM_CCGR1_PIT = 3u << 12;     // CG6
constexpr uint32_t CCM_CCGR2_OCOTP = 3u << 12;   // CG6
constexpr uint32_t CCM_CCGR3_LPUART6 = 3u << 6;  // CG3
constexpr uint32_t CCM_CCGR6_DCDC = 3u << 6;     // CG3
constexpr uint32_t CCM_CCGR6_USBOH3 = 3u << 0;   // CG0

// CCM_ANALOG and PMU, RM chapters "CCM Analog" and "Power Management Unit". Registers have
// aliases that set (+4) and clear (+8) the bits written.
constexpr Register CCM_ANALOG_PLL_ARM{0x400d8000};
constexpr Register CCM_ANALOG_PLL_USB1{0x400d8010};
constexpr Register CCM_ANALOG_PLL_USB1_SET{0x400d8014};
constexpr Register CCM_ANALOG_PLL_USB1_CLR{0x400d8018};
constexpr Register PMU_REG_3P0{0x400d8120};
constexpr Register PMU_MISC0_SET{0x400d8154};
constexpr uint32_t CCM_ANALOG_PLL_LOCK = 1u << 31;
constexpr uint32_t CCM_ANALOG_PLL_BYPASS = 1u << 16;
constexpr uint32_t CCM_ANALOG_PLL_ENABLE = 1u << 13;
constexpr uint32_t CCM_ANALOG_PLL_ARM_POWERDOWN = 1u << 12;
constexpr uint32_t CCM_ANALOG_PLL_USB1_POWER = 1u << 12;
constexpr uint32_t CCM_ANALOG_PLL_USB1_EN_USB_CLKS = 1u << 6;
constexpr uint32_t CCM_ANALOG_PLL_USB1_DIV_SELECT = 1u << 1;
constexpr uint32_t PMU_MISC0_REFTOP_SELFBIASOFF = 1u << 3;

// DCDC, RM chapter "DCDC Converter".
constexpr Register DCDC_REG0{0x40080000};
constexpr Register DCDC_REG3{0x4008000c};
constexpr uint32_t DCDC_REG0_STS_DC_OK = 1u << 31;
constexpr uint32_t DCDC_REG3_TRG = 0x1fu;  // VDD_SOC = 800 mV + 25 mV * TRG

// USBPHY1, RM chapter "USB PHY", with set (+4) and clear (+8) aliases.
constexpr Register USBPHY1_PWD{0x400d9000};
constexpr Register USBPHY1_CTRL_SET{0x400d9034};
constexpr Register USBPHY1_CTRL_CLR{0x400d9038};
constexpr uint32_t USBPHY_CTRL_SFTRST = 1u << 31;
constexpr uint32_t USBPHY_CTRL_CLKGATE = 1u << 30;

// OCOTP, RM chapter "On-Chip OTP Controller": shadows of fuses. MAC0 holds the Teensy's number.
constexpr Register OCOTP_CFG0{0x401f4410};
constexpr Register OCOTP_MAC0{0x401f4620};
constexpr Register OCOTP_MAC1{0x401f4630};

// SNVS, RM chapter "Secure Non-Volatile Storage": a register that keeps its value over resets.
constexpr Register SNVS_LPGPR0{0x400d4100};

// IOMUXC and IOMUXC_GPR, RM chapter "IOMUX Controller".
constexpr uint32_t kIomuxcGprGpr14 = 0x400ac038;  // CFGDTCMSZ [23:20], CFGITCMSZ [19:16]
constexpr uint32_t kIomuxcGprGpr16 = 0x400ac040;
constexpr uint32_t kIomuxcGprGpr17 = 0x400ac044;  // two bits a bank: 1 OCRAM, 2 DTCM, 3 ITCM
constexpr Register IOMUXC_SW_MUX_CTL_PAD_GPIO_AD_B0_02{0x401f80c4};
constexpr Register IOMUXC_SW_MUX_CTL_PAD_GPIO_AD_B0_03{0x401f80c8};
constexpr Register IOMUXC_SW_PAD_CTL_PAD_GPIO_AD_B0_02{0x401f82b4};
constexpr Register IOMUXC_SW_PAD_CTL_PAD_GPIO_AD_B0_03{0x401f82b8};
constexpr Register IOMUXC_LPUART6_RX_SELECT_INPUT{0x401f8550};
constexpr Register IOMUXC_LPUART6_TX_SELECT_INPUT{0x401f8554};
constexpr uint32_t IOMUXC_PAD_SRE = 1u << 0;
constexpr uint32_t IOMUXC_PAD_DSE_3 = 3u << 3;
constexpr uint32_t IOMUXC_PAD_SPEED_3 = 3u << 6;
constexpr uint32_t IOMUXC_PAD_PKE = 1u << 12;
constexpr uint32_t IOMUXC_PAD_PUE = 1u << 13;
constexpr uint32_t IOMUXC_PAD_PUS_22K_UP = 3u << 14;
constexpr uint32_t IOMUXC_PAD_HYS = 1u << 16;

// LPUART6, RM chapter "Low Power Universal Asynchronous Receiver/Transmitter".
constexpr Register LPUART6_BAUD{0x40198010};
constexpr Register LPUART6_STAT{0x40198014};
constexpr Register LPUART6_CTRL{0x40198018};
constexpr Register LPUART6_DATA{0x4019801c};
constexpr uint32_t LPUART_STAT_TDRE = 1u << 23;
constexpr uint32_t LPUART_STAT_TC = 1u << 22;
constexpr uint32_t LPUART_CTRL_TE = 1u << 19;
constexpr uint32_t LPUART_CTRL_RE = 1u << 18;

// PIT, RM chapter "Periodic Interrupt Timer". Channel n stands 16 n bytes on.
constexpr Register PIT_MCR{0x40084000};
constexpr Register PIT_LDVAL0{0x40084100};
constexpr Register PIT_CVAL0{0x40084104};
constexpr Register PIT_TCTRL0{0x40084108};
constexpr Register PIT_TFLG0{0x4008410c};
constexpr uint32_t PIT_TCTRL_TIE = 1u << 1;
constexpr uint32_t PIT_TCTRL_TEN = 1u << 0;
constexpr uint32_t PIT_TFLG_TIF = 1u << 0;

// System control space, v7-M chapter B3.
constexpr Register SYST_CSR{0xe000e010};
constexpr Register SYST_RVR{0xe000e014};
constexpr Register SYST_CVR{0xe000e018};
constexpr Register NVIC_ISER0{0xe000e100};
constexpr Register NVIC_ICER0{0xe000e180};
constexpr Register NVIC_ISPR0{0xe000e200};
constexpr Register NVIC_ICPR0{0xe000e280};
constexpr Register NVIC_IPR0{0xe000e400};
constexpr Register SCB_CPUID{0xe000ed00};
constexpr Register SCB_ICSR{0xe000ed04};
constexpr Register SCB_VTOR{0xe000ed08};
constexpr Register SCB_CCR{0xe000ed14};
constexpr Register SCB_SHPR3{0xe000ed20};
constexpr Register SCB_SHCSR{0xe000ed24};
constexpr Register SCB_CFSR{0xe000ed28};
constexpr Register SCB_HFSR{0xe000ed2c};
constexpr Register SCB_MMFAR{0xe000ed34};
constexpr Register SCB_BFAR{0xe000ed38};
constexpr Register SCB_CCSIDR{0xe000ed80};
constexpr Register SCB_CSSELR{0xe000ed84};
constexpr Register SCB_CPACR{0xe000ed88};
constexpr Register MPU_TYPE{0xe000ed90};
constexpr Register MPU_CTRL{0xe000ed94};
constexpr Register MPU_RBAR{0xe000ed9c};
constexpr Register MPU_RASR{0xe000eda0};
constexpr uint32_t SYST_CSR_CLKSOURCE = 1u << 2;  // 0: external, 100 kHz on this chip
constexpr uint32_t SYST_CSR_TICKINT = 1u << 1;
constexpr uint32_t SYST_CSR_ENABLE = 1u << 0;
constexpr uint32_t SCB_ICSR_PENDSVSET = 1u << 28;
constexpr uint32_t SCB_CCR_IC = 1u << 17;
constexpr uint32_t SCB_CCR_DC = 1u << 16;
constexpr uint32_t SCB_CCR_DIV_0_TRP = 1u << 4;
constexpr uint32_t SCB_SHCSR_USGFAULTENA = 1u << 18;
constexpr uint32_t SCB_SHCSR_BUSFAULTENA = 1u << 17;
constexpr uint32_t SCB_SHCSR_MEMFAULTENA = 1u << 16;
constexpr uint32_t MPU_CTRL_ENABLE = 1u << 0;

// Cache maintenance, M7 chapter "Initializing and enabling the L1 cache"; v7-M B3.2.2.
constexpr Register SCB_ICIALLU{0xe000ef50};
constexpr Register SCB_DCIMVAC{0xe000ef5c};
constexpr Register SCB_DCISW{0xe000ef60};
constexpr Register SCB_DCCMVAC{0xe000ef68};
constexpr Register SCB_DCCISW{0xe000ef74};

// Debug: DEMCR and the cycle counter, v7-M chapter C1.
constexpr Register DEMCR{0xe000edfc};
constexpr Register DWT_CTRL{0xe0001000};
constexpr Register DWT_CYCCNT{0xe0001004};
constexpr uint32_t DEMCR_TRCENA = 1u << 24;
constexpr uint32_t DWT_CTRL_CYCCNTENA = 1u << 0;

// Interrupt lines, RM chapter "Interrupts, DMA Events, and XBAR Assignments".
constexpr uint32_t kIrqSoftware = 70;  // reserved on the chip: only software pends it
constexpr uint32_t kIrqUsb1 = 113;
constexpr uint32_t kIrqPit = 122;
constexpr uint32_t kIrqLines = 160;

inline void data_barrier() { __asm__ volatile("dsb" ::: "memory"); }
inline void instruction_barrier() { __asm__ volatile("isb" ::: "memory"); }
inline void enable_interrupts() { __asm__ volatile("cpsie i" ::: "memory"); }
inline void disable_interrupts() { __asm__ volatile("cpsid i" ::: "memory"); }
inline void wait_for_interrupt() { __asm__ volatile("dsb\n\twfi" ::: "memory"); }

}  // namespace millrace::rt1062
