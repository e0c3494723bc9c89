// SPDX-License-Identifier: Apache-2.0
#include "binary_stdin.h"

#include <fcntl.h>
#include <io.h>
#include <stdio.h>

namespace millrace::capture {

void make_stdin_binary() { _setmode(_fileno(stdin), _O_BINARY); }

}  // namespace millrace::capture
