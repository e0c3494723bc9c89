// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/link_options.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/run_report.h"
#include "cli/statistics.h"
#include "cli/terminal.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Endpoint;
using host::Result;
using host::RunEnd;
using host::RunResult;

namespace {

struct Options {
  LinkOptions link;
  uint32_t repeat = 1;
};

struct Runs {
  std::vector<RunResult> details;  // the first and the first that failed
  std::vector<double> rates;       // of those that passed
  size_t count = 0;
  size_t failed = 0;
  size_t cut_short = 0;  // neither passed nor failed
  int code = kOk;
  Json json = Json::array();
};

// After these there is no sense in another repeat.
bool ends_series(RunEnd end) {
  return end == RunEnd::interrupted || end == RunEnd::gone || end == RunEnd::no_answer ||
         end == RunEnd::refused;
}

void take(Runs& runs, const RunResult& result) {
  ++runs.count;
  if (cut_short(result)) {
    ++runs.cut_short;
  } else if (result.failed()) {
    ++runs.failed;
    if (runs.failed == 1 && runs.count > 1) runs.details.push_back(result);
  } else {
    runs.rates.push_back(result.bytes_per_s);
  }
  if (runs.count == 1) runs.details.push_back(result);
  runs.code = worse(runs.code, exit_code(result));
  runs.json.push_back(to_json(result));
}

void print_series(std::FILE* out, const Runs& runs, const Colour& colour) {
  const Statistics rate = statistics_of(runs.rates);
  std::string line = fmt::format("{} of {} failed", runs.failed, plural(runs.count, "run"));
  if (runs.cut_short != 0) line += fmt::format(", {} interrupted", runs.cut_short);
  if (rate.count == 1) {
    line += fmt::format("; {} passed with {} MB/s", runs.count == 1 ? "it" : "one",
                        megabytes_per_s(rate.mean));
  } else if (rate.count != 0) {
    line += fmt::format("; of those that passed {} +- {} MB/s (mean +- SD), min {}, max {}",
                        megabytes_per_s(rate.mean), megabytes_per_s(rate.deviation),
                        megabytes_per_s(rate.min), megabytes_per_s(rate.max));
  }
  print(out, "{}\n", colour.strong(line));
}

int run(const Options& options, const Invocation& invocation) {
  const LinkOptions& link = options.link;
  int code = kOk;
  const std::unique_ptr<Endpoint> endpoint = begin_measurement(link, &code);
  if (endpoint == nullptr) return code;
  std::FILE* out = report_file(link.outputs);
  const Colour colour(out);
  Runs runs;
  std::optional<host::Error> error;
  {
    ProgressBar bar;
    const host::RunHooks hooks = bar.hooks();
    catch_interrupt();
    for (uint32_t i = 0; i < options.repeat; ++i) {
      if (options.repeat > 1) bar.set_label(fmt::format("run {} of {}", i + 1, options.repeat));
      const Result<RunResult> result = host::run_serial(*endpoint, link.settings, hooks);
      if (!result) {
        error = result.error();
        break;
      }
      take(runs, result.value());
      bar.clear();
      if (options.repeat > 1) {
        write_now(out, fmt::format("run {:>3}  {}  {}\n", i + 1,
                                   cut_short(result.value()) ? "interrupted"
                                   : result.value().failed() ? "FAILED"
                                                             : "ok",
                                   rate_sentence(result.value())));
      }
      if (ends_series(result.value().end)) break;
    }
  }
  if (error) runs.code = worse(runs.code, fail(*error));
  if (runs.count == 0) return end_measurement(*endpoint, host::Status(), runs.code);
  if (options.repeat > 1) print_series(out, runs, colour);
  for (const RunResult& result : runs.details) {
    if (options.repeat > 1) print(out, "\n");
    print(out, "{}", run_report(result, colour));
  }
  const RunResult& shown = runs.details.back();
  Json document = result_document("serial bench", invocation);
  document["port_name"] = link.port;
  document["summary"] = {
      {"runs", runs.count},
      {"failed", runs.failed},
      {"failure_rate", static_cast<double>(runs.failed) / static_cast<double>(runs.count)},
      {"bytes_per_s", to_json(statistics_of(runs.rates))}};
  document["verdict"] = to_json(shown.verdict);
  document["runs"] = runs.json;
  if (error) document["error"] = error->message;
  return end_measurement(*endpoint, write_outputs(link.outputs, document), runs.code);
}

}  // namespace

void add_serial_bench(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  host::RunSettings& s = options->link.settings;
  Command command = parent.add_command(
      "bench", "Measure one setting and say what limits it or what was lost, and where",
      "Examples:\n"
      "  millrace serial bench /dev/ttyACM0\n"
      "  millrace serial bench usb:16c0:0483 --frame-size 4K --frames 1Mi --json run.json\n"
      "  millrace serial bench COM7 --ack window:8 --repeat 5\n"
      "  millrace serial bench pc: --direction both\n"
      "  millrace serial bench 'pc:?drop=1536@4194304'   a damaged stream: what is said of it\n"
      "Rates are in MB/s (10^6 bytes a second), offsets in bytes from the start of the stream.\n"
      "Exit code 1 if anything was lost, altered or not finished, 3 if the device went away, also\n"
      "if it came back.");
  add_link_options(command, &options->link);
  command.option("--frame-size", "BYTES", "Frame size; K, M = 1,024, 1,048,576 (2K)",
                 ValueKind::text, number_into(&s.frame_size, Scale::bytes, 1, kMaxFrameBytes));
  command.option("--frames", "N",
                 "Frames; k, M = 1,000, 1,000,000; Ki, Mi = 1,024, 1,048,576 (16Ki)",
                 ValueKind::text, number_into(&s.frame_count, Scale::count, 1, UINT32_MAX));
  command.option("--ack", "none|each|window:N",
                 "Acknowledge nothing, each frame, or with N frames in flight (none)",
                 ValueKind::text, [&s](const std::string& text) {
                   const Result<uint16_t> window = parse_ack(text);
                   if (!window) return host::Status(window.error());
                   s.window_frames = window.value();
                   return host::Status();
                 });
  command.choice("--direction", "in: device to PC; out: PC to device; both at once (in)",
                 {"in", "out", "both"}, [&s](const std::string& value) {
                   s.direction = value == "out"    ? link::Direction::out
                                 : value == "both" ? link::Direction::both
                                                   : link::Direction::in;
                 });
  command.option("--repeat", "N", "Runs, one after the other (1)", ValueKind::text,
                 number_into(&options->repeat, Scale::count, 1, 10000));
  add_json_option(command, &options->link.outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
