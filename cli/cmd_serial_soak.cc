// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/run_report.h"
#include "cli/soak.h"
#include "cli/terminal.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Endpoint;
using host::Status;

namespace {

struct Options {
  LinkOptions link;
  SoakPlan plan;
  bool phases_given = false;
};

// On pc: the device unplugs itself, on board: nobody can; on a real board a person is asked.
Replugger replugger_for(const std::string& port) {
  Replugger out;
  if (port.rfind("pc:", 0) == 0) {
    out.endpoint = [port] {
      return host::make_endpoint(with_fault(port, kUnplugFault), endpoint_schemes());
    };
    return out;
  }
  if (port.rfind("board:", 0) == 0) {
    out.impossible = "a board: port stays plugged in (board run --usb pty has --usb-at)";
    return out;
  }
  if (!stdin_is_terminal() || !stderr_is_terminal()) {
    out.impossible = "needs somebody at the board: run it from a terminal";
    return out;
  }
  out.endpoint = [port] {
    print(stderr, "\nunplug the board now, and plug it in again within 30 s\n");
    return host::make_endpoint(port, endpoint_schemes());
  };
  return out;
}

int run(const Options& options, const Invocation& invocation) {
  const LinkOptions& link = options.link;
  int code = kOk;
  const std::unique_ptr<Endpoint> endpoint = begin_measurement(link, &code);
  if (endpoint == nullptr) return code;
  SoakPlan plan = options.plan;
  plan.settings = link.settings;
  SoakResult soak;
  {
    ProgressBar bar;
    const host::RunHooks hooks = bar.hooks();
    catch_interrupt();
    soak = run_soak(*endpoint, plan, replugger_for(link.port), host::run_serial, hooks,
                    [&bar](const std::string& label) { bar.set_label(label); });
  }
  if (soak.error) fail(*soak.error);
  if (soak.phases.empty()) return end_measurement(*endpoint, Status(), soak.code);
  std::FILE* out = report_file(link.outputs);
  const Colour colour(out);
  const std::string path = printable(soak.port ? soak.port->path : link.port);
  print(out, "{}{}\n\n{}\n{}", path,
        soak.port && is_pty(*soak.port) ? ", a PTY on this machine, not USB" : "",
        soak_table(soak).text(), soak_notes(soak));
  const bool any_failed =
      std::any_of(soak.phases.begin(), soak.phases.end(),
                  [](const SoakPhase& phase) { return phase.status == SoakStatus::failed; });
  print(out, "{}\n",
        soak.code == kOk                          ? colour.good("all phases that ran passed")
        : any_failed || soak.code != kInterrupted ? colour.bad("FAILED")
                                                  : colour.strong("interrupted"));
  Json document = result_document("serial soak", invocation);
  document["port_name"] = link.port;
  document["port"] = soak.port ? to_json(*soak.port) : Json(nullptr);
  document["settings"] = to_json(plan.settings);
  document["quick"] = plan.quick;
  document["failed"] = soak.code != kOk;
  document["phases"] = to_json(soak);
  if (soak.error) document["error"] = soak.error->message;
  return end_measurement(*endpoint, write_outputs(link.outputs, document), soak.code);
}

}  // namespace

void add_serial_soak(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  options->link.settings.frame_size = 512;
  Command command = parent.add_command(
      "soak", "Run the situations in which links are known to lose data",
      "Phases: long (1,048,576 frames), burst (3 s quiet on an open port, then full rate),\n"
      "boundary (frames one byte below, at and above multiples of 64 and 512 bytes, both\n"
      "directions), reopen (open and close again and again), replug (asks you to unplug the\n"
      "board; pc: does it by itself).\n"
      "Examples:\n"
      "  millrace serial soak /dev/ttyACM0 --json soak.json\n"
      "  millrace serial soak /dev/ttyACM0 --phase burst --phase boundary\n"
      "  millrace serial soak pc: --quick\n"
      "Exit code 1 if a phase failed.");
  add_link_options(command, &options->link);
  host::RunSettings& settings = options->link.settings;
  command.option("--frame-size", "BYTES",
                 "Frame size of all phases but boundary; K, M = 1,024, 1,048,576 (512)",
                 ValueKind::text,
                 number_into(&settings.frame_size, Scale::bytes, 1, kMaxFrameBytes));
  command.choice(
      "--phase", "Run only this phase; may be given several times", soak_phases(),
      [options](const std::string& name) {
        std::vector<std::string>& phases = options->plan.phases;
        if (!options->phases_given) phases.clear();
        options->phases_given = true;
        if (std::find(phases.begin(), phases.end(), name) == phases.end()) {
          phases.push_back(name);
        }
      },
      Repeats::yes);
  command.flag("--quick", "A short version of each phase, some seconds in all",
               &options->plan.quick);
  add_json_option(command, &options->link.outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
