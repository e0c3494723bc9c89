// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "millrace/placement/list.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

enum class Contents : uint8_t { code, data };

// The region `name` of the target; empty: its first fast one for such contents. Errors: a program
// without names, no such region, a budget that is 0 or larger than it.
Failure find_region(const ElfIndex& index, const profile::Target& target, const std::string& name,
                    uint64_t budget, Contents contents, const profile::TargetRegion** out);

}  // namespace millrace::placement
