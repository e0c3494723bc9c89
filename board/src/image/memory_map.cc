// SPDX-License-Identifier: Apache-2.0
#include "millrace/board/memory_map.h"

#include "memory/physical_memory.h"

namespace millrace::board {
namespace {

// At boot the fuses share FlexRAM out: 128 KB ITCM, 128 KB DTCM, 256 KB OCRAM behind the 512 KB of
// OCRAM2. PSRAM answers only after the firmware has set up FlexSPI2.
constexpr MemoryArea kAreas[] = {
    {"ITCM", 0x00000000, kFlexramBytes, 4 * kFlexramBankBytes, true},
    {"DTCM", 0x20000000, kFlexramBytes, 4 * kFlexramBankBytes, true},
    {"OCRAM", 0x20200000, kOcram2Bytes + kFlexramBytes, kOcram2Bytes + 8 * kFlexramBankBytes, true},
    {"flash", kFlashBase, kFlashBytes, kFlashBytes, false},
    {"PSRAM", kPsramBase, 16u << 20, 0, true},
};

}  // namespace

std::span<const MemoryArea> memory_areas() { return kAreas; }

const MemoryArea* memory_area(uint32_t address) {
  for (const MemoryArea& area : kAreas) {
    if (address - area.base < area.bytes) return &area;
  }
  return nullptr;
}

}  // namespace millrace::board
