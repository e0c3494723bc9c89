// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_options.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

void add_program_options(Command& command, ProgramOptions* options) {
  command.positional("ELF", "The program as it was linked, with symbols", ValueKind::file, true,
                     &options->elf);
  command.text("--map", "FILE", "The linker's map file (GNU ld, lld): archives and regions",
               ValueKind::file, &options->map);
  command.text("--target", "NAME",
               "What it runs on: teensy41, teensyduino, teensy41-zephyr, rp2040, rp2350, generic "
               "or a file (spec/target_file.md); chosen from the ELF",
               ValueKind::file, &options->target);
}

Error to_error(const profile::Error& error) {
  const bool is_usage =
      error.kind == profile::Error::Kind::unreadable || error.kind == profile::Error::Kind::usage;
  return Error{is_usage ? ErrorCode::usage : ErrorCode::protocol, error.message};
}

Status load_program(const ProgramOptions& options, LoadedProgram* out) {
  profile::Failure failure = profile::ElfIndex::read(options.elf, {options.map}, &out->index);
  if (!failure) failure = profile::find_target(options.target, out->index, &out->target);
  if (failure) return to_error(*failure);
  return {};
}

}  // namespace millrace::cli
