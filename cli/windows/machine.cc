// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.h"

#include <fmt/core.h>
#include <io.h>
#include <windows.h>

#include <cstdio>
#include <thread>

namespace millrace::cli {

namespace {

std::string registry_text(const char* key, const char* name) {
  char text[256] = {};
  DWORD size = sizeof text - 1;
  if (RegGetValueA(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, nullptr, text, &size) != 0) {
    return "";
  }
  return text;
}

}  // namespace

HostInfo host_info() {
  const char* version = "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion";
  HostInfo info;
  info.os = registry_text(version, "ProductName");
  if (info.os.empty()) info.os = "Windows";
  info.kernel = fmt::format("Windows NT build {}", registry_text(version, "CurrentBuildNumber"));
  info.cpu =
      registry_text("HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", "ProcessorNameString");
  info.logical_cpus = std::thread::hardware_concurrency();
  return info;
}

bool stdout_is_terminal() { return _isatty(_fileno(stdout)) != 0; }
bool stdin_is_terminal() { return _isatty(_fileno(stdin)) != 0; }
bool stderr_is_terminal() { return _isatty(_fileno(stderr)) != 0; }

int terminal_columns() {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &info)) return 80;
  return info.srWindow.Right - info.srWindow.Left + 1;
}

}  // namespace millrace::cli
