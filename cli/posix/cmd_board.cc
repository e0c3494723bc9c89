// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace millrace::cli {

void add_board(Command parent, const Program& program) {
  Command board = parent.add_command("board", "The virtual Teensy 4.1",
                                     "Examples:\n"
                                     "  millrace board info firmware.elf   where it is stored and "
                                     "runs, whether it boots\n"
                                     "  millrace board run firmware.hex    Serial1 on stdout, 10 "
                                     "simulated seconds\n"
                                     "  millrace board run app.elf --stats what it waits for");
  for (const auto add : {add_board_info, add_board_run, add_board_timing}) add(board, program);
}

}  // namespace millrace::cli
