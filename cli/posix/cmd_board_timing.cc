// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/table.h"
#include "millrace/board/timing_table.h"

namespace millrace::cli {

namespace {

int run(const OutputOptions& outputs, const Invocation& invocation) {
  if (const host::Status writable = check_outputs(outputs); !writable) {
    return fail_output(writable.error());
  }
  Table table({"<parameter", "value", "<unit", "<grade", "<source"});
  Json document = result_document("board timing", invocation);
  document["parameters"] = Json::array();
  for (const board::TimingEntry& entry : board::timing_table()) {
    table.add({std::string(entry.name), std::to_string(entry.value), std::string(entry.unit),
               std::string(1, entry.grade), std::string(entry.source)});
    document["parameters"].push_back({{"name", entry.name},
                                      {"value", entry.value},
                                      {"unit", entry.unit},
                                      {"grade", std::string(1, entry.grade)},
                                      {"source", entry.source}});
  }
  print(
      report_file(outputs),
      "{}\nA: measured on hardware or printed by the vendor; B: read in vendor or upstream source; "
      "C: secondary\ntext; I: inferred or fitted (docs/validation.md)\n",
      table.text(100));
  const host::Status written = write_outputs(outputs, document);
  return written ? kOk : fail_output(written.error());
}

}  // namespace

void add_board_timing(Command parent, const Program& program) {
  const auto outputs = std::make_shared<OutputOptions>();
  Command command = parent.add_command(
      "timing", "The numbers of the timing model, with their sources",
      "A profile for `board run --timing FILE` overrides them, a line each: `NAME = VALUE`.\n"
      "Example:\n"
      "  millrace board timing --json timing.json");
  add_json_option(command, outputs.get());
  command.action([outputs, &program] { return run(*outputs, program.invocation); });
}

}  // namespace millrace::cli
