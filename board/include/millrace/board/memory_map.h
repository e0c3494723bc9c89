// SPDX-License-Identifier: Apache-2.0
// The memories of the Teensy 4.1 by address (IMXRT1060RM chapter 2), for whoever loads or describes
// an image.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millrace::board {

struct MemoryArea {
  std::string_view name;
  uint32_t base = 0;
  uint32_t bytes = 0;          // at most; ITCM, DTCM and a part of OCRAM share 512 KB of FlexRAM
  uint32_t bytes_at_boot = 0;  // there when the boot ROM starts; what a loader can fill
  bool is_ram = false;
};

// ITCM, DTCM, OCRAM, flash, PSRAM: sorted by address.
std::span<const MemoryArea> memory_areas();
// Null if there is no memory at `address`.
const MemoryArea* memory_area(uint32_t address);

}  // namespace millrace::board
