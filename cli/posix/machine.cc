// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.h"

#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace millrace::cli {

namespace {

// The value of the first line `KEY<separator>VALUE`; empty if there is none.
std::string value_in(const char* path, const std::string& key, char separator) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const size_t first = line.find_first_not_of(" \t\"", at + 1);
    if (first == std::string::npos) continue;
    return line.substr(first, line.find_last_not_of(" \t\"") - first + 1);
  }
  return "";
}

}  // namespace

HostInfo host_info() {
  HostInfo info;
  info.os = value_in("/etc/os-release", "PRETTY_NAME", '=');
  utsname name{};
  if (::uname(&name) == 0) {
    info.kernel = std::string(name.sysname) + ' ' + name.release + ' ' + name.machine;
  }
  if (info.os.empty()) info.os = name.sysname;
  info.cpu = value_in("/proc/cpuinfo", "model name", ':');
  if (info.cpu.empty()) info.cpu = name.machine;
  info.logical_cpus = std::thread::hardware_concurrency();
  return info;
}

bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool stdin_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace millrace::cli
