// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/text_file.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "cli/print.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;

namespace {

constexpr std::streamoff kMostTextBytes = 1 << 20;

}  // namespace

host::Result<std::string> read_text_file(const std::string& option, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored)) {  // opening it would wait for a writer
    return Error{ErrorCode::usage,
                 fmt::format("{}: is no file but a FIFO (copy it to a file)", printable(option))};
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<size_t>(kMostTextBytes) + 1, '\0');
  if (!file || (file.read(text.data(), kMostTextBytes + 1), file.bad())) {
    return Error{
        ErrorCode::usage,
        fmt::format("{}: cannot be read (give a file of lines `name = value`)", printable(option))};
  }
  if (file.gcount() > kMostTextBytes) {
    return Error{ErrorCode::usage,
                 fmt::format("{}: is no profile: larger than 1 MiB", printable(option))};
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace millrace::cli
