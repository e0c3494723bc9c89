// SPDX-License-Identifier: Apache-2.0
// gdb's remote serial protocol for a board, over bytes: who owns the socket carries them. See the
// manual "Debugging with GDB", appendix E. Not thread-safe.
//
//   GdbServer server(board);
//   server.connect();
//   for (;;) {
//     server.receive(bytes from gdb, if any);
//     send(server.take_output());
//     if (server.running()) server.run(1'000'000);  // short, so that Ctrl-C is noticed soon
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "millrace/board/board.h"

namespace millrace::board {

enum class GdbState : uint8_t {
  idle,      // no debugger yet, or it went away without a word: the board stands still
  stopped,   // a debugger is there and has the board stopped
  running,   // at a debugger's request
  detached,  // the debugger let the board go on without it
  exited,    // the firmware ended itself
  ended,     // the board stopped for another reason while no debugger was there
  killed,    // the debugger wants the run to end
};

class GdbServer {
 public:
  // `board` must outlive this and is driven by nobody else meanwhile.
  explicit GdbServer(Board& board);
  ~GdbServer();
  GdbServer(const GdbServer&) = delete;
  GdbServer& operator=(const GdbServer&) = delete;

  // A debugger came: the board stops where it is.
  void connect();
  // It went away. Breakpoints and watchpoints are removed; what was stopped or running is `idle`.
  void disconnect();
  // Any bytes. Malformed packets are answered with an error or dropped, packets above 16 KB
  // (kMaxPacket) are dropped with an error. Each received packet makes at most 64 KB of output.
  void receive(std::span<const uint8_t> bytes);
  // What is to be sent, and forgets it.
  std::string take_output();

  GdbState state() const;
  // run() has something to do: `running` or `detached`.
  bool running() const;
  // Runs the board for about `cycles` core cycles, or until it stops.
  void run(uint64_t cycles);
  // Why the board stopped last.
  const StopInfo& last_stop() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::board
