// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/output_stream.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/print.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

Status OutputStream::open(const std::string& option, const std::string& path) {
  option_ = option;
  path_ = path;
  if (path == "-") {
    return Error{ErrorCode::usage, fmt::format("{}: give the name of a file; \"-\" is none, since "
                                               "stdout has what the firmware prints",
                                               option)};
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is then an error as a full disk is
  // Without a reader, open() of a FIFO would wait, and not even for Ctrl-C.
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (fd >= 0 && ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0) {
    file_.reset(::fdopen(fd, "wb"));
  }
  if (file_ == nullptr) {
    const int number = errno;
    if (fd >= 0) ::close(fd);
    return Error{ErrorCode::io,
                 fmt::format("{}: open {}: {}", option, printable(path),
                             number == ENXIO ? "nobody reads it (start the reader first)"
                                             : fmt::format("{} (choose a file that can be written)",
                                                           std::strerror(number)))};
  }
  return Status();
}

void OutputStream::write(std::span<const uint8_t> bytes) {
  if (file_ == nullptr || error_ != 0) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) error_ = errno;
}

void OutputStream::flush() {
  if (file_ != nullptr && error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
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
