// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace millrace::cli {

// The measuring of UDP is built on Linux's sockets.
void add_udp(Command, const Program&) {}

}  // namespace millrace::cli
