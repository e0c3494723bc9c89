// SPDX-License-Identifier: Apache-2.0
// The PSRAM that can be soldered to a Teensy 4.1: Espressif ESP-PSRAM64H (AP Memory APS6404L), 8 MB
// a chip. Commands on the wrong number of lines for its mode are not understood.
#pragma once

#include "devices/serial_memory.h"

namespace millrace::board {

class Psram final : public SerialMemory {
 public:
  static constexpr uint32_t kBytes = 8u << 20;

  explicit Psram(SerialStore store) : store_(std::move(store)) {}

  bool quad_mode() const { return quad_; }

  bool transfer(const SerialTransfer& transfer, Cycles now, uint64_t core_hz) override;
  void reset() override;
  void snapshot(Snapshot& s) override;

 private:
  SerialStore store_;
  bool quad_ = false;  // QPI
  bool reset_enabled_ = false;
};

}  // namespace millrace::board
