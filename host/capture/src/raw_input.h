// SPDX-License-Identifier: Apache-2.0
// What differs by system when a file is read as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>

namespace millrace::capture {

// From now on standard input gives bytes as they are.
void make_stdin_binary();

// As fopen(path, "rb"), but a FIFO is open at once, whether somebody writes to it or not.
std::FILE* open_input(const char* path);

// Waits for at least one byte and stores what is there, up to `size`: a pipe that goes quiet holds
// nothing back. While it waits it asks `keep_going`, unless that is empty, ten times a second,
// where the system lets it. 0: the end; -1: errno says why, EINTR that it shall not go on. Goes
// past the buffer of `file`, which must not have been read otherwise.
ptrdiff_t read_available(std::FILE* file, uint8_t* to, size_t size,
                         const std::function<bool()>& keep_going);

}  // namespace millrace::capture
