// SPDX-License-Identifier: Apache-2.0
#include "binary_stdin.h"

namespace millrace::capture {

void make_stdin_binary() {}

}  // namespace millrace::capture
