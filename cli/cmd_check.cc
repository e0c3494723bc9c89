// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/check_report.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/print.h"
#include "cli/profile_options.h"
#include "cli/result_json.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;
using placement::CheckStatus;

namespace {

struct Options {
  OutputOptions outputs;
  ProgramOptions program;
  std::string list, before, samples, region;
  placement::CheckOptions check;
  bool is_strict = false;
  size_t top = 10;
};

int run(Options options, const Invocation& invocation) {
  Status status = check_outputs(options.outputs);
  if (status && options.check.is_evicted && options.list.empty()) {
    status = Error{ErrorCode::usage, "--evicted says what --list is: give --list FILE"};
  }
  if (!status) return fail_output(status.error());
  LoadedProgram program;
  status = load_program(options.program, &program);
  if (!status) return fail(status.error());
  placement::CheckOptions& check = options.check;
  profile::Failure failure;
  placement::PlacementList list;
  if (!options.list.empty()) {
    failure = placement::read_list(options.list, &list);
    check.list = &list;
  }
  profile::ElfIndex before;
  if (!failure && !options.before.empty()) {
    failure = profile::ElfIndex::read(options.before, {}, &before);
    check.before = &before;
  }
  profile::Profile hot;
  if (!failure && !options.samples.empty()) {
    profile::SampleSet samples;
    failure = profile::read_samples(options.samples, {}, &samples);
    if (!failure) {
      failure = profile::attribute(&program.index, samples, program.target, {}, &hot);
    }
    check.profile = &hot;
  }
  placement::CheckReport report;
  if (!failure) failure = placement::check(&program.index, program.target, check, &report);
  if (failure) return fail(to_error(*failure));
  std::FILE* const file = report_file(options.outputs);
  print(file, "{:<11}{} ({})\n", "target", program.target.name, program.target.about);
  write_text(file, check_report(report, options.top));
  Json document = result_document("check", invocation);
  add_check_json(&document, report);
  status = write_outputs(options.outputs, document);
  if (!status) return fail_output(status.error());
  const CheckStatus limit = options.is_strict ? CheckStatus::warned : CheckStatus::failed;
  return report.worst() >= limit ? kFailed : kOk;
}

}  // namespace

void add_check(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "check", "Whether a linked program is what a placement list asked for, and can start",
      "Examples:\n"
      "  millrace check firmware.elf --list hot.list --budget 32K\n"
      "  millrace check zephyr.elf --list hot.list --before zephyr_stock.elf --strict\n"
      "  millrace check firmware.elf --list hot.list --samples run.trace --json check.json\n"
      "  millrace check firmware.elf\n"
      "It looks at what was linked: whether every function of the list, with its clones, stands "
      "in\n"
      "fast memory and nothing else does; the bytes that really takes; long calls (veneers) and "
      "calls\n"
      "out of fast memory; sections on top of each other; and whether anything that runs before "
      "the\n"
      "copy to fast memory is done is itself copied. --samples says which of it is hot: samples or "
      "a\n"
      "trace of this very ELF; shares in brackets are of its busy time.\n"
      "Exit code 1 if a check fails, or, with --strict, warns.");
  add_program_options(command, &options->program);
  command.text("--list", "FILE", "What was asked for (spec/placement_list.md)", ValueKind::file,
               &options->list);
  command.flag("--evicted", "The list is of `place --evict`: what it names must have left",
               &options->check.is_evicted);
  command.option(
      "--budget", "BYTES", "At most so much of the fast memory, beyond --before's: bytes, as 32K",
      ValueKind::text, number_into(&options->check.budget, Scale::bytes, 1, uint64_t{1} << 32));
  command.text("--region", "NAME", "The fast memory, as the target names it (first one for code)",
               ValueKind::text, &options->check.region);
  command.text("--before", "ELF", "The program without the list: what stood there may stand there",
               ValueKind::file, &options->before);
  command.text("--samples", "FILE", "What is hot: samples or a trace of this ELF", ValueKind::file,
               &options->samples);
  command.option(
      "--allow", "NAME", "A function that may stand there without being listed", ValueKind::text,
      [options](const std::string& name) {
        options->check.allow.push_back(name);
        return Status();
      },
      Repeats::yes);
  command.flag("--allow-missing", "Names of the list that the program lacks are no failure",
               &options->check.allow_missing);
  command.text("--entry", "NAME", "The function that runs first (from the ELF)", ValueKind::text,
               &options->check.boot.entry);
  command.text("--copy-end", "NAME",
               "The function that returns when all copies are done (found by what it reads)",
               ValueKind::text, &options->check.boot.copy_end);
  command.flag("--strict", "Warnings are failures", &options->is_strict);
  command.option("--top", "N", "Findings of each check to print (10)", ValueKind::text,
                 number_into(&options->top, Scale::count, 0, 1'000'000));
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
