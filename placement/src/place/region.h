// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "millrace/placement/list.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

enum class Contents : uint8_t { code, data };

// The region `name` of the target; empty: its first fast one for such contents. Errors: a program
// without names, no such region, one that is not fast.
Failure find_region(const ElfIndex& index, const profile::Target& target, const std::string& name,
                    Contents contents, const profile::TargetRegion** out);
// Errors: a budget that is 0 or larger than the region.
Failure check_budget(const profile::TargetRegion& region, uint64_t budget, Contents contents);

}  // namespace millrace::placement
