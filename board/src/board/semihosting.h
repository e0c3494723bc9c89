// SPDX-License-Identifier: Apache-2.0
// Semihosting (Arm IHI 0109, AArch32 BKPT 0xAB): console output, clock and exit. There are no
// files: what firmware says stays inside the board, so opening anything but ":tt" fails.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/state.h"
#include "memory/memory_system.h"

namespace millrace::board {

class Semihosting {
 public:
  using Output = std::function<void(uint8_t byte)>;

  void set_output(Output output) { output_ = std::move(output); }
  // Does the operation r0 with the block at r1 and puts the result into r0. `ns`: simulated time.
  void call(CpuState& state, MemorySystem& memory, uint64_t ns);
  bool exited() const { return exited_; }
  int exit_code() const { return exit_code_; }

 private:
  void put(uint8_t byte) {
    if (output_) output_(byte);
  }
  uint32_t write(MemorySystem& memory, uint32_t address, uint32_t size);

  Output output_;
  bool exited_ = false;
  int exit_code_ = 0;
};

}  // namespace millrace::board
