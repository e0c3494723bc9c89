// SPDX-License-Identifier: Apache-2.0
// What `millrace profile` and `millrace memory` print and write.
#pragma once

#include <string>

#include "cli/json.h"
#include "millrace/profile/attribution.h"
#include "millrace/profile/memory_report.h"

namespace millrace::cli {

// At most 100 columns; `top`: rows of each table.
std::string profile_report(const profile::Profile& profile, size_t top);
std::string diff_report(const profile::ProfileDiff& diff, size_t top);
std::string memory_report(const profile::MemoryReport& report, size_t top);

// Every function, for --csv and --markdown.
std::string profile_csv(const profile::Profile& profile);
std::string profile_markdown(const profile::Profile& profile, size_t top);
std::string memory_csv(const profile::MemoryReport& report);

void add_profile_json(Json* document, const profile::Profile& profile);
void add_diff_json(Json* document, const profile::ProfileDiff& diff);
void add_memory_json(Json* document, const profile::MemoryReport& report);
// Regions, sections, libraries, files, symbols: `{"name", "bytes", "children"}` all the way down.
Json treemap_json(const profile::MemoryReport& report);

}  // namespace millrace::cli
