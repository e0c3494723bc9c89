// SPDX-License-Identifier: Apache-2.0
// Why not libdw: it hands out the rows of a unit's line table sorted by address, with no trace of
// the sequence that they came from. With ITCM at 0 the rows of every collected function are mixed
// with those of the live one there, and nothing can separate them again (elf/dwarf_lines.cc does,
// because it sees sequences). Nor is it made for damaged input. What is needed here is small: tags,
// names, ranges.
#include "elf/dwarf_units.h"

#include <fmt/format.h>

#include "elf/dwarf_constants.h"

namespace millrace::profile {
namespace {

constexpr size_t kMaxAbbreviations = size_t{1} << 20;      // of all tables together
constexpr size_t kMaxSpecs = size_t{4} << 20;              // the same
constexpr size_t kMaxAttributes = 64;                      // of one; compilers use half of that
constexpr uint64_t kMaxRangeEntries = uint64_t{32} << 20;  // read, lists that are shared again

// Bytes of a form's value; -1 if it varies.
int form_bytes(uint32_t form, uint16_t version, uint8_t offset_bytes) {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return 3;
    case DW_FORM_addr:
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
      return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return 8;
    case DW_FORM_data16:
      return 16;
    case DW_FORM_ref_addr:
      return version <= 2 ? 4 : offset_bytes;
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return offset_bytes;
    default:
      return -1;
  }
}

std::string_view string_at(std::span<const uint8_t> bytes, uint64_t offset) {
  Cursor cursor(bytes, offset);
  return cursor.string();
}

}  // namespace

DwarfSections::DwarfSections(const ElfFile& file)
    : info(file.bytes_of(".debug_info")),
      abbrev(file.bytes_of(".debug_abbrev")),
      str(file.bytes_of(".debug_str")),
      line_str(file.bytes_of(".debug_line_str")),
      str_offsets(file.bytes_of(".debug_str_offsets")),
      addr(file.bytes_of(".debug_addr")),
      ranges(file.bytes_of(".debug_ranges")),
      rnglists(file.bytes_of(".debug_rnglists")),
      line(file.bytes_of(".debug_line")),
      frame(file.bytes_of(".debug_frame")),
      eh_frame(file.bytes_of(".eh_frame")) {
  for (const ElfHeaderSection& section : file.headers()) {
    if (section.name == ".eh_frame") eh_frame_address = section.address;
  }
}

const Abbreviation* AbbreviationTable::find(uint64_t code) const {
  if (code - 1 < dense.size()) return &dense[code - 1];
  const auto it = sparse.find(code);
  return it == sparse.end() ? nullptr : &it->second;
}

std::shared_ptr<const AbbreviationTable> DwarfUnits::table_at(uint64_t offset,
                                                              uint8_t offset_bytes) {
  const uint64_t key = offset << 1 | (offset_bytes == 8 ? 1u : 0u);
  const auto found = tables_.find(key);
  if (found != tables_.end()) return found->second;
  auto table = std::make_shared<AbbreviationTable>();
  Cursor cursor(sections_.abbrev, offset);
  while (cursor.ok() && !cursor.at_end()) {
    const uint64_t code = cursor.uleb();
    if (code == 0 || ++abbreviations_ > kMaxAbbreviations || specs_ > kMaxSpecs) break;
    Abbreviation one;
    one.tag = static_cast<uint32_t>(cursor.uleb());
    one.has_children = cursor.u8() != 0;
    int bytes = 0;
    while (cursor.ok() && one.attributes.size() < kMaxAttributes) {
      AttributeSpec spec;
      spec.name = static_cast<uint32_t>(cursor.uleb());
      spec.form = static_cast<uint32_t>(cursor.uleb());
      if (spec.form == DW_FORM_implicit_const) spec.constant = cursor.sleb();
      if (spec.name == 0 && spec.form == 0) break;
      one.has_sibling = one.has_sibling || spec.name == DW_AT_sibling;
      // The version only matters for DW_FORM_ref_addr, which is left to vary.
      const int size = spec.form == DW_FORM_ref_addr ? -1 : form_bytes(spec.form, 5, offset_bytes);
      bytes = size < 0 || bytes < 0 ? -1 : bytes + size;
      one.attributes.push_back(spec);
    }
    specs_ += one.attributes.size();
    one.fixed_bytes = bytes;
    if (code == table->dense.size() + 1) {
      table->dense.push_back(std::move(one));
    } else {
      table->sparse.emplace(code, std::move(one));
    }
  }
  tables_.emplace(key, table);
  return table;
}

std::string DwarfUnits::read() {
  Cursor cursor(sections_.info);
  while (!cursor.at_end()) {
    const uint64_t offset = cursor.at();
    const std::string problem = read_unit(&cursor);
    if (!problem.empty()) return fmt::format(".debug_info at 0x{:X}: {}", offset, problem);
  }
  return {};
}

