// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_input.h"

#include <fcntl.h>
#include <io.h>

#include <algorithm>

namespace millrace::cli {

size_t read_standard_input(uint8_t* data, size_t size) {
  _setmode(0, _O_BINARY);
  const unsigned most = static_cast<unsigned>(std::min<size_t>(size, 1u << 20));
  const int got = _read(0, data, most);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

}  // namespace millrace::cli
