// SPDX-License-Identifier: Apache-2.0
// A board for gdb: `target remote :PORT`.
#pragma once

#include <atomic>
#include <functional>

#include "millrace/board/board.h"
#include "millrace/host/result.h"

namespace millrace::cli {

struct GdbOptions {
  unsigned port = 0;  // of 127.0.0.1 only; 0: any that is free
  // The port that gdb can connect to from now on.
  std::function<void(unsigned port)> on_listening;
  // Called between two pieces of the run and at least every 50 ms: flush output, read input.
  std::function<void()> between;
  const std::atomic<bool>* interrupted = nullptr;
};

enum class GdbEnd {
  interrupted,  // Ctrl-C in our terminal
  killed,       // the debugger's user gave up the run
  stopped,      // the board ended by itself (exit), or stopped while no debugger was there
};

struct GdbOutcome {
  GdbEnd end = GdbEnd::interrupted;
  board::StopInfo stop;  // the last one
};

// Waits for a debugger and does what it says, one debugger at a time; a second one is turned away.
// When it detaches the board runs on, and the next one stops it again; when it just goes away the
// board stands still until the next one comes. Fails with one sentence if there is no such port.
host::Result<GdbOutcome> serve_gdb(board::Board& board, const GdbOptions& options);

}  // namespace millrace::cli
