// SPDX-License-Identifier: Apache-2.0
// The packets that look at the board or change it while it stands still.
#pragma once

#include <string>
#include <string_view>

#include "gdb/stop_points.h"
#include "millrace/board/board.h"

namespace millrace::board::gdb {

class Answers {
 public:
  // Both outlive this.
  Answers(Board& board, StopPoints& points) : board_(board), points_(points) {}

  // The reply to one packet; empty, as the manual asks, for what is not known. `console`: what gdb
  // shall show before it sees the reply.
  std::string answer(std::string_view packet, std::string* console);
  // The debugger of this session understands the stop reason "hwbreak".
  bool knows_hwbreak() const { return knows_hwbreak_; }
  void reset() { knows_hwbreak_ = false; }

 private:
  std::string query(std::string_view packet, std::string* console);
  std::string flash(std::string_view packet);
  std::string supported(std::string_view features);
  std::string read_register(std::string_view arguments);
  std::string write_register(std::string_view arguments);
  std::string change_point(std::string_view packet);

  Board& board_;
  StopPoints& points_;
  bool knows_hwbreak_ = false;
};

}  // namespace millrace::board::gdb
