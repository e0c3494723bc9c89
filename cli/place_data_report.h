// SPDX-License-Identifier: Apache-2.0
// What `millrace place` prints and writes of data objects.
#pragma once

#include <string>
#include <vector>

#include "cli/json.h"
#include "millrace/placement/place_data.h"

namespace millrace::cli {

// At most 100 columns; `top`: rows of each table.
std::string place_data_report(const placement::DataPlacement& placed, size_t top);
void add_place_data_json(Json* document, const placement::DataPlacement& placed);
// Every candidate, for --csv.
std::string place_data_csv(const placement::DataPlacement& placed);
// Comment lines of the list.
std::vector<std::string> data_list_head(const placement::DataPlacement& placed);

}  // namespace millrace::cli
