// SPDX-License-Identifier: Apache-2.0
// How a virtual board is made, as a command line (`--icache off`) and the name of a port
// (`board:IMAGE?icache=off`) say it.
#pragma once

#include <string>

#include "cli/command_line.h"
#include "millrace/board/board.h"
#include "millrace/host/result.h"

namespace millrace::cli {

struct BoardChoices {
  board::BoardOptions board;
  std::string timing_file;  // of a profile; read by load_timing_profile()
};

// The file of a signal of --adc, or empty.
std::string adc_file(const std::string& signal);

// Adds the options; `choices` must outlive CommandLine::run().
void add_board_options(Command& command, BoardChoices* choices);

// Takes KEY=VALUE of a port. False: there is no such option of a board; else *status says whether
// the value is right.
bool take_board_option(const std::string& key, const std::string& value, BoardChoices* choices,
                       host::Status* status);

// Reads choices->timing_file if there is one. `option`: what stands before its name in sentences.
host::Status load_timing_profile(const std::string& option, BoardChoices* choices);

}  // namespace millrace::cli
