// SPDX-License-Identifier: Apache-2.0
// What `millrace udp bench` says, for people and in the result file.
#pragma once

#include <string>

#include "cli/json.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "millrace/udp/ladder.h"

namespace millrace::cli {

// What is measured, above the steps; one line, however long the name is.
std::string ladder_heading(const std::string& target, const udp::PortInfo& port, uint32_t bytes,
                           bool is_virtual);
// One line of a step as it ends, with its line end; "" for the heading above the first.
std::string step_heading();
std::string step_line(const std::string& part, const udp::StepResult& step, const Colour& colour);
// What it all comes to, several lines.
std::string ladder_report(const udp::LadderResult& result, const Colour& colour);
Json to_json(const udp::LadderResult& result);
// All steps, for --csv and --markdown.
Table step_table();
void add_steps(const udp::LadderResult& result, Table* table);

}  // namespace millrace::cli
