// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/replacement.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "cli/posix/output_place.h"

namespace millrace::cli {
namespace {

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Replacement::~Replacement() {
  if (fd_ >= 0) ::close(fd_);
  if (!now_.empty()) ::unlink(now_.c_str());
}

int Replacement::open(const std::string& path, Name name, std::optional<mode_t> mode) {
  const std::optional<std::string> end = behind_links(path);
  if (!end) return ELOOP;
  target_ = *end;
  std::string now = target_ + ".part";
  if (name == Name::hidden) {
    now = folder_of(target_) + "/.millrace-XXXXXX";
    fd_ = ::mkostemp(now.data(), O_CLOEXEC);
  } else {
    fd_ = ::open(now.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (fd_ < 0) return errno;
  now_ = now;
  return ::fchmod(fd_, mode.value_or(mode_of_new_files())) == 0 ? 0 : errno;
}

int Replacement::put_in_place() {
  if (std::rename(now_.c_str(), target_.c_str()) != 0) return errno;
  now_.clear();
  return 0;
}

}  // namespace millrace::cli
