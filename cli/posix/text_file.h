// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/host/result.h"

namespace millrace::cli {

// The text of a profile, at most 1 MiB. `option`: what the user wrote, for sentences. Errors:
// usage.
host::Result<std::string> read_text_file(const std::string& option, const std::string& path);

}  // namespace millrace::cli
