// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/run_report.h"
#include "cli/sweep.h"
#include "cli/terminal.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Endpoint;
using host::Result;

namespace {

struct Options {
  LinkOptions link;
  SweepPlan plan;
};

const char* const kLegend =
    "MB/s of the runs that passed; * a run failed, - none passed, empty: not measured\n";

void print_sweep(std::FILE* out, const SweepResult& sweep) {
  const Colour colour(out);
  if (sweep.first) {
    const host::RunResult& first = *sweep.first;
    print(out, "{}{}\n", printable(first.port.path),
          is_pty(first.port) ? ", a PTY on this machine, not USB" : "");
    if (first.ceiling_bytes_per_s > 0) {
      print(out, "ceiling {:.3f} MB/s\n", first.ceiling_bytes_per_s / 1e6);
    }
  }
  print(out, "\n{}{}\n{}", sweep_table(sweep).text(), kLegend, sweep_details(sweep).text());
  const std::string failures = sweep_failures(sweep);
  if (!failures.empty()) print(out, "\n{}\n{}", colour.bad("failed"), failures);
  if (!sweep.interrupted.empty()) {
    print(out, "\n{}\n", wrap(printable(sweep.interrupted) + "; not counted", 100, 4));
  }
}

int run(const Options& options, const Invocation& invocation) {
  const LinkOptions& link = options.link;
  int code = kOk;
  const std::unique_ptr<Endpoint> endpoint = begin_measurement(link, &code);
  if (endpoint == nullptr) return code;
  SweepPlan plan = options.plan;
  plan.settings = link.settings;
  SweepResult sweep;
  {
    ProgressBar bar;
    const host::RunHooks hooks = bar.hooks();
    catch_interrupt();
    sweep = run_sweep(*endpoint, plan, host::run_serial, hooks,
                      [&bar](const std::string& label) { bar.set_label(label); });
  }
  if (sweep.error) fail(*sweep.error);
  if (!sweep.first) return end_measurement(*endpoint, host::Status(), sweep.code);
  print_sweep(report_file(link.outputs), sweep);
  Json document = result_document("serial sweep", invocation);
  document["port_name"] = link.port;
  document["port"] = to_json(*sweep.port);
  document["settings"] = to_json(plan.settings);
  document["ceiling_bytes_per_s"] = sweep.first->ceiling_bytes_per_s;
  document["failed"] = sweep.code != kOk;
  document["cells"] = to_json(sweep);
  if (sweep.error) document["error"] = sweep.error->message;
  const std::string markdown =
      sweep_table(sweep).markdown() + '\n' + kLegend + '\n' + sweep_details(sweep).markdown();
  const host::Status written =
      write_outputs(link.outputs, document, sweep_csv(sweep).csv(), markdown);
  return end_measurement(*endpoint, written, sweep.code);
}

}  // namespace

void add_serial_sweep(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  SweepPlan& plan = options->plan;
  Command command = parent.add_command(
      "sweep", "Measure frame sizes x acknowledgements, several times each, into a table",
      "Examples:\n"
      "  millrace serial sweep /dev/ttyACM0 --json sweep.json --markdown sweep.md\n"
      "  millrace serial sweep COM7 --frame-sizes 512,2K --acks none,window:8 --repeat 10\n"
      "  millrace serial sweep pc:\n"
      "MB/s are 10^6 bytes a second. Exit code 1 if a run failed.");
  add_link_options(command, &options->link);
  command.option("--frame-sizes", "LIST",
                 "Frame sizes in bytes, separated by commas; K, M = 1,024, 1,048,576 "
                 "(128,256,512,1K,2K,4K)",
                 ValueKind::text, [&plan](const std::string& text) {
                   Result<std::vector<uint32_t>> sizes = parse_sizes(text);
                   if (!sizes) return host::Status(sizes.error());
                   plan.frame_sizes = sizes.value();
                   return host::Status();
                 });
  command.option("--acks", "LIST", "none, each, window:N, separated by commas (none,each)",
                 ValueKind::text, [&plan](const std::string& text) {
                   Result<std::vector<uint16_t>> windows = parse_acks(text);
                   if (!windows) return host::Status(windows.error());
                   plan.windows = windows.value();
                   return host::Status();
                 });
  command.option("--repeat", "N", "Runs a cell (3)", ValueKind::text,
                 number_into(&plan.repeat, Scale::count, 1, 10000));
  command.option("--bytes", "BYTES", "Bytes of a run; K, M, G = powers of 1,024 (16M)",
                 ValueKind::text, number_into(&plan.bytes, Scale::bytes, 1, uint64_t{1} << 40));
  command.option("--ack-frames", "N",
                 "Most frames of an acknowledged run; k = 1,000, Ki = 1,024 (4Ki)", ValueKind::text,
                 number_into(&plan.ack_frames, Scale::count, 1, UINT32_MAX));
  add_json_option(command, &options->link.outputs);
  add_table_options(command, &options->link.outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
