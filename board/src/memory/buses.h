// SPDX-License-Identifier: Apache-2.0
// What an access costs beyond the TCMs: the AXI bus to OCRAM and the two FlexSPIs, each of which
// does one thing at a time.
#pragma once

#include <cstdint>

#include "core/event_queue.h"
#include "core/snapshot.h"
#include "core/timing.h"
#include "memory/flexspi_timing.h"
#include "memory/physical_memory.h"

namespace millrace::board {

inline constexpr uint32_t kBurstBytes = 32;

class Buses {
 public:
  explicit Buses(const Timing& timing);

  // REQUIRES for all: `memory` is rom, ocram, flash or psram (anything else costs nothing).
  // A wrapping burst, critical beat first, requested at `at`.
  LineTimes fill_line(Memory memory, uint32_t address, Cycles at);
  // Up to 8 bytes inside an aligned 8-byte word: when they are there.
  Cycles read(Memory memory, uint32_t address, Cycles at);
  // Up to 8 bytes: when the memory has taken them. 8 bytes that follow the last ones in the same
  // line continue its burst.
  Cycles write(Memory memory, uint32_t address, uint32_t bytes, Cycles at);
  // A line written back: when the memory has taken it.
  Cycles write_line(Memory memory, uint32_t address, Cycles at);

  FlexSpiTiming& flexspi1() { return flexspi1_; }
  FlexSpiTiming& flexspi2() { return flexspi2_; }
  void reset();
  void snapshot(Snapshot& s);

 private:
  FlexSpiTiming* serial(Memory memory) {
    return memory == Memory::flash ? &flexspi1_ : memory == Memory::psram ? &flexspi2_ : nullptr;
  }

  uint32_t line_first_, line_beat_, read_, write_;
  FlexSpiTiming flexspi1_, flexspi2_;
  Cycles ocram_free_at_ = 0;
  uint32_t ocram_write_next_ = 1;  // address that continues the last write; odd: none
};

}  // namespace millrace::board
