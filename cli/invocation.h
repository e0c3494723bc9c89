// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace millrace::cli {

// What was called, and when.
struct Invocation {
  std::vector<std::string> arguments;  // with the program's name
  std::string started_at;              // UTC, 2026-01-31T12:00:00Z
};

}  // namespace millrace::cli
