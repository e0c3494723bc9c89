// SPDX-License-Identifier: Apache-2.0
#include "cli/stack.h"

namespace millrace::cli {

void take_stack() {}  // Windows has no limit on a program's memory that a user could set

}  // namespace millrace::cli
