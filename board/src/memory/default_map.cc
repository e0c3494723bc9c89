// SPDX-License-Identifier: Apache-2.0
#include "memory/default_map.h"

namespace millrace::board {

MemoryAttributes default_attributes(uint32_t address) {
  MemoryAttributes a;
  switch (address >> 29) {
    case 0:  // code: write-through
    case 4:  // RAM 0x80000000: write-through
      a.cacheable = true;
      return a;
    case 1:  // SRAM: write-back, write-allocate
    case 3:  // RAM 0x60000000: the same
      a.cacheable = a.write_back = a.write_allocate = true;
      return a;
    default:  // peripherals, devices, system
      a.device = true;
      a.executable = false;
      return a;
  }
}

}  // namespace millrace::board
