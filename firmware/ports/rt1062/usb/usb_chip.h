// SPDX-License-Identifier: Apache-2.0
// USB1 of the RT1062 and its transceiver.
#pragma once

#include <cstdint>

#include "firmware/ports/rt1062/usb/usb_device.h"
#include "firmware/ports/rt1062/usb/usb_hardware.h"

namespace millrace::rt1062 {

class UsbChip final : public UsbHardware {
 public:
  // REQUIRES: set_up_clocks(), set_up_ticks().
  void power_up() override;
  uint32_t read(UsbRegister reg) override;
  void write(UsbRegister reg, uint32_t value) override;
  uint32_t bus_address(const volatile void* place) override;
  void clean(const void* data, size_t size) override;
  void invalidate(void* data, size_t size) override;
  // By BASEPRI: the sampler, at priority 0, goes on.
  uint32_t lock() override;
  void unlock(uint32_t state) override;
  void sleep() override;
};

// From now on the interrupt of USB1 goes to `device`.
void route_usb_interrupt(UsbDevice& device);

}  // namespace millrace::rt1062
