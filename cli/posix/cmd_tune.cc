// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>

#include "cli/check_report.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/posix/tune_loop.h"
#include "cli/predict_report.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;
using placement::CheckStatus;

namespace {

const std::string kBoard = "board:";

struct Options {
  std::string target;
  OutputOptions outputs;
  TuneSettings settings;
};

void print_head(std::FILE* file) {
  print(file, "{:6} {:>8} {:>8} | {:>10} {:>10} {:>7} | {:>11} {:>11}  {}\n", "round", "entries",
        "bytes", "cycles", "predicted", "off %", "echoes/s", "predicted", "check");
}

void print_round(std::FILE* file, const TuneRound& round) {
  const bool is_stock = round.number == 0;
  const bool has_claim = !is_stock && round.predicted->is_usable;
  const double predicted = has_claim ? round.predicted->predicted.busy : 0;
  print(file, "{:6} {:>8} {:>8} | {:>10} {:>10} {:>7} | {:>11} {:>11}  {}\n",
        is_stock ? "stock" : std::to_string(round.number),
        is_stock ? "-" : std::to_string(round.entries), is_stock ? "-" : grouped(round.fast_bytes),
        whole(round.cycles), has_claim ? whole(predicted) : "-",
        has_claim ? fmt::format("{:+.1f}", 100 * (predicted / round.cycles - 1)) : "-",
        whole(round.rate_per_s), has_claim ? whole(round.predicted_per_s) : "-",
        is_stock ? "-" : name_of(round.check.worst()));
  if (!is_stock && !has_claim) {
    print(file,
          "       prediction not usable: the last image takes {} cycles by the model, {} in the "
          "trace\n",
          whole(round.predicted->model.busy), whole(round.predicted->recorded.busy));
  }
  if (round.predicted_by_trace) {
    print(file, "       ranked by samples; the list that the trace gives: {} cycles predicted\n",
          whole(round.predicted_by_trace->predicted.busy));
  }
  std::fflush(file);
}

Json round_json(const TuneRound& round) {
  Json out = {{"round", round.number},
              {"image", round.image},
              {"trace", round.trace},
              {"list", round.list},
              {"entries", round.entries},
              {"fast_bytes", round.fast_bytes},
              {"cycles_per_event", round.cycles},
              {"echoes_per_s", round.rate_per_s}};
  if (!round.samples.empty()) out["samples"] = round.samples;
  if (!round.predicted) return out;
  out["predicted"] = prediction_json(*round.predicted);
  if (round.predicted->is_usable) out["predicted_echoes_per_s"] = round.predicted_per_s;
  if (round.predicted_by_trace)
    out["predicted_by_trace"] = prediction_json(*round.predicted_by_trace);
  add_check_json(&out, round.check);
  return out;
}

int run(const Options& options, const Invocation& invocation) {
  TuneSettings settings = options.settings;
  if (options.target.rfind(kBoard, 0) != 0 || options.target.size() == kBoard.size()) {
    return fail(Error{ErrorCode::usage,
                      fmt::format("{}: give board: and the folder of a firmware build, such as "
                                  "board:build/arm",
                                  printable(options.target))});
  }
  if (settings.budget == 0) {
    return fail(Error{ErrorCode::usage, "--budget is missing (bytes of ITCM, such as 32K)"});
  }
  settings.folder = options.target.substr(kBoard.size());
  const size_t mark = settings.folder.find('?');
  if (mark != std::string::npos) {
    settings.query = settings.folder.substr(mark + 1);
    settings.folder.resize(mark);
  }
  Status status = check_outputs(options.outputs);
  if (!status) return fail_output(status.error());
  catch_interrupt();
  std::FILE* const file = report_file(options.outputs);
  TuneHooks hooks;
  hooks.on_step = [](const std::string& text) { write_now(stderr, text + "\n"); };
  hooks.on_round = [file](const TuneRound& round) {
    if (round.number == 0) print_head(file);
    print_round(file, round);
  };
  hooks.on_output = [](const std::string& lines) { write_now(stderr, lines); };
  const Result<TuneResult> tuned = tune(settings, hooks);
  if (!tuned && !interrupted()) return fail(tuned.error());
  if (!tuned) {
    print(file, "{}", interrupted_before("the end of the first round"));
    return kInterrupted;
  }
  const int code = tuned->trouble ? fail(*tuned->trouble) : kOk;
  const TuneRound& stock = tuned->rounds.front();
  const TuneRound& best = tuned->rounds[tuned->best];
  print(file, "\nstopped: {}\n", printable(tuned->stopped));
  if (tuned->best > 0) {
    print(file, "stock -> placed: {} -> {} echoes/s, {:.2f} times\nlist     {}\nimage    {}\n",
          whole(stock.rate_per_s), whole(best.rate_per_s), best.rate_per_s / stock.rate_per_s,
          printable(best.list), printable(best.image));
    if (best.check.worst() >= CheckStatus::failed) {
      print(file, "\n{}", check_report(best.check, 10));
    }
  }
  Json document = result_document("tune", invocation);
  Json rounds = Json::array();
  for (const TuneRound& one : tuned->rounds) rounds.push_back(round_json(one));
  document["tune"] = {{"program", settings.program},
                      {"budget", settings.budget},
                      {"ranked_by", settings.by_samples ? "samples" : "trace"},
                      {"rounds", rounds},
                      {"best", tuned->best},
                      {"stopped", tuned->stopped}};
  status = write_outputs(options.outputs, document);
  if (!status) return worse(code, fail_output(status.error()));
  return worse(code, best.check.worst() >= CheckStatus::failed ? kFailed : kOk);
}

}  // namespace

