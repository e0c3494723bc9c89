// SPDX-License-Identifier: Apache-2.0
// From a name to an open port, and back to it after a replug.
//
// A name is resolved anew at every open, since that is what names like /dev/serial/by-id/... and
// usb:16c0:0483 are for. After the device went away the name alone is not enough: a board opened as
// /dev/ttyACM0 comes back as /dev/ttyACM1 while somebody still holds the old one, and
// usb:16c0:0483 may by then mean two boards. So the endpoint remembers who was opened last and
// looks for that one first: by serial number, else by the place in the USB tree.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "port_system.h"

namespace millrace::host {
namespace {

constexpr int64_t kPollInterval = 50'000'000;

std::string describe(const PortIdentity& port) {
  if (!port.is_usb) return port.path;
  return fmt::format("{} ({:04x}:{:04x}{}{})", port.path, port.vid, port.pid,
                     port.serial_number.empty() ? "" : ", ", port.serial_number);
}

std::string describe(const std::vector<PortIdentity>& ports) {
  std::string text;
  for (const PortIdentity& port : ports) text += (text.empty() ? "" : ", ") + describe(port);
  return text;
}

// Configuration and interface, `1.0` of `1-2.3:1.0`: tells the two ports of one board apart.
std::string interface_of(const PortIdentity& port) {
  const size_t colon = port.usb_path.rfind(':');
  return colon == std::string::npos ? "" : port.usb_path.substr(colon + 1);
}

bool same_port(const PortIdentity& a, const PortIdentity& b) {
  if (!a.is_usb || !b.is_usb || a.vid != b.vid || a.pid != b.pid) return false;
  if (a.serial_number.empty() && b.serial_number.empty()) {
    return !a.usb_path.empty() && a.usb_path == b.usb_path;
  }
  return a.serial_number == b.serial_number && interface_of(a) == interface_of(b);
}

struct PortQuery {
  std::string name;        // as the user wrote it
  std::string path;        // a path or COMn; else one of the two below
  bool by_usb_id = false;  // vid and pid
  uint16_t vid = 0;
  uint16_t pid = 0;
  std::string serial_number;

  bool matches(const PortIdentity& port) const {
    if (by_usb_id) return port.is_usb && port.vid == vid && port.pid == pid;
    return port.serial_number == serial_number;
  }
  std::string wanted() const {
    return by_usb_id ? fmt::format("USB id {:04x}:{:04x}", vid, pid)
                     : fmt::format("serial number {}", serial_number);
  }
};

class PortEndpoint final : public Endpoint {
 public:
  PortEndpoint(PortSystem& system, PortQuery query) : system_(system), query_(std::move(query)) {}

  const std::string& name() const override { return query_.name; }
  Clock& clock() override { return system_.clock(); }

  Result<std::unique_ptr<Transport>> open(const OpenOptions& options) override {
    Result<std::string> path = find();
    if (!path) return path.error();
    Result<std::unique_ptr<Transport>> port = open_path(*path, options);
    if (!port && port.error().code == ErrorCode::not_found) return with_list(port.error());
    return port;
  }

  Result<std::unique_ptr<Transport>> reopen(const OpenOptions& options,
                                            int64_t deadline_ns) override {
    if (!query_.path.empty() && !system_.may_return(query_.path)) {
      return Error{
          ErrorCode::gone,
          fmt::format("{} cannot return: its number goes to the next terminal that is opened",
                      query_.name)};
    }
    while (true) {
      Result<std::string> path = find_again();
      if (path) {
        Result<std::unique_ptr<Transport>> port = open_path(*path, options);
        if (port) return port;
        // What a device that is just coming back looks like: no permission until udev has set it,
        // busy while a modem probe runs. All of these are tried again.
        if (clock().now_ns() >= deadline_ns) return gave_up(port.error());
      } else if (clock().now_ns() >= deadline_ns) {
        return gave_up(path.error());
      }
      clock().sleep_until(std::min(deadline_ns, clock().now_ns() + kPollInterval));
    }
  }

 private:
  Error gave_up(const Error& last) const {
    return {ErrorCode::gone, fmt::format("{} went away and did not come back in time ({})",
                                         query_.name, last.message)};
  }

  Result<std::unique_ptr<Transport>> open_path(const std::string& path,
                                               const OpenOptions& options) {
    Result<std::unique_ptr<Transport>> port = system_.open(path, options);
    if (port) last_ = (*port)->identity();
    return port;
  }

