// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::cli {

// Takes now what the main thread's stack will need. It grows page by page, and a page that the
// system then refuses (`ulimit -v`) is no error but a SIGSEGV, wherever the program is at that
// moment. Throws std::bad_alloc if there is not as much.
void take_stack();

}  // namespace millrace::cli
