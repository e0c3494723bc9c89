// SPDX-License-Identifier: Apache-2.0
// What `millrace place` prints and writes.
#pragma once

#include <string>
#include <vector>

#include "cli/json.h"
#include "millrace/placement/evict.h"
#include "millrace/placement/list.h"
#include "millrace/placement/place.h"

namespace millrace::cli {

// At most 100 columns; `top`: rows of each table.
std::string place_report(const placement::Placement& placement, size_t top);
void add_place_json(Json* document, const placement::Placement& placement);
// Every candidate, for --csv.
std::string place_csv(const placement::Placement& placement);
// The comment lines of the list.
std::vector<std::string> list_head(const placement::Placement& placement);

// The inverse: what to push out.
std::string evict_report(const placement::Eviction& eviction, size_t top);
void add_evict_json(Json* document, const placement::Eviction& eviction);
std::string evict_csv(const placement::Eviction& eviction);
std::vector<std::string> evict_head(const placement::Eviction& eviction);

// A list compared with a program. Drift: entries that no longer mean what they did.
std::string drift_report(const placement::PlacementList& list,
                         const std::vector<placement::Match>& matches,
                         const profile::ElfIndex& index, size_t top);
void add_drift_json(Json* document, const placement::PlacementList& list,
                    const std::vector<placement::Match>& matches, const profile::ElfIndex& index);

}  // namespace millrace::cli
