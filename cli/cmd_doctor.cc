// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/link_options.h"
#include "cli/outputs.h"
#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "millrace/host/ports.h"
#include "millrace/host/transport.h"

namespace millrace::cli {

using host::DoctorReport;
using host::Error;
using host::ErrorCode;
using host::Finding;
using host::PortIdentity;
using host::Result;
using host::Severity;

namespace {

struct Options {
  OutputOptions outputs;
  std::string port;
  std::string root;
};

bool is_simulated(const std::string& name) {
  return name.rfind("pc:", 0) == 0 || name.rfind("board:", 0) == 0;
}

// A device inside this program has no driver, cable or permission. What can be wrong with it is its
// name and, of firmware, that it has no serial port.
Result<std::vector<DoctorReport>> examine_simulated(const std::string& name) {
  const bool is_board = name.rfind("board:", 0) == 0;
  Result<std::unique_ptr<host::Endpoint>> endpoint = host::make_endpoint(name, endpoint_schemes());
  if (!endpoint) return endpoint.error();
  DoctorReport report;
  report.port.path = name;
  report.findings.push_back(
      {"simulated", Severity::note,
       is_board ? "firmware on the virtual board, in virtual time: figures are predictions, and no "
                  "driver, hub or other program of this machine takes part"
                : "a measuring device inside this program, behind a PTY: figures say nothing about "
                  "USB, and there is no driver, cable or permission to look at",
       ""});
  if (!is_board && name.find('?') != std::string::npos) {
    report.findings.push_back({"faults", Severity::note,
                               "its stream is damaged on purpose: " + name.substr(4),
                               "leave out what stands behind the question mark"});
  }
  Result<std::unique_ptr<host::Transport>> port = (*endpoint)->open({});
  if (port) {
    const PortIdentity identity = (*port)->identity();
    port->reset();
    report.port = identity;
    report.findings.push_back(
        {"exists", Severity::ok,
         identity.is_usb
             ? fmt::format("it enumerates as {:04x}:{:04x} {} at {:g} Mbit/s", identity.vid,
                           identity.pid, identity.description, identity.usb_speed_mbit)
             : fmt::format("its port {} can be opened", identity.path),
         ""});
  } else {
    report.findings.push_back({"exists", Severity::problem, port.error().message, ""});
  }
  const host::Status finished = (*endpoint)->finish();
  if (!finished) return finished.error();
  return std::vector<DoctorReport>{report};
}

// usb: and serial: names to the path that the port has now.
Result<std::string> path_of(const std::string& name, const std::string& root) {
  if (!name.empty()) {
    const Result<std::unique_ptr<host::Endpoint>> named =
        host::make_endpoint(name, endpoint_schemes());
    if (!named && named.error().code == ErrorCode::usage) return named.error();
  }
  const bool by_usb = name.rfind("usb:", 0) == 0;
  const bool by_serial = name.rfind("serial:", 0) == 0;
  if (!by_usb && !by_serial) return name;
  const Result<std::vector<PortIdentity>> ports = host::list_ports(root);
  if (!ports) return ports.error();
  for (const PortIdentity& port : ports.value()) {
    const std::string usb = fmt::format("usb:{:04x}:{:04x}", port.vid, port.pid);
    const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    const bool usb_equal =
        usb.size() == name.size() && std::equal(usb.begin(), usb.end(), name.begin(), same);
    if (by_usb && port.is_usb && usb_equal) return port.path;
    if (by_serial && name == "serial:" + port.serial_number) return port.path;
  }
  return Error{ErrorCode::not_found, name + ": no such port (millrace ports lists what is there)"};
}

std::string mark(Severity severity, const Colour& colour) {
  switch (severity) {
    case Severity::ok:
      return colour.good("ok      ");
    case Severity::note:
      return colour.quiet("note    ");
    case Severity::warning:
      return colour.strong("warning ");
    case Severity::problem:
      return colour.bad("PROBLEM ");
  }
  return "";
}

void print_report(std::FILE* out, const DoctorReport& report, const Colour& colour) {
  std::string name = report.port.path.empty() ? "this machine" : report.port.path;
  if (!report.port.description.empty()) name += ", " + report.port.description;
  print(out, "{}\n", printable(name));
  for (const Finding& finding : report.findings) {
    print(out, "  {}{}\n", mark(finding.severity, colour),
          wrap(printable(finding.check + ": " + finding.text), 90, 10));
    if (!finding.remedy.empty()) {
      print(out, "          {}\n", wrap(printable("remedy: " + finding.remedy), 90, 10));
    }
  }
}

Result<std::vector<DoctorReport>> examine(const Options& options) {
  if (is_simulated(options.port)) return examine_simulated(options.port);
  const Result<std::string> path = path_of(options.port, options.root);
  if (!path) return path.error();
  return host::examine(path.value(), options.root);
}

int run(const Options& options, const Invocation& invocation) {
  const host::Status writable = check_outputs(options.outputs);
  if (!writable) return fail_output(writable.error());
  const Result<std::vector<DoctorReport>> reports = examine(options);
  if (!reports) return fail(reports.error());
  std::FILE* out = report_file(options.outputs);
  const Colour colour(out);
  Json list = Json::array();
  size_t spoiled = 0;
  for (const DoctorReport& report : reports.value()) {
    print_report(out, report, colour);
    list.push_back(to_json(report));
    if (report.would_spoil()) ++spoiled;
  }
  print(out, "{}\n",
        spoiled == 0 ? "nothing here would spoil a measurement"
                     : "a measurement would be spoiled: see PROBLEM above");
  Json document = result_document("doctor", invocation);
  document["would_spoil"] = spoiled != 0;
  document["reports"] = list;
  const host::Status written = write_outputs(options.outputs, document);
  if (!written) return fail_output(written.error());
  return spoiled == 0 ? kOk : kFailed;
}

}  // namespace

void add_doctor(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "doctor", "Find what would spoil a measurement, with remedies",
      "Examples:\n"
      "  millrace doctor                 this machine and every USB serial port\n"
      "  millrace doctor /dev/ttyACM0\n"
      "  millrace doctor usb:16c0:0483 --json -\n"
      "Exit code 1 if a finding would spoil a measurement.");
  command.positional("PORT", "Port: a path or COMn, usb:VID:PID (hex), serial:NUMBER",
                     ValueKind::port, false, &options->port);
  add_json_option(command, &options->outputs);
  command.option("--sysfs-root", "DIR", "Look at a recorded tree under DIR instead of /",
                 ValueKind::folder, folder_into(&options->root));
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
