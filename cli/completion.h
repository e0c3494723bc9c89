// SPDX-License-Identifier: Apache-2.0
// Completion scripts, generated from the tree of commands.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace millrace::cli {

std::string bash_completion(const CommandInfo& root);
// zsh runs the bash script through its bashcompinit.
std::string zsh_completion(const CommandInfo& root);
std::string fish_completion(const CommandInfo& root);

}  // namespace millrace::cli
