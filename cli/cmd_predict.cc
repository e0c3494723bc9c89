// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/predict_report.h"
#include "cli/print.h"
#include "cli/profile_options.h"
#include "cli/result_json.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Status;

namespace {

struct Options {
  OutputOptions outputs;
  ProgramOptions program;
  std::string trace, list;
  placement::PredictOptions predict;
};

int run(const Options& options, const Invocation& invocation) {
  Status status = check_outputs(options.outputs);
  if (!status) return fail_output(status.error());
  LoadedProgram program;
  status = load_program(options.program, &program);
  if (!status) return fail(status.error());
  std::vector<uint8_t> trace;
  placement::PlacementList list;
  profile::Failure failure =
      profile::read_file(options.trace, profile::kMaxSampleFileBytes, &trace);
  if (!failure) failure = placement::read_list(options.list, &list);
  placement::Prediction prediction;
  if (!failure) {
    failure = placement::predict(&program.index, program.target, trace, list, options.predict,
                                 &prediction);
  }
  if (failure) return fail(to_error(*failure));
  write_text(report_file(options.outputs), predict_report(prediction));
  Json document = result_document("predict", invocation);
  document["predict"] = prediction_json(prediction);
  status = write_outputs(options.outputs, document);
  if (!status) return fail_output(status.error());
  return prediction.is_usable ? kOk : kFailed;
}

}  // namespace

void add_predict(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "predict", "What a program would take with a list in fast memory, before it is rebuilt",
      "Examples:\n"
      "  millrace udp bench 'board:echo.elf?trace=run.trace' --in-flight 64 --step-ms 100 \\\n"
      "    --no-aftermath\n"
      "  millrace predict echo.elf run.trace hot.list --event millrace::firmware::echo_load\n"
      "  millrace predict firmware.elf run.trace hot.list --events 1000 --json predict.json\n"
      "The blocks of the trace are run through a model of the instruction cache, with the code of\n"
      "the list in fast memory and the rest moved together as a linker does it. Times are core "
      "cycles\n"
      "an event, awake. Exit code 1, and no prediction, if the model does not repeat the trace to\n"
      "20 %. TRACE: of `board run --trace` or `board:IMAGE?trace=FILE`.");
  add_program_options(command, &options->program);
  command.positional("TRACE", "Execution trace of this ELF (spec/trace.md)", ValueKind::file, true,
                     &options->trace);
  command.positional("LIST", "What goes to fast memory (spec/placement_list.md)", ValueKind::file,
                     true, &options->list);
  command.text("--event", "FUNCTION",
               "Runs once an event: count from its first to its last call in the trace",
               ValueKind::text, &options->predict.event);
  command.option("--events", "N", "So many events in the whole trace (1)", ValueKind::text,
                 number_into(&options->predict.events, Scale::count, 1, 1'000'000'000'000));
  command.option("--seeds", "N", "Runs with other replacements in the cache (4)", ValueKind::text,
                 number_into(&options->predict.seeds, Scale::count, 1, 64));
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
