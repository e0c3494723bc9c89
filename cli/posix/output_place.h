// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace millrace::cli {

// The folder that `path` stands in.
std::string folder_of(const std::string& path);

// Where a rename must go so that a symbolic link stays one, whether the file at its end is there or
// not. Not realpath(): that knows no files that are yet to be made. Empty: the links lead in a
// circle.
std::optional<std::string> behind_links(const std::string& path);

}  // namespace millrace::cli
