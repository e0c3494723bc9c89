// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "cli/values.h"
#include "millrace/host/ports.h"

namespace millrace::cli {

using host::PortIdentity;

namespace {

constexpr size_t kProductWidth = 44;

struct Options {
  OutputOptions outputs;
  std::string root;
  bool names = false;
};

std::string table_of(const std::vector<PortIdentity>& ports) {
  Table table({"<port", "<VID:PID", "<serial number", "Mbit/s", "<driver", "<product"});
  for (const PortIdentity& port : ports) {
    std::string product = port.manufacturer;
    if (!product.empty() && !port.description.empty()) product += ' ';
    product += port.description;
    table.add({port.path, port.is_usb ? fmt::format("{:04x}:{:04x}", port.vid, port.pid) : "-",
               port.serial_number.empty() ? "-" : port.serial_number,
               port.usb_speed_mbit > 0 ? fmt::format("{:g}", port.usb_speed_mbit) : "-",
               port.driver.empty() ? "-" : port.driver,
               product.empty() ? "-" : cut_middle(printable(product), kProductWidth)});
  }
  return table.text(kWidth);
}

// Every name by which these ports can be given, for completion.
void print_names(const std::vector<PortIdentity>& ports) {
  for (const PortIdentity& port : ports) {
    // A name with a line end or an escape in it cannot be one line of a list.
    if (printable(port.path) == port.path) print("{}\n", port.path);
    if (port.is_usb) print("usb:{:04x}:{:04x}\n", port.vid, port.pid);
    if (!port.serial_number.empty()) print("serial:{}\n", printable(port.serial_number));
  }
  print("pc:\n");
}

int run(const Options& options, const Invocation& invocation) {
  const host::Status writable = check_outputs(options.outputs);
  if (!writable) return fail_output(writable.error());
  const host::Result<std::vector<PortIdentity>> ports = host::list_ports(options.root);
  if (!ports) return fail(ports.error());
  if (options.names) {
    print_names(ports.value());
    return kOk;
  }
  std::FILE* out = report_file(options.outputs);
  if (ports.value().empty()) {
    print(out, "no serial ports found (is the board plugged in? pc: measures without one)\n");
  } else {
    print(out, "{}", table_of(ports.value()));
  }
  if (options.root.empty()) print(out, "{}", kPortsWithoutHardware);
  Json document = result_document("ports", invocation);
  Json list = Json::array();
  for (const PortIdentity& port : ports.value()) list.push_back(to_json(port));
  document["ports"] = list;
  const host::Status written = write_outputs(options.outputs, document);
  return written ? kOk : fail_output(written.error());
}

}  // namespace

void add_ports(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command("ports", "List the serial ports of this machine",
                                       "Examples:\n"
                                       "  millrace ports\n"
                                       "  millrace ports --json -");
  add_json_option(command, &options->outputs);
  command.option("--sysfs-root", "DIR", "Look at a recorded tree under DIR instead of /",
                 ValueKind::folder, folder_into(&options->root));
  command.flag("--names", "Only names that PORT takes, one a line", &options->names);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
