// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace millrace::cli {

// The virtual board is not built on Windows.
void add_board(Command, const Program&) {}

}  // namespace millrace::cli
