// SPDX-License-Identifier: Apache-2.0
#include "core/profile_text.h"

#include <fmt/core.h>

namespace millrace::board {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

std::string apply_profile_lines(std::string_view name, std::string_view text,
                                const std::function<std::string(std::string_view line)>& apply) {
  unsigned number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string error = apply(line);
    if (error.empty()) continue;
    return name.empty() ? error : fmt::format("{} line {}: {}", name, number, error);
  }
  return {};
}

}  // namespace millrace::board
