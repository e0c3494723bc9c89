// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace millrace::cli {

void occupy_standard_files() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is `fd`. Opened the wrong way round: using it must fail, not pretend.
    const int got = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (got != fd && got > STDERR_FILENO) ::close(got);
  }
}

void make_stdout_binary() {}

void make_file_limits_errors() { std::signal(SIGXFSZ, SIG_IGN); }

}  // namespace millrace::cli
