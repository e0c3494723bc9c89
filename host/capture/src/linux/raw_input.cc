// SPDX-License-Identifier: Apache-2.0
// Waiting is done in poll(), never in open() or read(): a signal that comes between the question
// whether to go on and the system call would be noticed with the next bytes only, and a FIFO may
// never have any.
#include "raw_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace millrace::capture {
namespace {

constexpr int kAskMs = 100;

}  // namespace

void make_stdin_binary() {}

std::FILE* open_input(const char* path) {
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return nullptr;
  std::FILE* file = ::fdopen(descriptor, "rb");
  if (file == nullptr) ::close(descriptor);
  return file;
}

ptrdiff_t read_available(std::FILE* file, uint8_t* to, size_t size,
                         const std::function<bool()>& keep_going) {
  for (;;) {
    pollfd ready{::fileno(file), POLLIN, 0};
    const int count = ::poll(&ready, 1, kAskMs);
    if (count < 0 && errno != EINTR) return -1;
    if (count > 0) {
      const ssize_t got = ::read(ready.fd, to, size);
      if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return got;
    }
    if (keep_going && !keep_going()) {
      errno = EINTR;
      return -1;
    }
  }
}

}  // namespace millrace::capture
