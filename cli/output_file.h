// SPDX-License-Identifier: Apache-2.0
// Result files. A reader of `path` sees the old file or the whole new one, never a part.
#pragma once

#include <string>

#include "millrace/host/result.h"

namespace millrace::cli {

// Writes `content` to a temporary file in the folder of `path`, makes it durable and renames it.
// On failure the older file stays as it was and no temporary file is left. A path that is there
// and is no regular file (/dev/full, /dev/stdout, a FIFO) is written to directly and stays what
// it is; a FIFO needs a reader. A symbolic link stays one: the file at its end is written, and made
// if its folder is there. "-" is stdout. Errors: not_found, permission, no_space, io.
host::Status write_output(const std::string& path, const std::string& content);

// True if writing to `path` later can be expected to work: the folder is there and may be written.
// Asked before a long run. Errors as write_output().
// A FIFO is held open from here to write_output(): its reader waits meanwhile.
host::Status check_output(const std::string& path);

// True if both would be written to the same file, there or not. Devices may be shared.
bool same_output(const std::string& a, const std::string& b);

}  // namespace millrace::cli
