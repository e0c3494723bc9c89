// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>

#include "cli/posix/output_place.h"
#include "cli/posix/replacement.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

Error write_failure(const std::string& path, int number) {
  const std::string start = fmt::format("write {}: ", path);
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return {ErrorCode::not_found, start + "there is no such folder (create it first)"};
    case EACCES:
    case EPERM:
    case EROFS:
      return {ErrorCode::permission, start + "permission denied (choose a folder you may write)"};
    case ENOSPC:
    case EDQUOT:
      return {ErrorCode::no_space,
              start + "no space left (free some, or write elsewhere); an older file is untouched"};
    case EFBIG:
      return {ErrorCode::no_space, start +
                                       "a file may not be larger here (allow more with `ulimit "
                                       "-f`, or write elsewhere); an older file is untouched"};
    case EISDIR:
      return {ErrorCode::usage, start + "this is a folder (give a file name)"};
    case ENXIO:
      return {ErrorCode::io, start + "nobody reads it (start the reader first)"};
    case ELOOP:
      return {ErrorCode::not_found,
              start + "this symbolic link leads back to itself (remove it, or write elsewhere)"};
    case ENAMETOOLONG:
      return {ErrorCode::usage, start + "the name is too long (give a shorter one)"};
    default:
      return {ErrorCode::io, start + std::strerror(number) + " (choose another place)"};
  }
}

// 0, or errno.
int write_all(int fd, const std::string& content) {
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    done += static_cast<size_t>(n);
  }
  return 0;
}

// The FIFOs that check_output() opened, until write_output(). A reader takes the first close for
// the end of the file; so whether it is there can be asked only once.
std::map<std::string, int>& open_fifos() {
  static std::map<std::string, int> fifos;
  return fifos;
}

Result<int> open_existing(const std::string& path) {
  const auto fifo = open_fifos().find(path);
  if (fifo != open_fifos().end()) {
    const int fd = fifo->second;
    open_fifos().erase(fifo);
    return fd;
  }
  // O_NONBLOCK: without a reader, open() of a FIFO would wait, and not even for Ctrl-C.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return write_failure(path, errno);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) {
    const Error error = write_failure(path, errno);
    ::close(fd);
    return error;
  }
  return fd;
}

Status write_directly(const std::string& path, const std::string& content) {
  const Result<int> fd = open_existing(path);
  if (!fd) return fd.error();
  // A reader that ended is an error as any other, and no reason to be killed.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  const int number = write_all(*fd, content);
  ::close(*fd);
  ::sigaction(SIGPIPE, &before, nullptr);
  if (number == ENOSPC) {
    return Error{ErrorCode::no_space,
                 fmt::format("write {}: no space left on it (write elsewhere)", path)};
  }
  if (number != 0) return write_failure(path, number);
  return {};
}

std::string name_in_folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Status replace(const std::string& path, const std::string& content, std::optional<mode_t> mode) {
  Replacement file;
  int number = file.open(path, Replacement::Name::hidden, mode);
  if (number != 0) return write_failure(path, number);
  const int fd = file.release();
  number = write_all(fd, content);
  if (number == 0 && ::fsync(fd) != 0) number = errno;
  if (::close(fd) != 0 && number == 0) number = errno;
  if (number == 0) number = file.put_in_place();
  return number == 0 ? Status() : Status(write_failure(path, number));
}

}  // namespace

Status write_output(const std::string& path, const std::string& content) {
  if (path == "-") {
    const int number = write_all(STDOUT_FILENO, content);
    if (number != 0) return write_failure("stdout", number);
    return {};
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return write_failure(path, EISDIR);
    if (!S_ISREG(info.st_mode)) return write_directly(path, content);
    return replace(path, content, info.st_mode & 07777);
  }
  return replace(path, content, std::nullopt);
}

Status check_output(const std::string& path) {
  if (path == "-") return {};
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return write_failure(path, EISDIR);
    if (S_ISFIFO(info.st_mode)) {
      const Result<int> fd = open_existing(path);
      if (!fd) return fd.error();
      open_fifos()[path] = *fd;
      return {};
    }
    if (!S_ISREG(info.st_mode)) {
      return ::access(path.c_str(), W_OK) == 0 ? Status() : Status(write_failure(path, errno));
    }
  }
  const std::optional<std::string> end = behind_links(path);
  if (!end) return write_failure(path, ELOOP);
  const std::string folder = folder_of(*end);
  if (::stat(folder.c_str(), &info) != 0) return write_failure(path, errno);
  if (!S_ISDIR(info.st_mode)) return write_failure(path, ENOTDIR);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return write_failure(path, errno);
  const long longest = ::pathconf(folder.c_str(), _PC_NAME_MAX);
  if (longest > 0 && name_in_folder(*end).size() > static_cast<size_t>(longest)) {
    return write_failure(path, ENAMETOOLONG);
  }
  return {};
}

bool same_output(const std::string& a, const std::string& b) {
  struct stat at_a {};
  struct stat at_b {};
  const bool there = ::stat(a.c_str(), &at_a) == 0;
  if (there != (::stat(b.c_str(), &at_b) == 0)) return false;
  if (there) {
    return at_a.st_dev == at_b.st_dev && at_a.st_ino == at_b.st_ino && !S_ISCHR(at_a.st_mode);
  }
  const std::optional<std::string> end_a = behind_links(a);
  const std::optional<std::string> end_b = behind_links(b);
  if (!end_a || !end_b || name_in_folder(*end_a) != name_in_folder(*end_b)) return false;
  return ::stat(folder_of(*end_a).c_str(), &at_a) == 0 &&
         ::stat(folder_of(*end_b).c_str(), &at_b) == 0 && at_a.st_dev == at_b.st_dev &&
         at_a.st_ino == at_b.st_ino;
}

}  // namespace millrace::cli
