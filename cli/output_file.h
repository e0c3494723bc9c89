// SPDX-License-Identifier: Apache-2.0
// Result files. A reader of `path` sees the old file or the whole new one, never a part.
#pragma once

#include <string>

#include "millrace/host/result.h"

namespace millrace::cli {

// Writes `content` to a temporary file in the folder of `path`, makes it durable and renames it.
// On failure the older file stays as it was and no temporary file is left. A path that is there
// and is no regular file (/dev/full, /dev/stdout, a FIFO) is written to directly and stays what
// it is. "-" is stdout. Errors: not_found, permission, no_space, io.
host::Status write_output(const std::string& path, const std::string& content);

// True if writing to `path` later can be expected to work: the folder is there and may be written.
// Asked before a long run. Errors as write_output().
host::Status check_output(const std::string& path);

}  // namespace millrace::cli
