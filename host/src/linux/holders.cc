// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <sstream>

#include "linux/sysfs.h"
#include "millrace/host/ports.h"

namespace millrace::host {
namespace {

// Majors 136 to 143: PTY slaves (Documentation/admin-guide/devices.txt).
bool is_pty_node(const struct stat& node) {
  return major(node.st_rdev) >= 136 && major(node.st_rdev) <= 143;
}

// The process holds the master of PTY `index`: it is the device behind the port, and what it has
// open of the port itself (a device keeps it open, so that no hangup comes between two programs)
// reads nothing.
bool is_device_of(const SysTree& tree, const std::string& pid, unsigned index) {
  const std::string folder = fmt::format("/proc/{}/fdinfo", pid);
  const std::string wanted = std::to_string(index);
  for (const std::string& fd : tree.entries(folder)) {
    std::istringstream info(tree.text(fmt::format("{}/{}", folder, fd)).value_or(""));
    std::string word;
    while (info >> word) {
      if (word == "tty-index:" && info >> word && word == wanted) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> holders_of(const std::string& path, const std::string& root) {
  const SysTree tree(root);
  std::string node = tree.resolve(path);
  if (node.empty()) node = path;
  struct stat port {};
  const bool compare_numbers = tree.live() && ::stat(node.c_str(), &port) == 0;
  const std::string self = std::to_string(::getpid());

  std::vector<std::string> holders;
  for (const std::string& pid : tree.entries("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (tree.live() && pid == self) continue;
    const std::string folder = fmt::format("/proc/{}/fd", pid);
    for (const std::string& fd : tree.entries(folder)) {
      const std::string link = fmt::format("{}/{}", folder, fd);
      const std::string target = tree.link_text(link);
      bool holds = target == node;
      if (!holds && compare_numbers && target.rfind("/dev/", 0) == 0) {
        // A container's /dev gives the same device another name; PTYs are numbered anew in each
        // devpts. stat() of a link in /proc does not open the device.
        struct stat other {};
        holds = ::stat(link.c_str(), &other) == 0 && S_ISCHR(other.st_mode) &&
                other.st_rdev == port.st_rdev &&
                (!is_pty_node(port) || other.st_dev == port.st_dev);
      }
      if (holds) {
        if (is_pty_node(port) && is_device_of(tree, pid, minor(port.st_rdev))) break;
        const std::string name = tree.line(fmt::format("/proc/{}/comm", pid));
        holders.push_back(name.empty() ? fmt::format("pid {}", pid)
                                       : fmt::format("pid {} ({})", pid, name));
        break;
      }
    }
  }
  return holders;
}

}  // namespace millrace::host
