// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/output_stream.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

#include "cli/print.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

Status OutputStream::open(const std::string& option, const std::string& path) {
  option_ = option;
  path_ = path;
  file_.reset(std::fopen(path.c_str(), "wbe"));
  if (file_ != nullptr) return Status();
  return Error{ErrorCode::io, fmt::format("{}: open {}: {} (choose a file that can be written)",
                                          option, printable(path), std::strerror(errno))};
}

void OutputStream::write(std::span<const uint8_t> bytes) {
  if (file_ == nullptr || error_ != 0) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) error_ = errno;
}

Status OutputStream::close() {
  if (file_ == nullptr) return Status();
  if (std::fclose(file_.release()) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0) return Status();
  return Error{ErrorCode::no_space,
               fmt::format("{}: write {}: {} (free some space; what is there is valid)", option_,
                           printable(path_), std::strerror(error_))};
}

}  // namespace millrace::cli
