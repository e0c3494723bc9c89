// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and a request to terminate, as a flag that long work looks at.
#pragma once

#include <atomic>

namespace millrace::cli {

// From now on the first SIGINT or SIGTERM sets the flag; a second one ends the program at once.
void catch_interrupt();
const std::atomic<bool>& interrupted();

}  // namespace millrace::cli
