// SPDX-License-Identifier: Apache-2.0
// The Armv7-M default memory map (DDI 0403E B3.1, table B3-1): what holds where no MPU region does.
#pragma once

#include "memory/memory_system.h"

namespace millrace::board {

// Full access for both privileges; the system region 0xE0000000.. is not executable.
MemoryAttributes default_attributes(uint32_t address);

}  // namespace millrace::board
