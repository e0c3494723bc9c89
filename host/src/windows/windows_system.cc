// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "millrace/host/ports.h"
#include "port_system.h"
#include "windows/serial_transport.h"

namespace millrace::host {
namespace {

// COM7 for `com7` and `\\.\COM7`; empty when `name` is no COM port.
std::string com_name(const std::string& name) {
  const std::string prefix = "\\\\.\\";
  std::string upper = name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool com = upper.size() > 3 && upper.size() <= 8 && upper.rfind("COM", 0) == 0;
  return com && upper.find_first_not_of("0123456789", 3) == std::string::npos ? upper : "";
}

class WindowsSystem final : public PortSystem {
 public:
  bool is_port_name(const std::string& name) override {
    return name.find(':') == std::string::npos || name.rfind("\\\\", 0) == 0;
  }

  Result<std::string> resolve(const std::string& name) override {
    std::string com = com_name(name);
    if (com.empty()) {
      return Error{ErrorCode::not_found,
                   fmt::format("{}: no port name (serial ports are called COM1, COM2, ...)", name)};
    }
    // Opening says whether it is there: not every driver is on a list.
    return com;
  }

  Result<std::vector<PortIdentity>> list() override { return list_ports(); }

  Result<std::unique_ptr<Transport>> open(const std::string& path,
                                          const OpenOptions& options) override {
    PortIdentity identity;
    const Result<std::vector<PortIdentity>> ports = list_ports();
    if (ports) {
      const auto found = std::find_if(ports->begin(), ports->end(),
                                      [&](const PortIdentity& port) { return port.path == path; });
      if (found != ports->end()) identity = *found;
    }
    return open_serial(path, std::move(identity), options);
  }

  bool may_return(const std::string&) override { return true; }

  Clock& clock() override { return system_clock(); }
};

}  // namespace

PortSystem& this_system() {
  static WindowsSystem system;
  return system;
}

}  // namespace millrace::host
