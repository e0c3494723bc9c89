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

extern volatile uint32_t stub_registers[3];
#define SNVS_LPGPR0 (stub_registers[0])
#define ARM_DWT_CYCCNT (stub_registers[1])
#define HW_OCOTP_CFG0 (stub_registers[2])

void setup();
void loop();
