// SPDX-License-Identifier: Apache-2.0
// What the build inputs of code and of data share.
#pragma once

#include <string>

namespace millrace::placement {

// The file part of a pattern of a linker script, for the `file` of an entry.
std::string file_pattern(const std::string& file);
// A name in a regular expression of Python, inside a string of CMake.
std::string regex_name(const std::string& name);
// A source file as CMake names it: Zephyr's own by ${ZEPHYR_BASE}, wherever it was built.
std::string zephyr_path(const std::string& path);

}  // namespace millrace::placement
