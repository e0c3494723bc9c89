// SPDX-License-Identifier: Apache-2.0
// Call frame information, for one question: does the link register still hold the caller?
#pragma once

#include <cstdint>
#include <vector>

#include "elf/dwarf_units.h"

namespace millrace::profile {

class FrameTable {
 public:
  // Reads .debug_frame and .eh_frame. `link_register`: its DWARF number (ARM 14, RISC-V 1).
  // An empty string, or what is damaged; what was read before is kept.
  std::string read(const DwarfSections& sections, uint32_t link_register);

  // Of entries that start where the linker puts what it threw away, keeps at most the one that is
  // as long as the live function there, `size` bytes (0: there is none).
  void keep_at_tombstone(uint32_t size);

  LinkRegister at(uint32_t pc) const;

 private:
  struct Common {
    uint64_t offset = 0;
    uint64_t code_alignment = 1;
    uint8_t pointer_encoding = 0;
    bool is_known = false;
    std::span<const uint8_t> program;
  };
  struct Entry {
    uint32_t low = 0, high = 0;
    uint32_t common = 0;
    std::span<const uint8_t> program;
  };
  std::string read_section(std::span<const uint8_t> bytes, bool is_eh, uint32_t address);
  Common read_common(Cursor cursor, bool is_eh) const;
  // Runs a program up to `pc`; what it says about the link register.
  enum class Rule : uint8_t { same, saved };
  bool run(std::span<const uint8_t> program, const Common& common, Rule initial, uint64_t* at,
           uint32_t pc, Rule* rule) const;

  uint32_t link_register_ = 14;
  std::vector<Common> commons_;
  std::vector<Entry> entries_;  // sorted by low
};

}  // namespace millrace::profile
