// SPDX-License-Identifier: Apache-2.0
// The machine that a figure was measured on, and its terminal.
#pragma once

#include <string>

namespace millrace::cli {

struct HostInfo {
  std::string os;      // Debian GNU/Linux 12 (bookworm)
  std::string kernel;  // Linux 6.1.0-18-amd64 x86_64
  std::string cpu;     // AMD Ryzen 9 7900X 12-Core Processor
  unsigned logical_cpus = 0;
};

HostInfo host_info();
bool stdout_is_terminal();
bool stdin_is_terminal();
bool stderr_is_terminal();
// Columns of the terminal at stderr; 80 when there is none.
int terminal_columns();

}  // namespace millrace::cli
