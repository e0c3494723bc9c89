// SPDX-License-Identifier: Apache-2.0
// The breakpoints and watchpoints that gdb inserted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "millrace/board/board.h"

namespace millrace::board::gdb {

// The digit behind Z and z.
enum class PointKind : uint8_t { software = 0, hardware = 1, write = 2, read = 3, access = 4 };

class StopPoints {
 public:
  static constexpr size_t kMaxBreakpoints = 1024;
  static constexpr size_t kMaxWatchpoints = 64;

  enum class Change : uint8_t { done, bad_range, too_many };

  explicit StopPoints(Board& board) : board_(board) {}

  // Doing it twice is doing it once, as the manual asks. `size`: watched bytes; of a breakpoint it
  // is the size of the instruction and of no interest. Removing what is not there is done, too.
  Change insert(PointKind kind, uint32_t address, uint32_t size);
  Change remove(PointKind kind, uint32_t address, uint32_t size);
  void clear();

  // A breakpoint at this instruction.
  bool has_breakpoint(uint32_t pc) const;
  // The part of a stop reply that says what was hit: "watch:20000004;". An access may begin before
  // the watched bytes; gdb is told the first watched byte then. Empty: nothing of ours.
  std::string watch_text(uint32_t access_address) const;

 private:
  struct Watch {
    PointKind kind;
    uint32_t address;
    uint32_t size;
    friend bool operator==(const Watch&, const Watch&) = default;
  };
  Change change_breakpoint(PointKind kind, uint32_t address, bool on);
  Change change_watch(const Watch& watch, bool on);
  void tell(const Watch& watch, bool on);

  Board& board_;
  std::set<uint32_t> software_, hardware_;
  std::vector<Watch> watches_;
};

}  // namespace millrace::board::gdb
