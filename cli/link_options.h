// SPDX-License-Identifier: Apache-2.0
// The options that every measurement of a serial link has.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/command_line.h"
#include "cli/outputs.h"
#include "millrace/host/serial_run.h"

namespace millrace::cli {

struct LinkOptions {
  std::string port;
  host::RunSettings settings;
  OutputOptions outputs;
};

// PORT and all settings but frame size, count, acknowledgement and direction.
void add_link_options(Command& command, LinkOptions* options);

// What every measurement begins with: the outputs can be written and PORT is a name that can be
// right. Null: it was said on stderr why not, and *code is the exit code.
std::unique_ptr<host::Endpoint> begin_measurement(const LinkOptions& options, int* code);

// The text on port names for --help.
extern const char* const kPortHelp;

// run_serial(), or what a test puts in its place.
using Runner = std::function<host::Result<host::RunResult>(
    host::Endpoint&, const host::RunSettings&, const host::RunHooks&)>;

// The exit code when all is written: `code`, or what output that cannot be written makes of it.
int end_measurement(host::Endpoint& endpoint, const host::Status& written, int code);

}  // namespace millrace::cli
