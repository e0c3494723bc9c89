// SPDX-License-Identifier: Apache-2.0
// Names of functions and files that have to fit a column of a table.
#pragma once

#include <string>

namespace millrace::cli {

// With the middle left out: what tells two long names apart stands at either end.
std::string cut_middle(const std::string& text, size_t width);
// The end of a path.
std::string cut_path(const std::string& text, size_t width);
// A readable function name without parameters and anonymous namespaces; ` [file]` behind it stays.
std::string short_name(std::string name, size_t width);

}  // namespace millrace::cli
