// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, a request to terminate and a closed terminal, as a flag that long work looks at.
#pragma once

#include <atomic>

namespace millrace::cli {

// From now on the first SIGINT, SIGTERM or SIGHUP (not under nohup) sets the flag; a second one
// ends the program at once. Windows has the first two.
void catch_interrupt();
const std::atomic<bool>& interrupted();

}  // namespace millrace::cli
