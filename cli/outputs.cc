// SPDX-License-Identifier: Apache-2.0
#include "cli/outputs.h"

#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/result_json.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

void add_json_option(Command& command, OutputOptions* outputs) {
  command.text("--json", "FILE",
               "Write the result as JSON (spec/result.md); - is stdout, and the report then goes "
               "to stderr",
               ValueKind::output, &outputs->json);
}

void add_table_options(Command& command, OutputOptions* outputs) {
  command.text("--csv", "FILE", "Write the table as CSV; - is stdout", ValueKind::output,
               &outputs->csv);
  command.text("--markdown", "FILE", "Write the tables as Markdown; - is stdout", ValueKind::output,
               &outputs->markdown);
}

Status check_outputs(const OutputOptions& outputs) {
  int to_stdout = 0;
  const std::string* const paths[] = {&outputs.json, &outputs.csv, &outputs.markdown};
  for (const std::string* path : paths) {
    if (path->empty()) continue;
    if (*path == "-") {
      ++to_stdout;
      continue;
    }
    for (const std::string* other : paths) {
      if (other == path) break;
      if (other->empty() || *other == "-" || !same_output(*path, *other)) continue;
      return Error{ErrorCode::usage,
                   "write " + *path + ": --json, --csv and --markdown need a file each"};
    }
    Status status = check_output(*path);
    if (!status) return status;
  }
  if (to_stdout > 1) {
    return Error{ErrorCode::usage,
                 "only one of --json, --csv and --markdown can go to stdout (name files for the "
                 "others)"};
  }
  return {};
}

std::FILE* report_file(const OutputOptions& outputs) {
  const bool taken = outputs.json == "-" || outputs.csv == "-" || outputs.markdown == "-";
  return taken ? stderr : stdout;
}

Status write_outputs(const OutputOptions& outputs, const Json& document, const std::string& csv,
                     const std::string& markdown) {
  Status first;
  const auto write = [&](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    Status status = write_output(path, text);
    if (!status && first) first = std::move(status);
  };
  if (!outputs.json.empty()) write(outputs.json, file_text(document));
  write(outputs.csv, csv);
  write(outputs.markdown, markdown);
  return first;
}

int fail_output(const Error& error) {
  const int code = fail(error);
  return code == kUsage ? kUsage : kFailed;
}

}  // namespace millrace::cli
