// SPDX-License-Identifier: Apache-2.0
// Instrumentation trace macrocell at 0xE0000000 (Armv7-M ARM C1.7): 32 stimulus ports whose writes
// go to a callback at once, so that a port is always ready.
#pragma once

#include <cstdint>
#include <functional>

#include "core/snapshot.h"

namespace millrace::board {

class Itm {
 public:
  // A write of `size` bytes (1, 2, 4) to an enabled port.
  using Output = std::function<void(unsigned port, uint32_t value, unsigned size)>;

  void reset();
  void set_output(Output output) { output_ = std::move(output); }
  void set_trace_enabled(bool on) { trace_enabled_ = on; }  // DEMCR.TRCENA

  uint32_t read(uint32_t offset) const;
  void write(uint32_t offset, unsigned size, uint32_t value);
  // TPR: whether unprivileged code may write the port or the enable register at `offset`.
  bool unprivileged_write(uint32_t offset) const;

  void snapshot(Snapshot& s);

 private:
  bool port_on(unsigned port) const;

  Output output_;
  bool trace_enabled_ = false;
  uint32_t enabled_ = 0;    // TER
  uint32_t privilege_ = 0;  // TPR
  uint32_t control_ = 0;    // TCR
};

}  // namespace millrace::board
