// SPDX-License-Identifier: Apache-2.0
// What Windows tells without administrator rights and without a driver of our own: less than
// Linux does. Negotiated speed, hubs and selective suspend are not looked at.
#include <fmt/core.h>

#include <algorithm>

#include "millrace/host/ports.h"
#include "port_system.h"

namespace millrace::host {
namespace {

DoctorReport examine_port(const std::string& path, const std::vector<PortIdentity>& ports) {
  DoctorReport report;
  report.port.path = path;
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const PortIdentity& port) { return port.path == path; });
  if (found == ports.end()) {
    std::string there;
    for (const PortIdentity& port : ports) there += (there.empty() ? "" : ", ") + port.path;
    report.findings.push_back({"exists", Severity::problem,
                               fmt::format("there is no port {}", path),
                               there.empty() ? "plug the board in" : "there are: " + there});
    return report;
  }
  report.port = *found;
  report.findings.push_back({"exists", Severity::ok,
                             found->is_usb ? fmt::format("{} is USB device {:04x}:{:04x} {}", path,
                                                         found->vid, found->pid, found->description)
                                           : fmt::format("{} is there; it is no USB device", path),
                             ""});
  const Result<std::unique_ptr<Transport>> port = this_system().open(path, {});
  const bool busy = !port.ok() && port.error().code == ErrorCode::busy;
  report.findings.push_back({"holder", port.ok() ? Severity::ok : Severity::problem,
                             port.ok() ? "no other program holds it" : port.error().message,
                             busy ? "close terminal programs and IDEs" : ""});
  if (!found->driver.empty()) {
    report.findings.push_back({"driver", Severity::ok, "driver " + found->driver, ""});
  }
  return report;
}

}  // namespace

bool DoctorReport::would_spoil() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::problem; });
}

Result<std::vector<DoctorReport>> examine(const std::string& path, const std::string&) {
  const Result<std::vector<PortIdentity>> ports = list_ports();
  if (!ports) return ports.error();
  std::vector<DoctorReport> reports;
  if (!path.empty()) {
    const Result<std::string> full = this_system().resolve(path);
    reports.push_back(examine_port(full ? *full : path, *ports));
    return reports;
  }
  DoctorReport machine;
  const auto count = std::count_if(ports->begin(), ports->end(),
                                   [](const PortIdentity& port) { return port.is_usb; });
  machine.findings.push_back({"ports", count == 0 ? Severity::note : Severity::ok,
                              fmt::format("{} USB serial port{}", count, count == 1 ? "" : "s"),
                              ""});
  reports.push_back(std::move(machine));
  for (const PortIdentity& port : *ports) {
    if (port.is_usb) reports.push_back(examine_port(port.path, *ports));
  }
  return reports;
}

}  // namespace millrace::host
