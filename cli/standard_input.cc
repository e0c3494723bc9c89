// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_input.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

namespace millrace::cli {

using host::Error;
using host::ErrorCode;

Error standard_input_error(int number) {
  constexpr const char* kStart = "read standard input: ";
  switch (number) {
    case EISDIR:
      return {ErrorCode::usage, fmt::format("{}a folder (give a file)", kStart)};
    case EBADF:
      return {ErrorCode::usage,
              fmt::format("{}it is closed (give a file, or an empty one for nothing)", kStart)};
    default:
      return {ErrorCode::io,
              fmt::format("{}{} (what came before went to the device; send it again)", kStart,
                          std::strerror(number))};
  }
}

}  // namespace millrace::cli
