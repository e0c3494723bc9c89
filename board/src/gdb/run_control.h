// SPDX-License-Identifier: Apache-2.0
// Lets the board run the way a debugger asked for, in pieces.
#pragma once

#include <cstdint>
#include <optional>

#include "gdb/stop_points.h"
#include "millrace/board/board.h"

namespace millrace::board::gdb {

class RunControl {
 public:
  // Both outlive this.
  RunControl(Board& board, const StopPoints& points) : board_(board), points_(points) {}

  // What the next run() does. Behind a BKPT that stopped the board at this pc, it is left first.
  void start();                                 // until something stops it
  void start_step(uint32_t from, uint32_t to);  // while the pc is in [from, to); one at least
  // For about `cycles` core cycles; a value: it stopped.
  std::optional<StopInfo> run(uint64_t cycles);
  // Forgets what was begun.
  void reset();

 private:
  enum class Kind : uint8_t { go, step };
  std::optional<StopInfo> step_once();
  bool interrupts(uint32_t exception) const;
  void leave_bkpt();
  bool step_was_done(uint32_t from, uint32_t to) const;
  StopInfo stopped(StopInfo info);

  Board& board_;
  const StopPoints& points_;
  Kind kind_ = Kind::go;
  uint32_t from_ = 0, to_ = 0;
  uint32_t level_ = 0;         // exception number where the step began
  uint32_t step_pc_ = 0;       // of the instruction to be stepped
  bool done_ = false;          // the step is no step, see step_was_done()
  bool in_interrupt_ = false;  // that came between
  // The last stop, until the board runs again.
  std::optional<uint32_t> bkpt_;   // at a BKPT with this pc
  std::optional<StopInfo> watch_;  // at a watchpoint
};

}  // namespace millrace::board::gdb