std::string DwarfUnits::read_unit(Cursor* cursor) {
  Unit unit;
  unit.offset = cursor->at();
  uint64_t length = cursor->u32();
  if (length == 0xFFFFFFFF) {
    unit.offset_bytes = 8;
    length = cursor->u64();
  }
  if (!cursor->ok() || length > cursor->left()) return "a unit reaches beyond the section";
  unit.end = cursor->at() + length;
  unit.version = cursor->u16();
  uint8_t type = 1, address_bytes = 0;
  uint64_t abbrev = 0;
  if (unit.version == 5) {
    type = cursor->u8();
    address_bytes = cursor->u8();
    abbrev = cursor->fixed(unit.offset_bytes);
    if (type == 4 || type == 5) cursor->skip(8);                                // skeleton
    if (type == 2 || type == 6) cursor->skip(uint64_t{8} + unit.offset_bytes);  // type unit
  } else {
    abbrev = cursor->fixed(unit.offset_bytes);
    address_bytes = cursor->u8();
  }
  // Versions and address sizes that are not read are skipped as a whole, type units too: they
  // describe no code.
  const bool is_read = unit.version >= 2 && unit.version <= 5 && address_bytes == 4 && type != 2 &&
                       type != 6 && cursor->ok() && cursor->at() <= unit.end;
  if (is_read) {
    unit.first_die = cursor->at();
    unit.abbreviations = table_at(abbrev, unit.offset_bytes);
    unit.str_offsets_base = unit.addr_base = 8;
    unit.rnglists_base = 12;
    read_unit_die(&unit);
    units_.push_back(std::move(unit));
  }
  cursor->seek(is_read ? units_.back().end : unit.end);
  return {};
}

void DwarfUnits::read_unit_die(Unit* unit) {
  Cursor cursor(sections_.info.first(static_cast<size_t>(unit->end)), unit->first_die);
  const Abbreviation* abbreviation = unit->abbreviations->find(cursor.uleb());
  if (abbreviation == nullptr) return;
  unit->tag = abbreviation->tag;
  AttributeValue name, folder, low, high;
  for (const AttributeSpec& spec : abbreviation->attributes) {
    const AttributeValue value = read_value(&cursor, *unit, spec);
    switch (spec.name) {
      case DW_AT_name:
        name = value;
        break;
      case DW_AT_comp_dir:
        folder = value;
        break;
      case DW_AT_stmt_list:
        unit->line_offset = value.number;
        break;
      case DW_AT_low_pc:
        low = value;
        break;
      case DW_AT_high_pc:
        high = value;
        break;
      case DW_AT_language:
        unit->language = static_cast<uint32_t>(value.number);
        break;
      case DW_AT_str_offsets_base:
        unit->str_offsets_base = value.number;
        break;
      case DW_AT_addr_base:
      case DW_AT_GNU_addr_base:
        unit->addr_base = value.number;
        break;
      case DW_AT_rnglists_base:
        unit->rnglists_base = value.number;
        break;
      default:
        break;
    }
  }
  // Indexed forms need the bases, which may stand behind them.
  unit->name = text(*unit, name);
  unit->folder = text(*unit, folder);
  if (low.present()) unit->low_pc = address(*unit, low);
  if (high.present()) {
    unit->high_pc = high.form == DW_FORM_addr ? high.number : unit->low_pc + high.number;
  }
}

const Unit* DwarfUnits::unit_at(uint64_t offset) const {
  auto it = std::upper_bound(units_.begin(), units_.end(), offset,
                             [](uint64_t at, const Unit& unit) { return at < unit.offset; });
  if (it == units_.begin()) return nullptr;
  --it;
  return offset < it->end && offset >= it->first_die ? &*it : nullptr;
}

AttributeValue DwarfUnits::read_value(Cursor* cursor, const Unit& unit,
                                      const AttributeSpec& spec) const {
  AttributeValue value;
  value.form = spec.form;
  if (spec.form == DW_FORM_indirect) {
    value.form = static_cast<uint32_t>(cursor->uleb());
    if (value.form == DW_FORM_indirect || value.form == DW_FORM_implicit_const) return {};
  }
  switch (value.form) {
    case DW_FORM_implicit_const:
      value.number = static_cast<uint64_t>(spec.constant);
      return value;
    case DW_FORM_flag_present:
      value.number = 1;
      return value;
    case DW_FORM_string:
      value.text = cursor->string();
      return value;
    case DW_FORM_sdata:
      value.number = static_cast<uint64_t>(cursor->sleb());
      return value;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
      value.number = cursor->uleb();
      return value;
    case DW_FORM_block1:
      cursor->skip(cursor->u8());
      return value;
    case DW_FORM_block2:
      cursor->skip(cursor->u16());
      return value;
    case DW_FORM_block4:
      cursor->skip(cursor->u32());
      return value;
    case DW_FORM_block:
    case DW_FORM_exprloc:
      cursor->skip(cursor->uleb());
      return value;
    default:
      break;
  }
  const int bytes = form_bytes(value.form, unit.version, unit.offset_bytes);
  if (bytes < 0) {
    cursor->skip(cursor->left() + 1);  // an unknown form: nothing behind it can be found
    return {};
  }
  if (bytes > 8) {
    cursor->skip(static_cast<uint64_t>(bytes));
  } else {
    value.number = cursor->fixed(static_cast<unsigned>(bytes));
  }
  return value;
}

