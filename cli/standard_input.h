// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::cli {

// Waits for bytes on stdin and takes what is there, at most `size`; 0 at its end or on an error.
size_t read_standard_input(uint8_t* data, size_t size);

}  // namespace millrace::cli
