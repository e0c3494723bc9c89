// SPDX-License-Identifier: Apache-2.0
#include "elf/dwarf_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "elf/dwarf_constants.h"

namespace millrace::profile {
namespace {

constexpr size_t kMaxRows = size_t{16} << 20;
constexpr size_t kMaxFiles = size_t{1} << 20;
constexpr size_t kMaxFilesOfOne = 65536;
constexpr size_t kMaxLineEntries = size_t{4} << 20;  // files and folders of all tables
constexpr uint64_t kLnctPath = 1, kLnctDirectory = 2;

// `a/./b/../c` -> `a/c`; leading `..` stay.
std::string normalised(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool absolute = path.starts_with('/');
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!part.empty() && part != "." && !(part == ".." && absolute)) {
      parts.push_back(part);
    }
    at = end + 1;
  }
  std::string out = absolute ? "/" : "";
  for (const std::string_view part : parts) {
    if (!out.empty() && out.back() != '/') out += '/';
    out += part;
  }
  return out;
}

bool is_absolute(std::string_view path) {
  return path.starts_with('/') || (path.size() > 2 && path[1] == ':');
}

std::string joined(std::string_view folder, std::string_view name) {
  if (is_absolute(name) || folder.empty()) return normalised(name);
  return normalised(std::string(folder) + '/' + std::string(name));
}

class TableReader {
 public:
  TableReader(const DwarfUnits& units, LineTables* out) : units_(units), out_(out) {}

  std::string read(const Unit& unit) {
    const std::span<const uint8_t> all = units_.sections().line;
    Cursor head(all, unit.line_offset);
    offset_bytes_ = 4;
    uint64_t length = head.u32();
    if (length == 0xFFFFFFFF) {
      offset_bytes_ = 8;
      length = head.u64();
    }
    if (!head.ok() || length > head.left()) return "reaches beyond the section";
    // Tables that overlap would let a small file cost much time.
    work_ += length;
    if (work_ > 2 * uint64_t{all.size()} + 4096) return "line tables overlap";
    Cursor cursor(all.first(static_cast<size_t>(head.at() + length)), head.at());
    const uint16_t version = cursor.u16();
    if (version < 2 || version > 5) return {};
    if (version == 5) {
      if (cursor.u8() != 4) return {};  // address size
      cursor.u8();
    }
    const uint64_t header_length = cursor.fixed(offset_bytes_);
    const uint64_t program = cursor.at() + header_length;
    min_instruction_ = cursor.u8();
    if (version >= 4) cursor.u8();  // operations of a VLIW instruction
    cursor.u8();                    // default_is_stmt
    line_base_ = static_cast<int8_t>(cursor.u8());
    line_range_ = cursor.u8();
    opcode_base_ = cursor.u8();
    lengths_.clear();
    for (unsigned i = 1; i < opcode_base_; ++i) lengths_.push_back(cursor.u8());
    table_ = unit.line_offset;
    numbers_ = &out_->file_numbers[table_];
    if (version == 5) {
      files_v5(unit, &cursor);
    } else {
      files_v2(unit, &cursor);
    }
    if (!cursor.ok() || line_range_ == 0 || header_length > length) return "its header is damaged";
    cursor.seek(program);
    return run(&cursor);
  }

 private:
  uint32_t file_id(std::string path) {
    if (ids_.size() >= kMaxFiles) return kNone;
    const auto [it, is_new] = ids_.emplace(std::move(path), static_cast<uint32_t>(ids_.size()));
    if (is_new) out_->files.push_back(it->first);
    return it->second;
  }

  void files_v2(const Unit& unit, Cursor* cursor) {
    std::vector<std::string> folders = {std::string(unit.folder)};
    while (cursor->ok() && folders.size() < kMaxFilesOfOne) {
      const std::string_view folder = cursor->string();
      if (folder.empty()) break;
      folders.push_back(joined(unit.folder, folder));
    }
    numbers_->push_back(file_id(joined(unit.folder, unit.name)));  // numbered from 1
    while (cursor->ok() && numbers_->size() < kMaxFilesOfOne) {
      const std::string_view name = cursor->string();
      if (name.empty()) break;
      const uint64_t folder = cursor->uleb();
      cursor->uleb();
      cursor->uleb();
      numbers_->push_back(
          file_id(joined(folder < folders.size() ? folders[folder] : folders[0], name)));
    }
  }

  struct Entry {
    std::string_view path;
    uint64_t folder = 0;
  };

  std::vector<Entry> entries(const Unit& unit, Cursor* cursor) {
    std::vector<AttributeSpec> format(cursor->u8());
    for (AttributeSpec& spec : format) {
      spec.name = static_cast<uint32_t>(cursor->uleb());
      spec.form = static_cast<uint32_t>(cursor->uleb());
    }
    const uint64_t count = cursor->uleb();
    std::vector<Entry> out;
    if (format.empty()) return out;
    for (uint64_t i = 0; i < count && cursor->ok() && !cursor->at_end(); ++i) {
      // An entry may take no bytes at all.
      if (out.size() == kMaxFilesOfOne || ++entries_ > kMaxLineEntries) break;
      Entry entry;
      for (const AttributeSpec& spec : format) {
        Unit form = {};
        form.version = 5;
        form.offset_bytes = offset_bytes_;
        const AttributeValue value = units_.read_value(cursor, form, spec);
        if (spec.name == kLnctPath) entry.path = units_.text(unit, value);
        if (spec.name == kLnctDirectory) entry.folder = value.number;
      }
      out.push_back(entry);
    }
    return out;
  }

