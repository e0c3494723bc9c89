// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace millrace::cli {

// It measures on the virtual board, which is not built on Windows.
void add_tune(Command, const Program&) {}

}  // namespace millrace::cli
