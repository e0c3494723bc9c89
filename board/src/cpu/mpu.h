// SPDX-License-Identifier: Apache-2.0
// The memory protection unit, 16 regions (Armv7-M ARM B3.5), and the default memory map (B3.1).
#pragma once

#include <array>
#include <cstdint>

#include "memory/memory_system.h"

namespace millrace::board {

class Mpu {
 public:
  static constexpr unsigned kRegions = 16;

  // Addresses whose attributes may have changed; none by default.
  struct Change {
    uint32_t first = 1;
    uint32_t last = 0;
    bool any() const { return first <= last; }
  };

  void reset() { *this = Mpu(); }

  // MPU_TYPE..RASR_A3 at 0xE000ED90..B8; `offset` from 0xE000E000. `lanes`: the bits written.
  uint32_t read(uint32_t offset) const;
  Change write(uint32_t offset, uint32_t value, uint32_t lanes);

  // Execution at negative priority: MPU_CTRL.HFNMIENA decides whether the MPU acts. True if
  // attributes changed.
  bool set_negative_priority(bool negative);
  // CACR.SIWT and FORCEWT (Cortex-M7 TRM 3.3.9): shareable memory is cached write-through instead
  // of not at all; all memory is write-through. True if attributes may have changed.
  bool set_cache_control(uint32_t cacr);

  // As AttributeSource says; for addresses below the private peripheral bus.
  MemoryAttributes attributes(uint32_t address, bool privileged) const;
  bool uniform_page(uint32_t page_address, bool privileged, MemoryAttributes* out) const;

  void snapshot(Snapshot& s);

 private:
  struct Region {
    uint32_t base = 0;  // RBAR.ADDR
    uint32_t rasr = 0;
  };
  // The addresses that the region covers, sub-regions aside.
  static Change extent(const Region& region);
  bool acts() const;
  MemoryAttributes decode(uint32_t rasr, uint32_t address, bool privileged) const;
  MemoryAttributes background(uint32_t address, bool privileged) const;
  MemoryAttributes default_map(uint32_t address) const;
  void cache_policy(unsigned policy, bool shareable, MemoryAttributes* out) const;

  std::array<Region, kRegions> regions_{};
  uint32_t control_ = 0;
  uint32_t number_ = 0;
  uint32_t cacr_ = 0;
  bool negative_priority_ = false;
};

}  // namespace millrace::board
