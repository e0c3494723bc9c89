// SPDX-License-Identifier: Apache-2.0
// Power, clocks, reset (IMXRT1060RM chapters "CCM Analog", "PMU", "USB PHY", "USB Controller"), and
// the data cache. The controller is a bus master that sees memory, not the cache: what it reads and
// writes is in DTCM, which has none, or is cleaned before and invalidated behind it.
#include "firmware/ports/rt1062/usb/usb_chip.h"

#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/ticks.h"

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kUsb1 = 0x402e0000;
constexpr uint32_t kLineBytes = 32;  // of the data cache
constexpr uint32_t kIrqUsb1Word = kIrqUsb1 / 32, kIrqUsb1Bit = 1u << kIrqUsb1 % 32;

// A host that knew the boot loader's device must have seen it leave.
constexpr uint32_t kDetachMs = 25;
// 3.0 V (code 15), brown-out 150 mV below (code 6), regulator on: the transceiver's supply from
// VBUS. As in the Teensy core.
constexpr uint32_t kPmuReg3P0 = 15u << 8 | 6u << 4 | 1u;

// Of SysTick and USB1, and what lock() masks. The upper four bits count.
constexpr uint32_t kLockedPriority = 0x80;

UsbDevice* interrupt_device;

void set_priorities() {
  SCB_SHPR3.modify(0xffu << 24, kLockedPriority << 24);  // SysTick
  NVIC_IPR0.at(kIrqUsb1 / 4)
      .modify(0xffu << 8 * (kIrqUsb1 % 4), kLockedPriority << 8 * (kIrqUsb1 % 4));
}

void for_each_line(Register operation, uint32_t address, size_t size) {
  if (size == 0) return;
  const uint32_t end = address + static_cast<uint32_t>(size);
  data_barrier();
  for (uint32_t line = address & ~(kLineBytes - 1); line < end; line += kLineBytes) {
    operation.write(line);
  }
  data_barrier();
}

}  // namespace

void UsbChip::power_up() {
  set_priorities();
  PMU_REG_3P0.write(kPmuReg3P0);
  CCM_ANALOG_PLL_USB1_SET.write(CCM_ANALOG_PLL_USB1_EN_USB_CLKS);  // PLL3 itself is on
  CCM_CCGR6.set_bits(CCM_CCGR6_USBOH3);

  const bool was_in_use = (read(UsbRegister::usbmode) & USBMODE_CM) != 0;
  USBPHY1_CTRL_SET.write(USBPHY_CTRL_SFTRST);
  write(UsbRegister::usbcmd, USBCMD_RST);
  while ((read(UsbRegister::usbcmd) & USBCMD_RST) != 0) {
  }
  USBPHY1_CTRL_CLR.write(USBPHY_CTRL_SFTRST | USBPHY_CTRL_CLKGATE);
  if (was_in_use) {
    const uint32_t start_ms = milliseconds();
    while (milliseconds() - start_ms <= kDetachMs) wait_for_interrupt();
  }
  USBPHY1_PWD.write(0);
  write(UsbRegister::burstsize, 0x0404);  // four words a bus access, as in the Teensy core
}

uint32_t UsbChip::read(UsbRegister reg) {
  return Register{kUsb1 + static_cast<uint32_t>(reg)}.read();
}

void UsbChip::write(UsbRegister reg, uint32_t value) {
  data_barrier();
  Register{kUsb1 + static_cast<uint32_t>(reg)}.write(value);
}

uint32_t UsbChip::bus_address(const volatile void* place) {
  return reinterpret_cast<uint32_t>(place);
}

void UsbChip::clean(const void* data, size_t size) {
  for_each_line(SCB_DCCMVAC, reinterpret_cast<uint32_t>(data), size);
}

void UsbChip::invalidate(void* data, size_t size) {
  for_each_line(SCB_DCIMVAC, reinterpret_cast<uint32_t>(data), size);
}

uint32_t UsbChip::lock() {
  uint32_t state;
  __asm__ volatile("mrs %0, basepri" : "=r"(state));
  __asm__ volatile("msr basepri, %0" ::"r"(kLockedPriority) : "memory");
  return state;
}

void UsbChip::unlock(uint32_t state) {
  __asm__ volatile("msr basepri, %0" ::"r"(state) : "memory");
}

// An interrupt that BASEPRI masks does not end WFI, one that only PRIMASK masks does (Armv7-M
// B1.5.19). What ended it is handled right behind, so that a sample of sleeping code is one of WFI.
void UsbChip::sleep() {
  __asm__ volatile(
      "cpsid i\n\t"
      "msr basepri, %[none]\n\t"
      "dsb\n\t"
      "wfi\n\t"
      "cpsie i\n\t"
      "isb\n\t"
      "msr basepri, %[locked]" ::[none] "r"(0),
      [locked] "r"(kLockedPriority)
      : "memory");
}

void route_usb_interrupt(UsbDevice& device) {
  interrupt_device = &device;
  NVIC_ICPR0.at(kIrqUsb1Word).write(kIrqUsb1Bit);
  NVIC_ISER0.at(kIrqUsb1Word).write(kIrqUsb1Bit);
}

}  // namespace millrace::rt1062

extern "C" void usb1_handler() {
  millrace::rt1062::interrupt_device->on_interrupt();
  // The status must be down before the exception returns, or it is taken again.
  millrace::rt1062::data_barrier();
}
