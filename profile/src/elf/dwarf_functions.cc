// SPDX-License-Identifier: Apache-2.0
// One walk over every DIE. Nine in ten are types, variables and parameters: their attributes are
// skipped by the abbreviation's fixed size, and subtrees that cannot hold code by DW_AT_sibling.
#include "elf/dwarf_functions.h"

#include <fmt/format.h>

#include "elf/dwarf_constants.h"

namespace millrace::profile {
namespace {

constexpr size_t kMaxRanges = size_t{8} << 20;
constexpr size_t kMaxRangesOfOne = 65536;
constexpr size_t kMaxInlines = size_t{8} << 20;
constexpr size_t kMaxDepth = 4096;
constexpr int kMaxOrigins = 16;

bool may_hold_code(uint32_t tag) {
  switch (tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
      return true;
    default:
      return false;
  }
}

struct Die {
  AttributeValue low, high, ranges, origin, specification;
  uint64_t sibling = 0;
  uint32_t call_file = 0, call_line = 0;
};

class Walker {
 public:
  Walker(const DwarfUnits& units, DwarfFunctions* out) : units_(units), out_(out) {}

  std::string walk(uint32_t number) {
    const Unit& unit = units_.units()[number];
    Cursor cursor(units_.sections().info.first(static_cast<size_t>(unit.end)), unit.first_die);
    // What is open at each depth: nothing of ours, a function or an inlined call.
    stack_.clear();
    while (!cursor.at_end()) {
      const uint64_t offset = cursor.at();
      const uint64_t code = cursor.uleb();
      if (code == 0) {
        if (stack_.empty()) break;
        close();
        continue;
      }
      const Abbreviation* abbreviation = unit.abbreviations->find(code);
      if (abbreviation == nullptr) {
        return fmt::format(".debug_info at 0x{:X}: abbreviation {} is not defined", offset, code);
      }
      const bool problem = !die(unit, number, offset, *abbreviation, &cursor);
      if (problem || !cursor.ok()) {
        return fmt::format(".debug_info at 0x{:X}: the DIE reaches beyond its unit", offset);
      }
      if (stack_.empty()) break;
      if (out_->ranges.size() > kMaxRanges || out_->inlines.size() > kMaxInlines) {
        return ".debug_info: more ranges than are read";
      }
    }
    while (!stack_.empty()) close();
    return {};
  }

 private:
  struct Open {
    enum class Kind { other, function, inlined } kind = Kind::other;
    uint32_t index = 0;
  };

  void close() {
    const Open top = stack_.back();
    stack_.pop_back();
    const auto end = static_cast<uint32_t>(out_->inlines.size());
    if (top.kind == Open::Kind::inlined) out_->inlines[top.index].subtree_end = end;
    if (top.kind == Open::Kind::function) {
      out_->functions[top.index].end_inline = end;
      in_function_ = false;
    }
  }

  Die read(const Unit& unit, const Abbreviation& abbreviation, Cursor* cursor) const {
    Die die;
    for (const AttributeSpec& spec : abbreviation.attributes) {
      switch (spec.name) {
        case DW_AT_low_pc:
          die.low = units_.read_value(cursor, unit, spec);
          break;
        case DW_AT_high_pc:
          die.high = units_.read_value(cursor, unit, spec);
          break;
        case DW_AT_ranges:
          die.ranges = units_.read_value(cursor, unit, spec);
          break;
        case DW_AT_abstract_origin:
          die.origin = units_.read_value(cursor, unit, spec);
          break;
        case DW_AT_call_file:
          die.call_file = static_cast<uint32_t>(units_.read_value(cursor, unit, spec).number);
          break;
        case DW_AT_call_line:
          die.call_line = static_cast<uint32_t>(units_.read_value(cursor, unit, spec).number);
          break;
        case DW_AT_sibling:
          die.sibling = units_.reference(unit, units_.read_value(cursor, unit, spec));
          break;
        default:
          units_.skip_value(cursor, unit, spec);
      }
    }
    return die;
  }

  // Appends the DIE's ranges; how many.
  uint32_t add_ranges(const Unit& unit, const Die& die) {
    const size_t before = out_->ranges.size();
    if (die.ranges.present()) {
      units_.ranges(unit, die.ranges, kMaxRangesOfOne, &out_->ranges);
    } else if (die.low.present() && die.high.present()) {
      const uint64_t low = units_.address(unit, die.low);
      const uint64_t high = die.high.form == DW_FORM_addr || die.high.form == DW_FORM_addrx
                                ? units_.address(unit, die.high)
                                : low + die.high.number;
      if (low < high && high <= UINT32_MAX) {
        out_->ranges.push_back({static_cast<uint32_t>(low), static_cast<uint32_t>(high)});
      }
    }
    return static_cast<uint32_t>(out_->ranges.size() - before);
  }

