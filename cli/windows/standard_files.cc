// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_files.h"

#include <fcntl.h>
#include <io.h>

namespace millrace::cli {

// Handles are not handed out by lowest number: nothing takes the place of a closed one.
void occupy_standard_files() {}

void make_stdout_binary() { _setmode(1, _O_BINARY); }

void make_file_limits_errors() {}  // Windows has no such limit

}  // namespace millrace::cli