  Result<std::string> find() {
    if (!query_.path.empty()) {
      Result<std::string> path = system_.resolve(query_.path);
      if (path || path.error().code != ErrorCode::not_found) return path;
      return with_list(path.error());
    }
    const Result<std::vector<PortIdentity>> ports = system_.list();
    if (!ports) return ports.error();
    std::vector<PortIdentity> found;
    std::copy_if(ports->begin(), ports->end(), std::back_inserter(found),
                 [this](const PortIdentity& port) { return query_.matches(port); });
    if (found.size() == 1) return found[0].path;
    if (found.empty()) {
      return with_list(
          Error{ErrorCode::not_found, fmt::format("no port with {}", query_.wanted())});
    }
    return Error{ErrorCode::usage, fmt::format("{} ports have {}: {} (name one by its path{})",
                                               found.size(), query_.wanted(), describe(found),
                                               query_.by_usb_id ? " or serial:NUMBER" : "")};
  }

  Result<std::string> find_again() {
    if (!last_.is_usb) return find();
    const Result<std::vector<PortIdentity>> ports = system_.list();
    if (!ports) return ports.error();
    for (const PortIdentity& port : *ports) {
      if (same_port(last_, port)) return port.path;
    }
    if (!last_.serial_number.empty()) {
      // Another board under the same name is not what was measured.
      return with_list(
          Error{ErrorCode::not_found, fmt::format("no port with USB id {:04x}:{:04x} and serial "
                                                  "number {}",
                                                  last_.vid, last_.pid, last_.serial_number)});
    }
    return find();
  }

  Error with_list(Error error) {
    const Result<std::vector<PortIdentity>> ports = system_.list();
    if (ports && ports->empty()) {
      error.message += "; there is no serial port on this machine";
    } else if (ports) {
      error.message += "; there are: " + describe(*ports);
    }
    return error;
  }

  PortSystem& system_;
  PortQuery query_;
  PortIdentity last_;  // of the last successful open
};

// One to four hexadecimal digits.
std::optional<uint16_t> hex16(const std::string& text) {
  if (text.empty() || text.size() > 4) return {};
  unsigned value = 0;
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return {};
    const int digit = std::isdigit(static_cast<unsigned char>(c)) != 0
                          ? c - '0'
                          : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return static_cast<uint16_t>(value);
}

Result<PortQuery> parse_usb(const std::string& name, const std::string& rest) {
  const size_t colon = rest.find(':');
  PortQuery query;
  query.name = name;
  query.by_usb_id = true;
  const std::optional<uint16_t> vid = hex16(rest.substr(0, colon));
  const std::optional<uint16_t> pid =
      colon == std::string::npos ? std::nullopt : hex16(rest.substr(colon + 1));
  if (!vid || !pid) {
    return Error{ErrorCode::usage,
                 fmt::format("port {}: write usb:VID:PID with hexadecimal numbers, as in "
                             "usb:16c0:0483",
                             name)};
  }
  query.vid = *vid;
  query.pid = *pid;
  return query;
}

}  // namespace

Result<std::unique_ptr<Endpoint>> make_endpoint_on(PortSystem& system, const std::string& name,
                                                   const std::vector<EndpointScheme>& schemes) {
  const auto made = [&system](PortQuery query) {
    return std::unique_ptr<Endpoint>(std::make_unique<PortEndpoint>(system, std::move(query)));
  };
  if (name.empty() || name.find('\0') != std::string::npos) {
    return Error{ErrorCode::usage, "the port name is empty (`millrace ports` lists them)"};
  }
  const size_t colon = name.find(':');
  const std::string scheme = name.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : name.substr(colon + 1);
  const bool known_scheme =
      colon != std::string::npos &&
      (scheme == "usb" || scheme == "serial" ||
       std::any_of(schemes.begin(), schemes.end(),
                   [&](const EndpointScheme& candidate) { return candidate.scheme == scheme; }));
  // First the schemes: a serial number may hold a slash.
  if (!known_scheme && system.is_port_name(name)) {
    PortQuery query;
    query.name = name;
    query.path = name;
    return made(std::move(query));
  }
  if (scheme == "usb") {
    Result<PortQuery> query = parse_usb(name, rest);
    if (!query) return query.error();
    return made(std::move(*query));
  }
  if (scheme == "serial") {
    if (rest.empty()) {
      return Error{ErrorCode::usage,
                   "port serial: write serial:NUMBER (`millrace ports` shows the numbers)"};
    }
    PortQuery query;
    query.name = name;
    query.serial_number = rest;
    return made(std::move(query));
  }
  std::string known = "a path, usb:VID:PID, serial:NUMBER";
  for (const EndpointScheme& candidate : schemes) {
    if (candidate.scheme == scheme && colon != std::string::npos) return candidate.make(rest);
    known += ", " + candidate.scheme + ":";
  }
  return Error{ErrorCode::usage,
               fmt::format("port {}: no such kind of name (there are: {})", name, known)};
}

Result<std::unique_ptr<Endpoint>> make_endpoint(const std::string& name,
                                                const std::vector<EndpointScheme>& schemes) {
  return make_endpoint_on(this_system(), name, schemes);
}

}  // namespace millrace::host
