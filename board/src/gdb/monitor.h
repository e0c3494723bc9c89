// SPDX-License-Identifier: Apache-2.0
// gdb's `monitor COMMAND` for the board.
#pragma once

#include <string>
#include <string_view>

#include "millrace/board/board.h"

namespace millrace::board::gdb {

// Does the command and returns what is to be shown: whole lines. An unknown command gets the list
// of those that there are.
std::string monitor(Board& board, std::string_view command);

}  // namespace millrace::board::gdb
