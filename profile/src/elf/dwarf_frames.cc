// SPDX-License-Identifier: Apache-2.0
// Sampled r14 is the caller only while the function has not called anything. The unwind table says
// so exactly: until the prologue's push its rule for r14 is "same value", then "saved at CFA - 4",
// and again "same value" where an epilogue restores it before a tail call (DWARF 5, 6.4).
#include "elf/dwarf_frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "elf/dwarf_constants.h"

namespace millrace::profile {
namespace {

constexpr size_t kMaxEntries = size_t{4} << 20;
constexpr uint64_t kMaxProgramBytes = 16384;  // run for each address that is asked for
constexpr uint8_t kPointerAbsolute = 0x00, kPointerUdata4 = 0x03, kPointerSdata4 = 0x0B;
constexpr uint8_t kPointerRelative = 0x10;

bool is_read(uint8_t encoding) {
  const uint8_t form = encoding & 0x0Fu, base = encoding & 0x70u;
  return (form == kPointerAbsolute || form == kPointerUdata4 || form == kPointerSdata4) &&
         (base == 0 || base == kPointerRelative);
}

}  // namespace

FrameTable::Common FrameTable::read_common(Cursor cursor, bool is_eh) const {
  Common out;
  const uint8_t version = cursor.u8();
  const std::string_view augmentation = cursor.string();
  if (version == 4) {
    if (cursor.u8() != 4) return out;  // address size
    cursor.u8();
  }
  out.code_alignment = cursor.uleb();
  cursor.sleb();
  if (version == 1) {
    cursor.u8();
  } else {
    cursor.uleb();
  }
  if (augmentation.starts_with('z')) {
    const uint64_t size = cursor.uleb();
    const uint64_t next = cursor.at() + size;
    for (const char letter : augmentation.substr(1)) {
      if (letter == 'R') {
        out.pointer_encoding = cursor.u8();
      } else if (letter == 'L') {
        cursor.u8();
      } else if (letter == 'P') {
        if (!is_read(cursor.u8() & 0x7Fu)) return out;
        cursor.u32();
      }
    }
    cursor.seek(next);
  } else if (!augmentation.empty()) {
    return out;
  }
  if (!cursor.ok() || (is_eh && !is_read(out.pointer_encoding))) return out;
  if (cursor.left() > kMaxProgramBytes) return out;
  out.program = cursor.block(cursor.left());
  out.is_known = true;
  return out;
}

std::string FrameTable::read_section(std::span<const uint8_t> bytes, bool is_eh, uint32_t address) {
  const char* name = is_eh ? ".eh_frame" : ".debug_frame";
  const auto first_common = static_cast<ptrdiff_t>(commons_.size());
  Cursor cursor(bytes);
  while (!cursor.at_end()) {
    const uint64_t offset = cursor.at();
    unsigned offset_bytes = 4;
    uint64_t length = cursor.u32();
    if (length == 0 && is_eh) break;
    if (length == 0xFFFFFFFF) {
      offset_bytes = 8;
      length = cursor.u64();
    }
    if (!cursor.ok() || length > cursor.left()) {
      return fmt::format("{} at 0x{:X}: an entry reaches beyond the section", name, offset);
    }
    const uint64_t end = cursor.at() + length;
    const uint64_t id_at = cursor.at();
    const uint64_t id = cursor.fixed(offset_bytes);
    Cursor entry(bytes.first(static_cast<size_t>(end)), cursor.at());
    cursor.seek(end);
    const uint64_t mark = is_eh ? 0 : offset_bytes == 8 ? UINT64_MAX : 0xFFFFFFFF;
    if (commons_.size() + entries_.size() > kMaxEntries) {
      return fmt::format("{}: more entries than are read", name);
    }
    if (id == mark) {
      commons_.push_back(read_common(entry, is_eh));
      commons_.back().offset = offset;
      continue;
    }
    const uint64_t common_at = is_eh ? id_at - id : id;
    const auto common =
        std::lower_bound(commons_.begin() + first_common, commons_.end(), common_at,
                         [](const Common& one, uint64_t at) { return one.offset < at; });
    if (common == commons_.end() || common->offset != common_at || !common->is_known) continue;
    Entry out;
    out.common = static_cast<uint32_t>(common - commons_.begin());
    const uint64_t place = address + entry.at();
    out.low = entry.u32();
    if (is_eh && (common->pointer_encoding & 0x70u) == kPointerRelative) {
      out.low += static_cast<uint32_t>(place);
    }
    const uint32_t size = entry.u32();
    if (size > UINT32_MAX - out.low) continue;
    out.high = out.low + size;
    if (is_eh) entry.skip(entry.uleb());
    if (!entry.ok() || out.high <= out.low || entry.left() > kMaxProgramBytes) continue;
    out.program = entry.block(entry.left());
    entries_.push_back(out);
  }
  return {};
}

std::string FrameTable::read(const DwarfSections& sections, uint32_t link_register) {
  link_register_ = link_register;
  std::string problem = read_section(sections.frame, false, 0);
  const std::string second = read_section(sections.eh_frame, true, sections.eh_frame_address);
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.low < b.low; });
  return problem.empty() ? second : problem;
}

