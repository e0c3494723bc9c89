// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "millrace/udp/network_doctor.h"

namespace millrace::cli {

using host::Result;
using host::Status;
using udp::NetworkDevice;
using udp::NetworkFinding;

namespace {

struct Options {
  std::string which;
  OutputOptions outputs;
};

std::string row(const std::string& name, const std::string& text) {
  constexpr KeyRow kRow(13);
  return text.empty() ? "" : kRow("  " + name, text);
}

std::string findings_text(const std::vector<NetworkFinding>& findings, const Colour& colour) {
  std::string out;
  for (const NetworkFinding& each : findings) {
    std::string text = wrap("  - " + printable(each.sentence), kWidth, 4) + '\n';
    out += each.is_blocking ? colour.bad(text) : text;
    if (!each.remedy.empty()) (out += "    ") += printable(each.remedy) + '\n';
  }
  return out;
}

std::string device_text(const NetworkDevice& d, const Colour& colour) {
  std::string out = colour.strong(printable(d.name));
  if (d.is_usb) out += fmt::format(", {:04x}:{:04x} {}", d.vid, d.pid, printable(d.product));
  out += '\n';
  out += row("driver", d.driver);
  out += row("MAC", d.mac);
  out += row("state", fmt::format("{}, {}, MTU {}", d.is_up ? "up" : "down",
                                  d.has_carrier ? "connected" : "not connected", d.mtu));
  out += row("addresses", fmt::format("{}", fmt::join(d.addresses, ", ")));
  std::string ntb, offloads;
  for (const auto& [key, value] : d.ntb)
    ntb += fmt::format("{}{} {}", ntb.empty() ? "" : ", ", key, value);
  for (const auto& [key, on] : d.offloads) {
    offloads += fmt::format("{}{} {}", offloads.empty() ? "" : ", ", key, on ? "on" : "off");
  }
  out += row("NTB", ntb);
  out += row("offloads", offloads);
  return out + findings_text(d.findings, colour);
}

Json findings_json(const std::vector<NetworkFinding>& findings) {
  Json json = Json::array();
  for (const NetworkFinding& each : findings) {
    json.push_back(
        {{"is_blocking", each.is_blocking}, {"sentence", each.sentence}, {"remedy", each.remedy}});
  }
  return json;
}

Json device_json(const NetworkDevice& d) {
  Json json = {{"name", d.name},       {"driver", d.driver},
               {"mac", d.mac},         {"is_usb", d.is_usb},
               {"vid", d.vid},         {"pid", d.pid},
               {"product", d.product}, {"serial_number", d.serial},
               {"is_up", d.is_up},     {"has_carrier", d.has_carrier},
               {"mtu", d.mtu},         {"addresses", d.addresses}};
  json["ntb"] = Json::object();
  for (const auto& [key, value] : d.ntb) json["ntb"][key] = value;
  json["offloads"] = Json::object();
  for (const auto& [key, on] : d.offloads) json["offloads"][key] = on;
  json["findings"] = findings_json(d.findings);
  return json;
}

int run(const Options& options, const Invocation& invocation) {
  if (const Status writable = check_outputs(options.outputs); !writable) {
    return fail_output(writable.error());
  }
  const Result<udp::NetworkReport> report =
      udp::examine_network(options.which, udp::facts_of_this_machine());
  if (!report) return fail(report.error());
  std::FILE* const out = report_file(options.outputs);
  const Colour colour(out);
  Json document = result_document("udp doctor", invocation);
  document["devices"] = Json::array();
  int code = kOk;
  for (const NetworkDevice& device : report->devices) {
    print(out, "{}", device_text(device, colour));
    document["devices"].push_back(device_json(device));
    for (const NetworkFinding& each : device.findings) {
      if (each.is_blocking) code = kFailed;
    }
  }
  if (!report->findings.empty()) {
    print(out, "this machine\n{}", findings_text(report->findings, colour));
  }
  document["findings"] = findings_json(report->findings);
  const Status written = write_outputs(options.outputs, document);
  return written ? code : worse(code, fail_output(written.error()));
}

}  // namespace

void add_udp_doctor(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "doctor", "Find a USB network device, and what would spoil or prevent a measurement",
      "Examples:\n"
      "  millrace udp doctor                 every USB network interface\n"
      "  millrace udp doctor usb:1209:0001   the device with this VID:PID (hex)\n"
      "  millrace udp doctor usb0            an interface by its name\n"
      "Driver, address and state with the line that would set them right, NTB parameters, MTU,\n"
      "offloads, buffers, firewall. Exit code 1 if nothing can be measured yet, 3 if there is no\n"
      "such interface.");
  command.positional("INTERFACE", "usb:VID:PID, a MAC address or a name (all USB interfaces)",
                     ValueKind::text, false, &options->which);
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
