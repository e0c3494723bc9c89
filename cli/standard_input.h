// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/host/result.h"

namespace millrace::cli {

// Waits for bytes on stdin and takes what is there, at most `size`; 0 at its end. Errors: usage (a
// folder, or closed), io.
host::Result<size_t> read_standard_input(uint8_t* data, size_t size);

// What the system calls `number` (errno), said of stdin.
host::Error standard_input_error(int number);

}  // namespace millrace::cli
