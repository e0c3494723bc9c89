// SPDX-License-Identifier: Apache-2.0
// The text form that timing and USB host profiles share: lines `name = value  # comment`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace millrace::board {

// Without spaces, tabs and carriage returns at both ends.
std::string_view trimmed(std::string_view text);

// What goes into an error sentence: a hostile profile must not put control bytes on a terminal.
std::string printable(std::string_view text);

// Calls `apply` for each line that is not empty, without its comment, until it returns an error;
// returns "NAME line N: " and that, or an empty string. `name`: a file's, or what the text is; if
// it is empty the error stands alone.
std::string apply_profile_lines(std::string_view name, std::string_view text,
                                const std::function<std::string(std::string_view line)>& apply);

}  // namespace millrace::board
