// SPDX-License-Identifier: Apache-2.0
#include "raw_input.h"

#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <climits>

namespace millrace::capture {

void make_stdin_binary() { _setmode(_fileno(stdin), _O_BINARY); }

std::FILE* open_input(const char* path) { return std::fopen(path, "rb"); }

ptrdiff_t read_available(std::FILE* file, uint8_t* to, size_t size, const std::function<bool()>&) {
  return _read(_fileno(file), to, static_cast<unsigned>(std::min<size_t>(size, INT_MAX)));
}

}  // namespace millrace::capture
