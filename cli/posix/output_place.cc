// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/output_place.h"

#include <unistd.h>

#include <array>

namespace millrace::cli {
namespace {

constexpr int kMostLinks = 40;  // as Linux

}  // namespace

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<std::string> behind_links(const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    std::array<char, 4096> text{};
    const ssize_t size = ::readlink(at.c_str(), text.data(), text.size());
    if (size < 0) return at;
    const std::string target(text.data(), static_cast<size_t>(size));
    at = target.rfind('/', 0) == 0 ? target : folder_of(at).append("/").append(target);
  }
  return std::nullopt;
}

}  // namespace millrace::cli
