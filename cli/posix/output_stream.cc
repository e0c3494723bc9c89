// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/output_stream.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/print.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

OutputStream::~OutputStream() {
  file_.reset();  // before the file beside its place goes
}

Error OutputStream::cannot_open(int number) const {
  return {number == EISDIR ? ErrorCode::usage : ErrorCode::io,
          fmt::format("{}: open {}: {}", option_, printable(path_),
                      number == ENXIO ? "nobody reads it (start the reader first)"
                                      : fmt::format("{} (choose a file that can be written)",
                                                    std::strerror(number)))};
}

Status OutputStream::open(const std::string& option, const std::string& path, Growth growth) {
  option_ = option;
  path_ = path;
  if (path == "-") {
    return Error{ErrorCode::usage, fmt::format("{}: give the name of a file; \"-\" is none, since "
                                               "stdout has what the firmware prints",
                                               option)};
  }
  struct stat node {};
  const bool is_there = ::stat(path.c_str(), &node) == 0;
  if (is_there && S_ISDIR(node.st_mode)) return cannot_open(EISDIR);
  int fd = -1;
  if (growth == Growth::in_sight || (is_there && !S_ISREG(node.st_mode))) {
    std::signal(SIGPIPE, SIG_IGN);  // a reader that ends is an error as any other
    // O_NONBLOCK: without a reader, open() of a FIFO would wait, and not even for Ctrl-C.
    const int create = is_there ? 0 : O_CREAT;
    fd =
        ::open(path.c_str(), O_WRONLY | create | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  } else {
    if (is_there && ::access(path.c_str(), W_OK) != 0) return cannot_open(errno);
    const auto mode = is_there ? std::optional<mode_t>(node.st_mode & 07777) : std::nullopt;
    const int number = replacement_.open(path, Replacement::Name::part, mode);
    if (number != 0) return cannot_open(number);
    fd = replacement_.release();
  }
  if (fd < 0) return cannot_open(errno);
  file_.reset(::fdopen(fd, "wb"));
  if (file_ != nullptr) return Status();
  const int number = errno;
  ::close(fd);
  return cannot_open(number);
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
  if (error_ == 0 && replacement_.is_open()) error_ = replacement_.put_in_place();
  if (error_ == 0) return Status();
  std::string remedy = "free some space, or choose another place";
  if (replacement_.is_open()) {
    remedy = fmt::format(
        "free some space; what was written is in {} and valid, an older file is untouched",
        printable(replacement_.name()));
    replacement_.keep();
  }
  return Error{ErrorCode::no_space, fmt::format("{}: write {}: {} ({})", option_, printable(path_),
                                                std::strerror(error_), remedy)};
}

}  // namespace millrace::cli
