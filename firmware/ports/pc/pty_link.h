// SPDX-License-Identifier: Apache-2.0
// Symbolic links by which other programs find a terminal whose number is not known before.
#pragma once

#include <string>

namespace millrace::firmware {

// Why a link to `terminal` may not be put at `path`, a sentence without the path but with the
// remedy; empty: it may. Nothing is there, or a link to this terminal, or one to a terminal that is
// gone, as a program that was killed leaves it. Everything else is somebody's.
std::string pty_link_problem(const std::string& path, const std::string& terminal);

// What the link at `path` says; empty: there is none.
std::string link_target(const std::string& path);

}  // namespace millrace::firmware
