// SPDX-License-Identifier: Apache-2.0
// What a run of the virtual board came to, as tables and as JSON. Every figure is predicted.
#pragma once

#include <string>

#include "cli/json.h"
#include "cli/terminal.h"
#include "millrace/board/board.h"

namespace millrace::cli {

// Cycles, IPC, stall cycles by cause, caches, functions by cycles. `profile` may be empty.
std::string stats_report(const board::Image& image, const board::BoardStats& stats,
                         const std::vector<board::ProfileEntry>& profile, const Colour& colour);
// Registers that are not modelled, or empty.
std::string unknown_report(const board::Image& image, const board::BoardStats& stats);
Json to_json(const board::Image& image, const board::BoardStats& stats,
             const std::vector<board::ProfileEntry>& profile);
const char* stop_name(board::StopReason reason);

}  // namespace millrace::cli