void FrameTable::keep_at_tombstone(uint32_t size) {
  const Entry* kept = nullptr;
  bool is_ambiguous = false;
  for (const Entry& entry : entries_) {
    if (!is_tombstone(entry.low)) break;
    if (entry.low != 0 || size == 0 || entry.high != size) continue;
    const auto same_program = [&](std::span<const uint8_t> a, std::span<const uint8_t> b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end());
    };
    if (kept != nullptr &&
        !(same_program(kept->program, entry.program) &&
          same_program(commons_[kept->common].program, commons_[entry.common].program))) {
      is_ambiguous = true;
    }
    kept = &entry;
  }
  const Entry copy = kept != nullptr ? *kept : Entry{};
  const bool keep = kept != nullptr && !is_ambiguous;
  std::erase_if(entries_, [](const Entry& entry) { return is_tombstone(entry.low); });
  if (keep) entries_.insert(entries_.begin(), copy);
}

bool FrameTable::run(std::span<const uint8_t> program, const Common& common, Rule initial,
                     uint64_t* at, uint32_t pc, Rule* rule) const {
  Cursor cursor(program);
  std::vector<Rule> states;
  const auto set = [&](uint64_t number, Rule value) {
    if (number == link_register_) *rule = value;
  };
  while (!cursor.at_end()) {
    const uint8_t opcode = cursor.u8();
    uint64_t advance = 0;
    switch (opcode & 0xC0u) {
      case DW_CFA_advance_loc:
        advance = opcode & 0x3Fu;
        break;
      case DW_CFA_offset:
        cursor.uleb();
        set(opcode & 0x3Fu, Rule::saved);
        break;
      case DW_CFA_restore:
        set(opcode & 0x3Fu, initial);
        break;
      default:
        switch (opcode) {
          case DW_CFA_nop:
            break;
          case DW_CFA_advance_loc1:
            advance = cursor.u8();
            break;
          case DW_CFA_advance_loc2:
            advance = cursor.u16();
            break;
          case DW_CFA_advance_loc4:
            advance = cursor.u32();
            break;
          case DW_CFA_offset_extended:
          case DW_CFA_offset_extended_sf:
          case DW_CFA_val_offset:
          case DW_CFA_val_offset_sf:
          case DW_CFA_register:
          case DW_CFA_GNU_negative_offset_extended:
            set(cursor.uleb(), Rule::saved);
            cursor.uleb();
            break;
          case DW_CFA_expression:
          case DW_CFA_val_expression:
            set(cursor.uleb(), Rule::saved);
            cursor.skip(cursor.uleb());
            break;
          case DW_CFA_restore_extended:
            set(cursor.uleb(), initial);
            break;
          case DW_CFA_same_value:
            set(cursor.uleb(), Rule::same);
            break;
          case DW_CFA_undefined:
            set(cursor.uleb(), Rule::saved);  // there is no caller to return to
            break;
          case DW_CFA_remember_state:
            if (states.size() == 256) return false;
            states.push_back(*rule);
            break;
          case DW_CFA_restore_state:
            if (states.empty()) return false;
            *rule = states.back();
            states.pop_back();
            break;
          case DW_CFA_def_cfa:
          case DW_CFA_def_cfa_sf:
            cursor.uleb();
            cursor.uleb();
            break;
          case DW_CFA_def_cfa_register:
          case DW_CFA_def_cfa_offset:
          case DW_CFA_def_cfa_offset_sf:
          case DW_CFA_GNU_args_size:
            cursor.uleb();
            break;
          case DW_CFA_def_cfa_expression:
            cursor.skip(cursor.uleb());
            break;
          case DW_CFA_set_loc:
          default:
            return false;
        }
    }
    if (!cursor.ok()) return false;
    *at += advance * common.code_alignment;
    if (advance > 0 && *at > pc) return true;
  }
  return true;
}

LinkRegister FrameTable::at(uint32_t pc) const {
  auto it = std::upper_bound(entries_.begin(), entries_.end(), pc,
                             [](uint32_t a, const Entry& entry) { return a < entry.low; });
  if (it == entries_.begin()) return LinkRegister::unknown;
  --it;
  if (pc >= it->high) return LinkRegister::unknown;
  const Common& common = commons_[it->common];
  Rule rule = Rule::same;
  uint64_t at = it->low;
  if (!run(common.program, common, Rule::same, &at, UINT32_MAX, &rule)) {
    return LinkRegister::unknown;
  }
  const Rule initial = rule;
  at = it->low;
  // The rule in force is the one before the first advance beyond pc: rows are applied in order.
  if (!run(it->program, common, initial, &at, pc, &rule)) return LinkRegister::unknown;
  return rule == Rule::same ? LinkRegister::holds_caller : LinkRegister::saved;
}

}  // namespace millrace::profile
