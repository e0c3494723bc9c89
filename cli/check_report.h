// SPDX-License-Identifier: Apache-2.0
// What `millrace check` prints and writes.
#pragma once

#include <string>

#include "cli/json.h"
#include "millrace/placement/check.h"

namespace millrace::cli {

// At most 100 columns, but for names; `top`: findings of each check.
std::string check_report(const placement::CheckReport& report, size_t top);
void add_check_json(Json* document, const placement::CheckReport& report);

}  // namespace millrace::cli
