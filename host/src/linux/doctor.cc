// SPDX-License-Identifier: Apache-2.0
#include "linux/doctor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "linux/file_descriptor.h"
#include "linux/tty_settings.h"
#include "linux/tty_transport.h"

namespace millrace::host {
namespace {

std::vector<std::string> running_processes(const SysTree& tree) {
  std::vector<std::string> names;
  for (const std::string& pid : tree.entries("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string name = tree.line("/proc/" + pid + "/comm");
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

bool runs(const DoctorContext& context, const std::string& name) {
  return std::find(context.processes.begin(), context.processes.end(), name) !=
         context.processes.end();
}

// A property that udev keeps for the tty or for the USB device behind it.
bool udev_property_set(const DoctorContext& context, const std::string& name) {
  for (const std::string& folder : {context.place.tty, context.place.usb}) {
    if (folder.empty()) continue;
    const std::string number = context.tree.line(folder + "/dev");
    if (number.empty() || number.find('/') != std::string::npos) continue;
    const std::optional<std::string> data = context.tree.text("/run/udev/data/c" + number);
    if (data && ("\n" + *data).find("\nE:" + name + "=1\n") != std::string::npos) return true;
  }
  return false;
}

std::string udev_rule(const PortIdentity& port) {
  return fmt::format(
      "put this line into /etc/udev/rules.d/70-millrace.rules: "
      "ATTRS{{idVendor}}==\"{:04x}\", ATTRS{{idProduct}}==\"{:04x}\", "
      "ENV{{ID_MM_DEVICE_IGNORE}}=\"1\", ENV{{ID_MM_PORT_IGNORE}}=\"1\"; then run "
      "`sudo udevadm control --reload` and plug the board in again",
      port.vid, port.pid);
}

std::optional<termios> settings_of(const std::string& path) {
  FileDescriptor port(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  termios settings{};
  if (!port.valid() || ::tcgetattr(port.get(), &settings) != 0) return {};
  return settings;
}

Finding absent(const SysTree& tree, const std::string& path) {
  std::vector<std::string> there;
  const Result<std::vector<PortIdentity>> ports = list_ports(tree.real(""));
  if (ports) {
    for (const PortIdentity& port : *ports) there.push_back(port.path);
  }
  return {"exists", Severity::problem, fmt::format("there is no port {}", path),
          there.empty() ? "plug the board in; a board that crashed or a cable without data lines "
                          "shows no port"
                        : "there are: " + joined(there)};
}

DoctorReport examine_port(const SysTree& tree, const LivePort& live, const std::string& path,
                          const std::vector<std::string>& processes) {
  DoctorReport report;
  report.port.path = path;
  const std::string inside = tree.resolve(path);
  const std::string node = inside.empty() ? path : inside;  // recorded trees may lack /dev
  const std::string tty = tty_name_of(node);
  const bool in_sysfs = tree.exists("/sys/class/tty/" + tty);
  if (inside.empty() && (tree.live() || !in_sysfs)) {
    report.findings.push_back(absent(tree, path));
    return report;
  }
  DoctorContext context{tree, live, {}, {}, {}, processes};
  if (in_sysfs) {
    context.place = find_tty(tree, tty);
    context.port = identify_tty(tree, tty);
  }
  context.port.path = node;
  context.holders = holders_of(node, tree.real(""));
  report.port = context.port;
  Findings& findings = report.findings;
  findings.push_back({"exists", Severity::ok,
                      context.port.is_usb
                          ? fmt::format("{} is USB device {:04x}:{:04x} {}", node, context.port.vid,
                                        context.port.pid, context.port.description)
                          : fmt::format("{} is there; it is no USB device", node),
                      ""});
  check_permission(context, findings);
  check_holder(context, findings);
  check_termios(context, findings);
  if (!context.port.is_usb) return report;
  check_modem_manager(context, findings);
  check_brltty(context, findings);
  check_usbip(context, findings);
  check_speed(context, findings);
  check_hub(context, findings);
  check_autosuspend(context, findings);
  check_driver(context, findings);
  return report;
}

DoctorReport examine_machine(const std::vector<std::string>& processes, size_t usb_ports) {
  DoctorReport report;
  const auto note_if_running = [&](const char* check, const char* process, const char* text) {
    const bool running = std::find(processes.begin(), processes.end(), process) != processes.end();
    report.findings.push_back({check, running ? Severity::note : Severity::ok,
                               running ? text : fmt::format("{} does not run", process), ""});
  };
  note_if_running("modem_manager", "ModemManager",
                  "ModemManager runs: it opens new ports and writes AT commands into those that it "
                  "takes for modems");
  note_if_running("brltty", "brltty",
                  "brltty runs: it takes the ports of bridge chips that braille displays use");
  report.findings.push_back(
      {"ports", usb_ports == 0 ? Severity::note : Severity::ok,
       usb_ports == 0 ? "no USB serial port is plugged in"
                      : fmt::format("{} USB serial port{}", usb_ports, usb_ports == 1 ? "" : "s"),
       ""});
  return report;
}

}  // namespace

void check_permission(const DoctorContext& context, Findings& findings) {
  if (!context.live.access) return;
  const PortAccess access = context.live.access(context.port.path);
  if (!access.exists) return;
  if (access.allowed) {
    findings.push_back(
        {"permission", Severity::ok, fmt::format("{} may read and write it", access.user), ""});
    return;
  }
  findings.push_back({"permission", Severity::problem,
                      fmt::format("{} may not open {} ({}:{}, mode {:03o})", access.user,
                                  context.port.path, access.owner, access.group, access.mode),
                      access_remedy(access, context.port.path)});
}

void check_holder(const DoctorContext& context, Findings& findings) {
  if (context.holders.empty()) {
    const bool sees_all = !context.tree.live() || ::geteuid() == 0;
    findings.push_back({"holder", Severity::ok,
                        sees_all ? "no other process holds it"
                                 : "none of your other processes holds it (root would see all)",
                        ""});
    return;
  }
  findings.push_back(
      {"holder", Severity::problem,
       fmt::format("held by {}: two readers share the bytes between them", joined(context.holders)),
       "end that process, or close the port in it"});
}

void check_termios(const DoctorContext& context, Findings& findings) {
  if (!context.live.settings) return;
  const std::optional<termios> settings = context.live.settings(context.port.path);
  if (!settings) {
    findings.push_back({"termios", Severity::note, "its settings could not be read", ""});
    return;
  }
  const std::vector<TermiosDifference> differences = differences_from_raw(*settings);
  if (differences.empty()) {
    findings.push_back({"termios", Severity::ok, "raw: 8-bit clean for every program", ""});
    return;
  }
  std::vector<std::string> parts;
  parts.reserve(differences.size());
  for (const TermiosDifference& one : differences) {
    parts.push_back(one.flag + " (" + one.effect + ")");
  }
  // Millrace sets raw mode itself, so this is about other programs: worse while one is reading.
  findings.push_back(
      {"termios", context.holders.empty() ? Severity::note : Severity::warning,
       fmt::format("not raw for programs that do not set it: {}", joined(parts)),
       fmt::format("`stty -F {} raw -echo`; Millrace sets raw mode itself", context.port.path)});
}

void check_modem_manager(const DoctorContext& context, Findings& findings) {
  if (!runs(context, "ModemManager")) {
    findings.push_back({"modem_manager", Severity::ok, "ModemManager does not run", ""});
    return;
  }
  if (udev_property_set(context, "ID_MM_DEVICE_IGNORE") ||
      udev_property_set(context, "ID_MM_PORT_IGNORE")) {
    findings.push_back({"modem_manager", Severity::ok,
                        "ModemManager runs, but a udev rule keeps it off this port", ""});
    return;
  }
  // bInterfaceProtocol of a CDC ACM control interface: 1 to 6 are AT command sets (CDC PSTN 1.2,
  // table 13). The strict policy probes these, older ones every ttyACM.
  const long protocol =
      context.place.interface.empty()
          ? 0
          : context.tree.number(context.place.interface + "/bInterfaceProtocol", 16).value_or(0);
  if (protocol >= 1 && protocol <= 6) {
    findings.push_back(
        {"modem_manager", Severity::problem,
         fmt::format("ModemManager runs and takes this port for a modem: its control interface "
                     "says bInterfaceProtocol {} (AT commands)",
                     protocol),
         udev_rule(context.port) +
             "; in the firmware set bInterfaceProtocol of the control interface to 0"});
    return;
  }
  findings.push_back({"modem_manager", Severity::warning,
                      "ModemManager runs and no udev rule keeps it off this port: depending on its "
                      "policy it writes AT commands into it for some seconds after plugging in",
                      udev_rule(context.port)});
}

void check_brltty(const DoctorContext& context, Findings& findings) {
  if (!runs(context, "brltty")) {
    findings.push_back({"brltty", Severity::ok, "brltty does not run", ""});
    return;
  }
  // Bridge chips in braille displays, by which brltty's udev rules choose.
  constexpr std::array<std::pair<uint16_t, uint16_t>, 4> kClaimed = {
      {{0x0403, 0x6001}, {0x10c4, 0xea60}, {0x1a86, 0x7523}, {0x067b, 0x2303}}};
  const auto id = std::pair(context.port.vid, context.port.pid);
  const bool claimed = std::find(kClaimed.begin(), kClaimed.end(), id) != kClaimed.end();
  findings.push_back({"brltty", claimed ? Severity::problem : Severity::note,
                      claimed ? "brltty runs and takes this bridge chip for a braille display"
                              : "brltty runs, but not for this device",
                      claimed ? "`sudo systemctl mask --now brltty-udev.service brltty.service`, "
                                "unless a braille display is in use"
                              : ""});
}

bool DoctorReport::would_spoil() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::problem; });
}

Result<std::vector<DoctorReport>> examine_on(const SysTree& tree, const LivePort& live,
                                             const std::string& path) {
  const std::vector<std::string> processes = running_processes(tree);
  std::vector<DoctorReport> reports;
  if (!path.empty()) {
    reports.push_back(examine_port(tree, live, path, processes));
    return reports;
  }
  const Result<std::vector<PortIdentity>> ports = list_ports(tree.real(""));
  if (!ports) return ports.error();
  const auto usb = [](const PortIdentity& port) { return port.is_usb; };
  const auto count = std::count_if(ports->begin(), ports->end(), usb);
  reports.push_back(examine_machine(processes, static_cast<size_t>(count)));
  for (const PortIdentity& port : *ports) {
    if (port.is_usb) reports.push_back(examine_port(tree, live, port.path, processes));
  }
  return reports;
}

Result<std::vector<DoctorReport>> examine(const std::string& name, const std::string& root) {
  const SysTree tree(root);
  std::string path = tree.live() ? path_of_name(name) : name;
  if (!path.empty() && path.find('/') == std::string::npos) path = "/dev/" + path;
  if (tree.live() && !path.empty()) {
    const Status port = check_port_node(path);
    if (!port && port.error().code == ErrorCode::not_a_port) return port.error();
  }
  LivePort live;
  if (tree.live()) {
    live.access = access_to;
    live.settings = settings_of;
  }
  return examine_on(tree, live, path);
}

}  // namespace millrace::host