void add_tune(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "tune", "Build, measure, place, rebuild, check and measure our firmware on the virtual board",
      "Examples:\n"
      "  millrace tune board:build/arm --budget 32K\n"
      "  millrace tune 'board:build/arm?host=xhci-laptop' --budget 8K --rounds 2\n"
      "  millrace tune board:build/arm --budget 32K --samples\n"
      "  millrace tune board:build/arm --program usb_echo_ncm --budget 4K --json tune.json\n"
      "TARGET names a folder of a CMake build of Millrace's firmware (`make firmware`): it says "
      "where\n"
      "the source is and stays as it is. Images, traces and lists are written below --work. A "
      "round\n"
      "takes the trace of the one before, so what is resident by then is not moved any more. "
      "Cycles\n"
      "are core cycles an echo, awake; both rates are predictions of the board's model of time.\n"
      "Exit code 1 if the firmware does not build or a check fails.");
  command.positional("TARGET", "board:FOLDER, or board:FOLDER?KEY=VALUE with keys of board: ports",
                     ValueKind::folder, true, &options->target);
  TuneSettings& settings = options->settings;
  command.option("--budget", "BYTES", "Of ITCM, all rounds together: bytes, as 32K",
                 ValueKind::text,
                 number_into(&settings.budget, Scale::bytes, 64, uint64_t{512} << 10));
  command.text("--program", "NAME", "firmware/ports/rt1062/programs/NAME.cc (usb_echo_heavy_ecm)",
               ValueKind::text, &settings.program);
  command.text("--event", "FUNCTION", "Runs once an echo (millrace::firmware::EchoStack::echo)",
               ValueKind::text, &settings.event);
  command.flag("--samples",
               "Rank by the firmware's own sampler, as on a real board, not by the trace",
               &settings.by_samples);
  command.option("--rounds", "N", "At most (4)", ValueKind::text,
                 number_into(&settings.rounds, Scale::count, 1, 4));
  command.option("--in-flight", "N", "Datagrams under way (64)", ValueKind::text,
                 number_into(&settings.in_flight, Scale::count, 1, 1024));
  command.option("--step-ms", "MS", "Simulated length of a measurement (100)", ValueKind::text,
                 number_into(&settings.step_ms, Scale::count, 10, 2000));
  command.text("--work", "FOLDER", "Where builds, lists and traces go (out/tune)",
               ValueKind::folder, &settings.work);
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
