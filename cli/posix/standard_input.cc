// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_input.h"

#include <errno.h>
#include <unistd.h>

namespace millrace::cli {

host::Result<size_t> read_standard_input(uint8_t* data, size_t size) {
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, data, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return standard_input_error(errno);
  }
}

}  // namespace millrace::cli
