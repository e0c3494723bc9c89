// SPDX-License-Identifier: Apache-2.0
// Declares what the Teensyduino port uses of the Teensy 4 core, so that it compiles without one.
// Declarations only: nothing here can be linked.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ARDUINO_TEENSY41

class usb_serial_class {
 public:
  int available();
  int availableForWrite();
  size_t write(const uint8_t* buffer, size_t size);
  size_t readBytes(char* buffer, size_t length);
  void send_now();
};
extern usb_serial_class Serial;

extern "C" {
extern volatile uint8_t usb_configuration;
uint32_t micros(void);
}

extern volatile uint32_t stub_registers[13];
#define SNVS_LPGPR0 (stub_registers[0])
#define ARM_DWT_CYCCNT (stub_registers[1])
#define HW_OCOTP_CFG0 (stub_registers[2])
#define CCM_CCGR1 (stub_registers[3])
#define CCM_CCGR1_PIT(n) (static_cast<uint32_t>((n)&3) << 12)
#define CCM_CCGR_ON 3
#define PIT_MCR (stub_registers[4])
#define PIT_TCTRL0 (stub_registers[5])
#define PIT_TCTRL1 (stub_registers[6])
#define PIT_TCTRL2 (stub_registers[7])
#define PIT_LDVAL3 (stub_registers[8])
#define PIT_TCTRL3 (stub_registers[9])
#define PIT_TFLG3 (stub_registers[10])
#define PIT_TCTRL_TIE (uint32_t{2})
#define PIT_TCTRL_TEN (uint32_t{1})
#define NVIC_SET_PRIORITY(irq, priority) \
  (stub_registers[11] = static_cast<uint32_t>(irq) + static_cast<uint32_t>(priority))
#define NVIC_ENABLE_IRQ(irq) (stub_registers[12] = (irq))
#define FASTRUN __attribute__((section(".fastrun")))

enum IRQ_NUMBER_t { IRQ_PIT = 122 };
extern "C" volatile uint32_t F_CPU_ACTUAL;
extern "C" void (*volatile _VectorsRam[176])(void);
inline void attachInterruptVector(IRQ_NUMBER_t irq, void (*function)(void)) {
  _VectorsRam[irq + 16] = function;
}

void setup();
void loop();
