// SPDX-License-Identifier: Apache-2.0
// The program that `profile` and `memory` look at.
#pragma once

#include <string>

#include "cli/command_line.h"
#include "millrace/host/result.h"
#include "millrace/profile/elf_index.h"
#include "millrace/profile/target.h"

namespace millrace::cli {

struct ProgramOptions {
  std::string elf, map, target;
};

struct LoadedProgram {
  profile::ElfIndex index;
  profile::Target target;
};

// ELF, --map and --target.
void add_program_options(Command& command, ProgramOptions* options);
host::Status load_program(const ProgramOptions& options, LoadedProgram* out);
// With the exit code of its kind: a file that is not there is a usage error, one that is damaged or
// of another program failed.
host::Error to_error(const profile::Error& error);

}  // namespace millrace::cli