  void files_v5(const Unit& unit, Cursor* cursor) {
    std::vector<std::string> folders;
    for (const Entry& entry : entries(unit, cursor)) {
      folders.push_back(joined(unit.folder, entry.path));
    }
    for (const Entry& entry : entries(unit, cursor)) {
      const std::string_view folder =
          entry.folder < folders.size() ? std::string_view(folders[entry.folder]) : unit.folder;
      numbers_->push_back(file_id(joined(folder, entry.path)));
    }
  }

  uint32_t local_file(uint64_t number) const {
    return number < numbers_->size() ? (*numbers_)[number] : kNone;
  }

  std::string run(Cursor* cursor) {
    begin_sequence();
    while (cursor->ok() && !cursor->at_end()) {
      const uint8_t opcode = cursor->u8();
      if (opcode >= opcode_base_) {
        const unsigned adjusted = opcode - opcode_base_;
        address_ += uint64_t{adjusted / line_range_} * min_instruction_;
        line_ += static_cast<uint32_t>(line_base_ + static_cast<int>(adjusted % line_range_));
        row();
      } else if (opcode == 0) {
        extended(cursor);
      } else {
        standard(opcode, cursor);
      }
      if (out_->rows.size() > kMaxRows) return "more rows than are read";
    }
    out_->rows.resize(first_row_);  // an unfinished sequence has no end
    return cursor->ok() ? "" : "its program is cut off";
  }

  void begin_sequence() {
    address_ = 0;
    line_ = 1;
    file_ = 1;
    first_row_ = out_->rows.size();
  }

  void row() {
    const LineRow one = {static_cast<uint32_t>(address_), local_file(file_), line_};
    // Several rows of one address: the last one counts. A program that goes backwards is damaged.
    if (out_->rows.size() > first_row_) {
      LineRow& last = out_->rows.back();
      if (one.address < last.address) return;
      if (one.address == last.address) {
        last = one;
        return;
      }
      if (one.file == last.file && one.line == last.line) return;
    }
    out_->rows.push_back(one);
  }

  void end_sequence() {
    const size_t count = out_->rows.size() - first_row_;
    if (count > 0 && address_ > out_->rows[first_row_].address && address_ <= UINT32_MAX) {
      LineSequence sequence;
      sequence.low = out_->rows[first_row_].address;
      sequence.high = static_cast<uint32_t>(address_);
      sequence.table = table_;
      sequence.first_row = static_cast<uint32_t>(first_row_);
      sequence.rows = static_cast<uint32_t>(count);
      out_->sequences.push_back(sequence);
    } else {
      out_->rows.resize(first_row_);
    }
    begin_sequence();
  }

  void extended(Cursor* cursor) {
    const uint64_t size = cursor->uleb();
    if (size == 0 || size > cursor->left()) {
      cursor->skip(cursor->left() + 1);
      return;
    }
    const uint64_t next = cursor->at() + size;
    const uint8_t opcode = cursor->u8();
    if (opcode == DW_LNE_end_sequence) {
      end_sequence();
    } else if (opcode == DW_LNE_set_address) {
      address_ = cursor->fixed(static_cast<unsigned>(std::min<uint64_t>(size - 1, 8)));
    }
    cursor->seek(next);
  }

  void standard(uint8_t opcode, Cursor* cursor) {
    switch (opcode) {
      case DW_LNS_copy:
        row();
        return;
      case DW_LNS_advance_pc:
        address_ += cursor->uleb() * min_instruction_;
        return;
      case DW_LNS_advance_line:
        line_ += static_cast<uint32_t>(cursor->sleb());
        return;
      case DW_LNS_set_file:
        file_ = cursor->uleb();
        return;
      case DW_LNS_const_add_pc:
        address_ += uint64_t{(255u - opcode_base_) / line_range_} * min_instruction_;
        return;
      case DW_LNS_fixed_advance_pc:
        address_ += cursor->u16();
        return;
      default:
        for (unsigned i = 0; i < lengths_[opcode - 1]; ++i) cursor->uleb();
    }
  }

  const DwarfUnits& units_;
  LineTables* out_;
  std::unordered_map<std::string, uint32_t> ids_;
  uint64_t work_ = 0;
  size_t entries_ = 0;
  uint8_t offset_bytes_ = 4;
  uint8_t min_instruction_ = 1, line_range_ = 1, opcode_base_ = 1;
  int8_t line_base_ = 0;
  std::vector<uint8_t> lengths_;
  uint64_t table_ = 0;
  std::vector<uint32_t>* numbers_ = nullptr;
  uint64_t address_ = 0, file_ = 1;
  uint32_t line_ = 1;
  size_t first_row_ = 0;
};

}  // namespace

uint32_t LineTables::file(uint64_t table, uint32_t number) const {
  const auto it = file_numbers.find(table);
  if (it == file_numbers.end() || number >= it->second.size()) return kNone;
  return it->second[number];
}

std::string read_lines(const DwarfUnits& units, LineTables* out) {
  TableReader reader(units, out);
  std::string first;
  for (const Unit& unit : units.units()) {
    if (unit.line_offset == UINT64_MAX || out->file_numbers.contains(unit.line_offset)) continue;
    const std::string problem = reader.read(unit);
    if (!problem.empty() && first.empty()) {
      first = fmt::format(".debug_line at 0x{:X}: {}", unit.line_offset, problem);
    }
  }
  return first;
}

}  // namespace millrace::profile
