// SPDX-License-Identifier: Apache-2.0
// What differs by system when a file is read as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace millrace::capture {

// From now on standard input gives bytes as they are.
void make_stdin_binary();

// Waits for at least one byte and stores what is there, up to `size`: a pipe that goes quiet holds
// nothing back, and a signal ends the waiting. 0: the end; -1: errno says why. Goes past the buffer
// of `file`, which must not have been read otherwise.
ptrdiff_t read_available(std::FILE* file, uint8_t* to, size_t size);

}  // namespace millrace::capture