  bool die(const Unit& unit, uint32_t number, uint64_t offset, const Abbreviation& abbreviation,
           Cursor* cursor) {
    const bool is_function = abbreviation.tag == DW_TAG_subprogram;
    const bool is_inlined = abbreviation.tag == DW_TAG_inlined_subroutine && in_function_;
    Open open;
    bool descend = may_hold_code(abbreviation.tag);
    uint64_t sibling = 0;
    if (is_function || is_inlined) {
      const Die die = read(unit, abbreviation, cursor);
      sibling = die.sibling;
      const auto first = static_cast<uint32_t>(out_->ranges.size());
      const uint32_t ranges = add_ranges(unit, die);
      if (is_function && ranges > 0 && !in_function_) {
        DwarfFunction function;
        function.unit = number;
        function.die = offset;
        function.first_range = first;
        function.ranges = ranges;
        function.first_inline = function.end_inline = static_cast<uint32_t>(out_->inlines.size());
        open = {Open::Kind::function, static_cast<uint32_t>(out_->functions.size())};
        out_->functions.push_back(function);
        descend = true;
      } else if (is_inlined && ranges > 0) {
        InlineNode node;
        node.first_range = first;
        node.ranges = ranges;
        node.origin = units_.reference(unit, die.origin);
        node.call_file = die.call_file;
        node.call_line = die.call_line;
        node.subtree_end = static_cast<uint32_t>(out_->inlines.size()) + 1;
        open = {Open::Kind::inlined, static_cast<uint32_t>(out_->inlines.size())};
        out_->inlines.push_back(node);
        descend = true;
      }
    } else if (!descend && abbreviation.has_children && abbreviation.has_sibling) {
      sibling = read(unit, abbreviation, cursor).sibling;
    } else if (abbreviation.fixed_bytes >= 0) {
      cursor->skip(static_cast<uint64_t>(abbreviation.fixed_bytes));
    } else {
      for (const AttributeSpec& spec : abbreviation.attributes) {
        units_.skip_value(cursor, unit, spec);
      }
    }
    if (!abbreviation.has_children) {
      if (open.kind == Open::Kind::function) {
        out_->functions[open.index].end_inline = static_cast<uint32_t>(out_->inlines.size());
      }
      return true;
    }
    if (!descend && sibling > cursor->at() && sibling < unit.end) {
      cursor->seek(sibling);
      return true;
    }
    if (stack_.size() == kMaxDepth) return false;
    in_function_ = in_function_ || open.kind == Open::Kind::function;
    stack_.push_back(open);
    return true;
  }

  const DwarfUnits& units_;
  DwarfFunctions* out_;
  std::vector<Open> stack_;
  bool in_function_ = false;
};

}  // namespace

std::string read_functions(const DwarfUnits& units, DwarfFunctions* out) {
  Walker walker(units, out);
  std::string first;
  for (uint32_t i = 0; i < units.units().size(); ++i) {
    std::string problem = walker.walk(i);
    if (first.empty()) first = std::move(problem);
  }
  return first;
}

DwarfName name_of_die(const DwarfUnits& units, uint64_t die) {
  DwarfName out;
  for (int i = 0; i < kMaxOrigins; ++i) {
    const Unit* unit = units.unit_at(die);
    if (unit == nullptr) return out;
    Cursor cursor(units.sections().info.first(static_cast<size_t>(unit->end)), die);
    const Abbreviation* abbreviation = unit->abbreviations->find(cursor.uleb());
    if (abbreviation == nullptr) return out;
    if (out.unit == nullptr) out.unit = unit;
    uint64_t next = UINT64_MAX;
    uint32_t file = 0, line = 0;
    for (const AttributeSpec& spec : abbreviation->attributes) {
      switch (spec.name) {
        case DW_AT_name:
          if (out.name.empty())
            out.name = units.text(*unit, units.read_value(&cursor, *unit, spec));
          else
            units.skip_value(&cursor, *unit, spec);
          break;
        case DW_AT_linkage_name:
        case DW_AT_MIPS_linkage_name:
          out.linkage_name = units.text(*unit, units.read_value(&cursor, *unit, spec));
          break;
        case DW_AT_decl_file:
          file = static_cast<uint32_t>(units.read_value(&cursor, *unit, spec).number);
          break;
        case DW_AT_decl_line:
          line = static_cast<uint32_t>(units.read_value(&cursor, *unit, spec).number);
          break;
        case DW_AT_abstract_origin:
        case DW_AT_specification:
          next = units.reference(*unit, units.read_value(&cursor, *unit, spec));
          break;
        default:
          units.skip_value(&cursor, *unit, spec);
      }
    }
    // The definition's place, not that of the declaration that it completes. A definition may say
    // only the line when the file is the same.
    if (out.line == 0) out.line = line;
    if (file != 0 && out.file == 0) {
      out.file = file;
      out.unit = unit;
    }
    if (next == UINT64_MAX) return out;
    die = next;
  }
  return out;
}

}  // namespace millrace::profile
