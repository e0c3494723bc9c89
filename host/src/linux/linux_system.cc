// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "linux/sysfs.h"
#include "linux/tty_transport.h"
#include "millrace/host/ports.h"
#include "port_system.h"

namespace millrace::host {
namespace {

class LinuxSystem final : public PortSystem {
 public:
  bool is_port_name(const std::string& name) override {
    // by-path names hold colons: /dev/serial/by-path/pci-0000:00:14.0-usb-0:2:1.0
    return name.find('/') != std::string::npos || name.find(':') == std::string::npos;
  }

  Result<std::string> resolve(const std::string& name) override {
    const std::string full = SysTree("").resolve(path_of_name(name));
    if (full.empty()) {
      return Error{ErrorCode::not_found,
                   fmt::format("{}: there is no such port", path_of_name(name))};
    }
    return full;
  }

  Result<std::vector<PortIdentity>> list() override { return list_ports(); }

  Result<std::unique_ptr<Transport>> open(const std::string& path,
                                          const OpenOptions& options) override {
    return open_tty(path, options);
  }

  // The kernel gives a PTY's number to the next one: perhaps somebody's terminal. A link to a PTY
  // is followed; who made it moves it along.
  bool may_return(const std::string& name) override { return name.rfind("/dev/pts/", 0) != 0; }

  Clock& clock() override { return system_clock(); }
};

}  // namespace

PortSystem& this_system() {
  static LinuxSystem system;
  return system;
}

}  // namespace millrace::host
