// SPDX-License-Identifier: Apache-2.0
// A synthetic application, made at build by make_load.py: much code, all of it run for each echo.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::firmware {

// Depends on the size, on the first 32 bytes, and on every operation.
uint32_t echo_load(const uint8_t* payload, size_t size);
// What echo_load() gives for the bytes 0, 1, ..., 31, as computed when the code was made.
uint32_t echo_load_of_example();

}  // namespace millrace::firmware
