// SPDX-License-Identifier: Apache-2.0
// Units, abbreviations and attribute values of .debug_info, DWARF 2 to 5, 32-bit addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "elf/dwarf_cursor.h"
#include "elf/elf_file.h"

namespace millrace::profile {

// The sections, each empty if the ELF has none.
struct DwarfSections {
  std::span<const uint8_t> info, abbrev, str, line_str, str_offsets, addr, ranges, rnglists, line,
      frame, eh_frame;
  uint32_t eh_frame_address = 0;
  explicit DwarfSections(const ElfFile& file);
  DwarfSections() = default;
};

// A linker writes these for the address of something that it threw away: GNU ld 0 (1 in
// .debug_ranges and .debug_loc), lld 0, 1 or -1.
inline bool is_tombstone(uint64_t address) { return address <= 1 || address >= 0xFFFFFFFE; }

struct AttributeSpec {
  uint32_t name = 0, form = 0;
  int64_t constant = 0;  // DW_FORM_implicit_const
};

struct Abbreviation {
  uint32_t tag = 0;
  bool has_children = false;
  bool has_sibling = false;
  std::vector<AttributeSpec> attributes;
  int32_t fixed_bytes = -1;  // of all attributes; -1: varies
};

struct AbbreviationTable {
  std::vector<Abbreviation> dense;  // by code - 1, as every producer numbers them
  std::unordered_map<uint64_t, Abbreviation> sparse;
  const Abbreviation* find(uint64_t code) const;
};

struct AttributeValue {
  uint32_t form = 0;  // 0: absent
  uint64_t number = 0;
  std::string_view text;  // DW_FORM_string only
  bool present() const { return form != 0; }
};

struct Unit {
  uint64_t offset = 0, end = 0, first_die = 0;
  uint16_t version = 0;
  uint8_t offset_bytes = 4;
  std::shared_ptr<const AbbreviationTable> abbreviations;
  // Of the unit's own DIE.
  uint32_t tag = 0;
  std::string_view name, folder;
  uint64_t line_offset = UINT64_MAX;
  uint64_t low_pc = 0, high_pc = 0;
  uint64_t str_offsets_base = 0, addr_base = 0, rnglists_base = 0;
  uint32_t language = 0;
};

// A half-open range of addresses.
struct AddressRange {
  uint32_t low = 0, high = 0;
};

class DwarfUnits {
 public:
  explicit DwarfUnits(const DwarfSections& sections) : sections_(sections) {}

  // Reads every unit's header and first DIE. An empty string, or what is damaged; units before it
  // are there.
  std::string read();

  const std::vector<Unit>& units() const { return units_; }
  const Unit* unit_at(uint64_t offset) const;
  const DwarfSections& sections() const { return sections_; }

  AttributeValue read_value(Cursor* cursor, const Unit& unit, const AttributeSpec& spec) const;
  void skip_value(Cursor* cursor, const Unit& unit, const AttributeSpec& spec) const;

  std::string_view text(const Unit& unit, const AttributeValue& value) const;
  // UINT64_MAX if it has no address.
  uint64_t address(const Unit& unit, const AttributeValue& value) const;
  // Offset in .debug_info of the DIE that a reference names; UINT64_MAX for none.
  uint64_t reference(const Unit& unit, const AttributeValue& value) const;
  // Appends the ranges of a DW_AT_ranges value, at most `most`.
  void ranges(const Unit& unit, const AttributeValue& value, size_t most,
              std::vector<AddressRange>* out) const;

 private:
  std::string read_unit(Cursor* cursor);
  void read_unit_die(Unit* unit);
  std::shared_ptr<const AbbreviationTable> table_at(uint64_t offset, uint8_t offset_bytes);
  uint64_t indexed_address(const Unit& unit, uint64_t index) const;
  void old_ranges(const Unit& unit, uint64_t offset, size_t most,
                  std::vector<AddressRange>* out) const;

  DwarfSections sections_;
  std::vector<Unit> units_;
  std::unordered_map<uint64_t, std::shared_ptr<const AbbreviationTable>> tables_;
  size_t abbreviations_ = 0, specs_ = 0;
  mutable uint64_t range_entries_ = 0;
};

}  // namespace millrace::profile