void DwarfUnits::skip_value(Cursor* cursor, const Unit& unit, const AttributeSpec& spec) const {
  const int bytes = form_bytes(spec.form, unit.version, unit.offset_bytes);
  if (bytes >= 0) {
    cursor->skip(static_cast<uint64_t>(bytes));
  } else {
    read_value(cursor, unit, spec);
  }
}

std::string_view DwarfUnits::text(const Unit& unit, const AttributeValue& value) const {
  switch (value.form) {
    case DW_FORM_string:
      return value.text;
    case DW_FORM_strp:
      return string_at(sections_.str, value.number);
    case DW_FORM_line_strp:
      return string_at(sections_.line_str, value.number);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index: {
      if (value.number > sections_.str_offsets.size()) return {};
      Cursor cursor(sections_.str_offsets,
                    unit.str_offsets_base + value.number * unit.offset_bytes);
      const uint64_t offset = cursor.fixed(unit.offset_bytes);
      return cursor.ok() ? string_at(sections_.str, offset) : std::string_view();
    }
    default:
      return {};
  }
}

uint64_t DwarfUnits::indexed_address(const Unit& unit, uint64_t index) const {
  if (index > sections_.addr.size()) return UINT64_MAX;
  Cursor cursor(sections_.addr, unit.addr_base + index * 4);
  const uint64_t address = cursor.u32();
  return cursor.ok() ? address : UINT64_MAX;
}

uint64_t DwarfUnits::address(const Unit& unit, const AttributeValue& value) const {
  switch (value.form) {
    case DW_FORM_addr:
      return value.number;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
      return indexed_address(unit, value.number);
    default:
      return UINT64_MAX;
  }
}

uint64_t DwarfUnits::reference(const Unit& unit, const AttributeValue& value) const {
  switch (value.form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
      return value.number < sections_.info.size() ? unit.offset + value.number : UINT64_MAX;
    case DW_FORM_ref_addr:
      return value.number;
    default:
      return UINT64_MAX;
  }
}

void DwarfUnits::old_ranges(const Unit& unit, uint64_t offset, size_t most,
                            std::vector<AddressRange>* out) const {
  Cursor cursor(sections_.ranges, offset);
  uint64_t base = unit.low_pc;
  for (size_t i = 0; i < most && cursor.ok() && !cursor.at_end(); ++i) {
    if (++range_entries_ > kMaxRangeEntries) return;
    const uint64_t low = cursor.u32(), high = cursor.u32();
    if (!cursor.ok() || (low == 0 && high == 0)) return;
    if (low == 0xFFFFFFFF) {
      base = high;
    } else if (low < high) {
      out->push_back({static_cast<uint32_t>(base + low), static_cast<uint32_t>(base + high)});
    }
  }
}

void DwarfUnits::ranges(const Unit& unit, const AttributeValue& value, size_t most,
                        std::vector<AddressRange>* out) const {
  if (!value.present()) return;
  if (unit.version < 5) return old_ranges(unit, value.number, most, out);
  uint64_t offset = value.number;
  if (value.form == DW_FORM_rnglistx) {
    if (value.number > sections_.rnglists.size()) return;
    Cursor table(sections_.rnglists, unit.rnglists_base + value.number * unit.offset_bytes);
    offset = unit.rnglists_base + table.fixed(unit.offset_bytes);
    if (!table.ok()) return;
  }
  Cursor cursor(sections_.rnglists, offset);
  uint64_t base = unit.low_pc;
  const auto add = [out](uint64_t low, uint64_t high) {
    if (low < high && high <= UINT32_MAX) {
      out->push_back({static_cast<uint32_t>(low), static_cast<uint32_t>(high)});
    }
  };
  for (size_t i = 0; i < most && cursor.ok() && !cursor.at_end(); ++i) {
    if (++range_entries_ > kMaxRangeEntries) return;
    const uint8_t kind = cursor.u8();
    uint64_t low = 0;
    switch (kind) {
      case DW_RLE_base_addressx:
        base = indexed_address(unit, cursor.uleb());
        break;
      case DW_RLE_startx_endx:
        low = indexed_address(unit, cursor.uleb());
        add(low, indexed_address(unit, cursor.uleb()));
        break;
      case DW_RLE_startx_length:
        low = indexed_address(unit, cursor.uleb());
        add(low, low + cursor.uleb());
        break;
      case DW_RLE_offset_pair:
        low = base + cursor.uleb();
        add(low, base + cursor.uleb());
        break;
      case DW_RLE_base_address:
        base = cursor.u32();
        break;
      case DW_RLE_start_end:
        low = cursor.u32();
        add(low, cursor.u32());
        break;
      case DW_RLE_start_length:
        low = cursor.u32();
        add(low, low + cursor.uleb());
        break;
      default:
        return;
    }
  }
}

}  // namespace millrace::profile
