// SPDX-License-Identifier: Apache-2.0
// Data watchpoint and trace unit at 0xE0001000 (Armv7-M ARM C1.8): cycle counter, profiling
// counters, four comparators as data watchpoints.
#pragma once

#include <array>
#include <cstdint>

#include "core/event_queue.h"

namespace millrace::board {

class Dwt {
 public:
  static constexpr unsigned kComparators = 4;
  // The 8-bit counters, in the order of their registers and of their enable bits in DWT_CTRL.
  enum class Counter : uint8_t { cpi, exception, sleep, lsu, fold };

  void reset() { *this = Dwt(); }
  void set_trace_enabled(bool on, Cycles now);     // DEMCR.TRCENA
  void set_clock_stands(bool stands, Cycles now);  // CYCCNT stands too

  uint32_t read(uint32_t offset, Cycles now);  // `offset` from 0xE0001000
  void write(uint32_t offset, uint32_t value, Cycles now);
  uint32_t cycle_count(Cycles now) const;  // CYCCNT

  // Adds to a profiling counter if it is on; wraps at 256.
  void count(Counter counter, uint32_t cycles);

  void snapshot(Snapshot& s);

  bool watches_data() const { return watches_data_; }
  // True if a comparator matches the access: a watchpoint debug event. Sets FUNCTION.MATCHED.
  bool match_data(uint32_t address, unsigned size, bool is_write);

 private:
  struct Comparator {
    uint32_t comp = 0;
    uint32_t mask = 0;
    uint32_t function = 0;
  };
  void update();

  uint32_t control_ = 0;
  bool trace_enabled_ = false;
  bool watches_data_ = false;
  bool counting_ = false;
  bool clock_stands_ = false;
  uint32_t cycles_ = 0;  // CYCCNT at anchor_
  Cycles anchor_ = 0;
  std::array<uint8_t, 5> counters_{};
  std::array<Comparator, kComparators> comparators_{};
};

}  // namespace millrace::board
