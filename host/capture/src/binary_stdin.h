// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::capture {

// From now on standard input gives bytes as they are.
void make_stdin_binary();

}  // namespace millrace::capture
