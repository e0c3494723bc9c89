// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

namespace {

Error failure(const std::string& path, int number) {
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
    case EFBIG:
      return {ErrorCode::no_space,
              start + "no space left (free some, or write elsewhere); an older file is untouched"};
    case EISDIR:
      return {ErrorCode::usage, start + "this is a folder (give a file name)"};
    default:
      return {ErrorCode::io, start + std::strerror(number)};
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

// The folder that the temporary file and the final one stand in.
std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where a rename must go so that a symbolic link stays one.
std::string behind_links(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out = real;
  std::free(real);
  return out;
}

Status write_directly(const std::string& path, const std::string& content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return failure(path, errno);
  const int number = write_all(fd, content);
  ::close(fd);
  if (number != 0) return failure(path, number);
  return {};
}

Status replace(const std::string& path, const std::string& content, mode_t mode) {
  const std::string target = behind_links(path);
  std::string temporary = folder_of(target) + "/.millrace-XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failure(path, errno);
  int number = write_all(fd, content);
  if (number == 0 && ::fchmod(fd, mode) != 0) number = errno;
  if (number == 0 && ::fsync(fd) != 0) number = errno;
  if (::close(fd) != 0 && number == 0) number = errno;
  if (number == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) number = errno;
  if (number == 0) return {};
  ::unlink(temporary.c_str());
  return failure(path, number);
}

}  // namespace

Status write_output(const std::string& path, const std::string& content) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is then an error as a full disk is
  if (path == "-") {
    const int number = write_all(STDOUT_FILENO, content);
    if (number != 0) return failure("stdout", number);
    return {};
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return failure(path, EISDIR);
    if (!S_ISREG(info.st_mode)) return write_directly(path, content);
    return replace(path, content, info.st_mode & 07777);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return replace(path, content, 0666 & ~mask);
}

Status check_output(const std::string& path) {
  if (path == "-") return {};
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return failure(path, EISDIR);
    if (!S_ISREG(info.st_mode)) {
      return ::access(path.c_str(), W_OK) == 0 ? Status() : Status(failure(path, errno));
    }
  }
  const std::string folder = folder_of(behind_links(path));
  if (::stat(folder.c_str(), &info) != 0) return failure(path, errno);
  if (!S_ISDIR(info.st_mode)) return failure(path, ENOTDIR);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return failure(path, errno);
  return {};
}

}  // namespace millrace::cli
