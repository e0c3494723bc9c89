// SPDX-License-Identifier: Apache-2.0
// --json, --csv, --markdown: where a command's results go besides the terminal.
#pragma once

#include <cstdio>
#include <string>

#include "cli/command_line.h"
#include "cli/json.h"
#include "millrace/host/result.h"

namespace millrace::cli {

struct OutputOptions {
  std::string json, csv, markdown;  // a path, "-" for stdout, empty: not wanted
};

void add_json_option(Command& command, OutputOptions* outputs);
void add_table_options(Command& command, OutputOptions* outputs);

// Asked before anything is measured: every file can be expected to be writable, and at most one
// output goes to stdout.
host::Status check_outputs(const OutputOptions& outputs);
// Where the report for people goes: stdout, or stderr when a result goes to stdout.
std::FILE* report_file(const OutputOptions& outputs);
// Writes what is wanted; `csv` and `markdown` are ignored where the command has no such option.
host::Status write_outputs(const OutputOptions& outputs, const Json& document,
                           const std::string& csv = "", const std::string& markdown = "");
// Prints the error; 1, or 2 when the option itself was wrong.
int fail_output(const host::Error& error);

}  // namespace millrace::cli
