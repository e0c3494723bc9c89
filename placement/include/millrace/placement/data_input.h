// SPDX-License-Identifier: Apache-2.0
// The `@data` entries of a placement list as the input of a build.
#pragma once

#include <string>

#include "millrace/placement/list.h"
#include "millrace/placement/place_data.h"

namespace millrace::placement {

// Patterns of input sections, for an output section of fast memory that start-up code copies, and
// for one that it clears. An entry is in both: what it was compiled to decides.
std::string gnu_ld_data(const PlacementList& list);
std::string gnu_ld_zeroed(const PlacementList& list);

// For zephyr_linker_sources(DTCM_SECTION file).
std::string zephyr_data_snippet(const PlacementList& list);
// zephyr_code_relocate() calls, one a source file, with anchored filters.
std::string zephyr_data_cmake(const DataPlacement& placed);

// Which attribute of Teensyduino keeps an object out of DTCM: `remove DMAMEM from buffer`.
std::string data_attributes(const DataPlacement& placed);

}  // namespace millrace::placement
