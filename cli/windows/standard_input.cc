// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_input.h"

#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <cerrno>

namespace millrace::cli {

host::Result<size_t> read_standard_input(uint8_t* data, size_t size) {
  _setmode(0, _O_BINARY);
  const unsigned most = static_cast<unsigned>(std::min<size_t>(size, 1u << 20));
  const int got = _read(0, data, most);
  if (got < 0 && errno == EPIPE) return size_t{0};  // the other end of a pipe was closed
  if (got < 0) return standard_input_error(errno);
  return static_cast<size_t>(got);
}

}  // namespace millrace::cli
