// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/work_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/print.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;
namespace fs = std::filesystem;

WorkFolder::~WorkFolder() {
  if (lock_ >= 0) ::close(lock_);
}

Status WorkFolder::open(const std::string& option, const std::string& path) {
  const auto wrong = [&](const std::string& what) {
    return Error{ErrorCode::usage, fmt::format("{} {}: {}", option, printable(path), what)};
  };
  std::error_code error;
  path_ = fs::absolute(path, error).lexically_normal().string();
  if (!error) fs::create_directories(path_, error);
  if (!fs::is_directory(path_, error)) {
    return wrong(error ? error.message() + " (give a folder that can be made and written)"
                       : "is no folder (give one that can be made and written)");
  }
  // Inherited: what this process started may outlive it and still work in the folder.
  const std::string lock = path_ + "/.lock";
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT, 0666);
  if (lock_ < 0) {
    return wrong(std::string(std::strerror(errno)) + " (give a folder that you may write)");
  }
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return wrong("another one works in it (wait for it, or give another folder)");
  }
  return Status();
}

}  // namespace millrace::cli
