// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace millrace::cli {

void add_board(Command parent, const Program& program) {
  Command board = parent.add_command("board", "The virtual Teensy 4.1",
                                     "Examples:\n  millrace board run hello.hex");
  add_board_run(board, program);
}

}  // namespace millrace::cli
