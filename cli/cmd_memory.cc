// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/outputs.h"
#include "cli/print.h"
#include "cli/profile_options.h"
#include "cli/profile_report.h"
#include "cli/result_json.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

namespace {

struct Options {
  OutputOptions outputs;
  std::string treemap, samples;
  ProgramOptions program;
  size_t top = 20;
};

int run(const Options& options, const Invocation& invocation) {
  Status status = check_outputs(options.outputs);
  if (status && !options.treemap.empty() && options.treemap != "-") {
    status = check_output(options.treemap);
  }
  if (status && options.treemap == "-" && report_file(options.outputs) == stderr) {
    status =
        Error{ErrorCode::usage, "only one output can go to stdout (name files for the others)"};
  }
  if (!status) return fail_output(status.error());
  LoadedProgram program;
  status = load_program(options.program, &program);
  if (!status) return fail(status.error());
  profile::Profile profile;
  if (!options.samples.empty()) {
    profile::SampleSet samples;
    profile::Failure failure = profile::read_samples(options.samples, {}, &samples);
    if (!failure) {
      failure = profile::attribute(&program.index, samples, program.target, {}, &profile);
    }
    if (failure) return fail(to_error(*failure));
  }
  const profile::MemoryReport report = profile::report_memory(
      program.index, program.target, options.samples.empty() ? nullptr : &profile);
  const bool taken = report_file(options.outputs) == stderr || options.treemap == "-";
  write_text(taken ? stderr : stdout, memory_report(report, options.top));
  Json document = result_document("memory", invocation);
  add_memory_json(&document, report);
  status = write_outputs(options.outputs, document, memory_csv(report));
  if (status && !options.treemap.empty()) {
    status = write_output(options.treemap, file_text(treemap_json(report)));
  }
  if (!status) return fail_output(status.error());
  return report.overlaps.empty() && report.problems.empty() ? kOk : kFailed;
}

}  // namespace

void add_memory(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "memory", "What of a program stands in which memory, what is left, what overlaps",
      "Examples:\n"
      "  millrace memory firmware.elf\n"
      "  millrace memory zephyr.elf --map zephyr.map --target teensy41-zephyr\n"
      "  millrace memory firmware.elf --treemap - | less\n"
      "Run there: bytes that are executed or used at that address; stored there: bytes that are\n"
      "kept there, for use there or elsewhere. Exit code 1 if sections stand on top of each "
      "other,\n"
      "in no memory, or beyond the end of one.");
  add_program_options(command, &options->program);
  command.text("--samples", "FILE", "Add the weight of these samples to the treemap",
               ValueKind::file, &options->samples);
  command.text("--treemap", "FILE",
               "Write regions, sections, libraries, files and symbols as nested JSON; - is stdout",
               ValueKind::output, &options->treemap);
  command.option("--top", "N", "Biggest symbols to list (20)", ValueKind::text,
                 number_into(&options->top, Scale::count, 1, 1'000'000));
  add_json_option(command, &options->outputs);
  command.text("--csv", "FILE", "Write every symbol as CSV; - is stdout", ValueKind::output,
               &options->outputs.csv);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
