// SPDX-License-Identifier: Apache-2.0
// Where a new port starts: copy this folder, give the class your board's name and fill in each
// function. It compiles and does nothing. docs/porting.md says what to watch for.
#pragma once

#include "firmware/port/port.h"

namespace millrace::firmware {

class TemplatePort final : public Port {
 public:
  size_t write(const uint8_t* data, size_t size) override;
  size_t read(uint8_t* data, size_t size) override;
  void flush() override;
  uint32_t now_us() override;
  uint32_t entropy() override;
  void idle(uint32_t max_us) override;
  PortInfo info() override;
};

// The whole program: call it from main() or from the thread that owns the port. Never returns.
[[noreturn]] void run_template_device();

}  // namespace millrace::firmware
