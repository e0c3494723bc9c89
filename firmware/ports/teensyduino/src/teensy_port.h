// SPDX-License-Identifier: Apache-2.0
// Port over the Teensy 4 core's USB `Serial`.
#pragma once

#include "firmware/port/port.h"

namespace millrace::firmware {

class TeensyPort final : public Port {
 public:
  // Adds one to the boot counter. Once after each reset.
  void count_boot();

  size_t write(const uint8_t* data, size_t size) override;
  size_t read(uint8_t* data, size_t size) override;
  void flush() override;
  uint32_t now_us() override;
  uint32_t entropy() override;
  void idle(uint32_t max_us) override;
  PortInfo info() override;

 private:
  uint32_t boot_counter_ = 0;
  uint32_t mixed_ = 0;
};

}  // namespace millrace::firmware
