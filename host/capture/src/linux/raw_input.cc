// SPDX-License-Identifier: Apache-2.0
#include "raw_input.h"

#include <unistd.h>

namespace millrace::capture {

void make_stdin_binary() {}

ptrdiff_t read_available(std::FILE* file, uint8_t* to, size_t size) {
  return ::read(::fileno(file), to, size);
}

}  // namespace millrace::capture
