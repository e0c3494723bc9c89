// SPDX-License-Identifier: Apache-2.0
// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

#include "millrace/host/result.h"

namespace millrace::cli {

// Runs words[0], looked up in PATH, with its output kept. Errors: usage: it is not there;
// interrupted; protocol: it failed, and *last_lines has what it wrote at the end, for a terminal.
// `what`: "building the firmware", for the sentence.
host::Status run_command(const std::string& what, const std::vector<std::string>& words,
                         std::string* last_lines);

}  // namespace millrace::cli
