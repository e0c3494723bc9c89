// SPDX-License-Identifier: Apache-2.0
#include "cli/short_name.h"

#include <string_view>

#include "cli/table.h"
#include "millrace/profile/elf_index.h"

namespace millrace::cli {
namespace {

// Not inside a character of UTF-8.
bool is_start(const std::string& text, size_t at) {
  return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0u) != 0x80;
}

}  // namespace

std::string cut_middle(const std::string& text, size_t width) {
  if (columns_of(text) <= width || width < 5) return text;
  size_t first = (width - 2) * 3 / 5;
  size_t last = text.size() - (width - 2 - first);
  while (first > 0 && !is_start(text, first)) --first;
  while (last < text.size() && !is_start(text, last)) ++last;
  return text.substr(0, first) + ".." + text.substr(last);
}

std::string cut_path(const std::string& text, size_t width) {
  if (columns_of(text) <= width) return text;
  const std::string cut = text.substr(text.size() - (width - 2));
  const size_t slash = cut.find('/');
  return ".." + (slash == std::string::npos ? cut : cut.substr(slash));
}

std::string short_name(std::string name, size_t width) {
  static constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous)) {
    name.erase(at, kAnonymous.size());
  }
  const size_t suffix = name.ends_with(']') ? name.rfind(" [") : std::string::npos;
  const std::string file = suffix == std::string::npos ? "" : name.substr(suffix);
  name.resize(name.size() - file.size());
  name = profile::without_parameters(name) + file;
  return cut_middle(name, width);
}

}  // namespace millrace::cli
