// SPDX-License-Identifier: Apache-2.0
// A linker moves input sections, not functions. The map file has them as they are: size, archive
// and object. Without one each function is taken for a section, as -ffunction-sections makes them;
// functions that overlap (a second entry point, an assembler's labels) are one. What alignment
// takes is told from the address: an input section starts at a multiple of its alignment, so the
// common factor of where it stands is an upper bound, and 4 is what compilers give Thumb code.
#include "millrace/placement/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "units/path.h"

namespace millrace::placement {
namespace {

using profile::base_name_of_clone;
using profile::DataObject;
using profile::Function;
using profile::FunctionKind;
using profile::InputSection;
using profile::kNone;
using profile::Section;

constexpr uint32_t kCodeAlign = 4;
constexpr uint32_t kDefaultVeneerBytes = 8;  // ldr.w pc, [pc]; .word
constexpr uint64_t kBranchRange = uint64_t{16} << 20;

uint32_t align_of(uint32_t address, uint32_t most) {
  uint32_t align = 1;
  while (align < most && address % (align * 2) == 0) align *= 2;
  return align;
}

UnitKind kind_of(const Section& section) {
  if (section.is_code) return UnitKind::code;
  if (!section.is_writable) return UnitKind::constants;
  return section.is_stored ? UnitKind::data : UnitKind::zeroed;
}

class UnitFinder {
 public:
  explicit UnitFinder(const ElfIndex& index) : index_(index) {
    out_.of_function.assign(index.functions().size(), kNone);
    out_.of_object.assign(index.objects().size(), kNone);
  }

  Units run() {
    out_.is_from_map = !index_.input_sections().empty();
    if (out_.is_from_map) {
      from_map();
    }
    functions();
    objects();
    finish();
    return std::move(out_);
  }

 private:
  void from_map() {
    uint64_t end = 0;
    for (const InputSection& input : index_.input_sections()) {
      if (input.address < end) continue;  // a map of another program, or lld's repeated lines
      const uint32_t section = index_.section_at(input.address);
      if (section == kNone) continue;
      if (input.address + uint64_t{input.size} > index_.sections()[section].end()) continue;
      Unit unit;
      unit.kind = kind_of(index_.sections()[section]);
      unit.address = input.address;
      unit.size = input.size;
      unit.section = input.name;
      unit.library = input.library;
      unit.object = input.object;
      unit.size_is_exact = true;
      end = unit.end();
      out_.units.push_back(std::move(unit));
    }
  }

  uint32_t unit_at(uint32_t address) const {
    auto it = std::upper_bound(out_.units.begin(), out_.units.begin() + from_map_, address,
                               [](uint32_t a, const Unit& one) { return a < one.address; });
    if (it == out_.units.begin()) return kNone;
    --it;
    return address < it->end() ? static_cast<uint32_t>(it - out_.units.begin()) : kNone;
  }

  void functions() {
    from_map_ = static_cast<ptrdiff_t>(out_.units.size());
    const std::vector<Function>& all = index_.functions();
    uint32_t last = kNone;
    for (uint32_t i = 0; i < all.size(); ++i) {
      const Function& one = all[i];
      if (one.kind == FunctionKind::veneer || one.size == 0 || one.section == kNone) continue;
      uint32_t unit = unit_of(one.start, last);
      if (unit == kNone) {
        last = unit = make(UnitKind::code, one.start, one.size, one.section, one.library);
      } else {
        reach(&out_.units[unit], uint64_t{one.start} + one.size);
      }
      out_.units[unit].functions.push_back(i);
      out_.of_function[i] = unit;
    }
  }

  // The unit at an address, or `last`, the one made before, if it reaches so far.
  uint32_t unit_of(uint32_t address, uint32_t last) const {
    const uint32_t unit = unit_at(address);
    return unit == kNone && last != kNone && address < out_.units[last].end() ? last : unit;
  }

  uint32_t make(UnitKind kind, uint32_t address, uint32_t size, uint32_t section,
                const std::string& library) {
    Unit made;
    made.kind = kind;
    made.address = address;
    made.size = size;
    made.section = index_.sections()[section].name;
    made.library = library;
    out_.units.push_back(std::move(made));
    return static_cast<uint32_t>(out_.units.size() - 1);
  }

  static void reach(Unit* unit, uint64_t end) {
    if (unit->size_is_exact) return;
    unit->size = static_cast<uint32_t>(std::max(unit->end(), end) - unit->address);
  }

  void objects() {
    const std::vector<DataObject>& all = index_.objects();
    uint32_t last = kNone;
    for (uint32_t i = 0; i < all.size(); ++i) {
      const DataObject& one = all[i];
      if (one.size == 0 || one.section == kNone) continue;
      uint32_t unit = unit_of(one.address, last);
      if (unit == kNone) {
        UnitKind kind = kind_of(index_.sections()[one.section]);
        // Constants may stand among code: an object is no function.
        if (kind == UnitKind::code) kind = UnitKind::constants;
        last = unit = make(kind, one.address, one.size, one.section, one.library);
      } else if (!out_.units[unit].size_is_exact) {
        reach(&out_.units[unit], uint64_t{one.address} + one.size);
      } else if (out_.units[unit].functions.empty() && out_.units[unit].kind == UnitKind::code) {
        out_.units[unit].kind = UnitKind::constants;
      }
      out_.units[unit].objects.push_back(i);
      out_.of_object[i] = unit;
    }
  }

  // What a list calls it: the name of its section says, else its first global function.
  void name(Unit* unit) const {
    std::string best;
    bool is_local = true;
    const auto consider = [&](const std::string& name, bool local, const std::string& file) {
      const bool is_sections = unit->section.ends_with("." + name);
      if (best.empty() || is_sections || (is_local && !local)) {
        best = name;
        is_local = !is_sections && local;
      }
      if (unit->file.empty()) unit->file = file;
    };
    for (const uint32_t i : unit->functions) {
      const Function& one = index_.functions()[i];
      consider(one.name, one.is_local, one.file);
      for (const std::string& alias : one.aliases) {
        if (unit->section.ends_with("." + alias)) best = alias;
      }
    }
    for (const uint32_t i : unit->objects) {
      const DataObject& one = index_.objects()[i];
      consider(one.name, one.is_local, one.file);
    }
    unit->name = best;
  }

  void finish() {
    const bool sorted =
        std::is_sorted(out_.units.begin(), out_.units.end(),
                       [](const Unit& a, const Unit& b) { return a.address < b.address; });
    if (!sorted) sort();
    for (Unit& unit : out_.units) {
      const bool is_code = unit.kind == UnitKind::code;
      unit.align = is_code ? align_of(unit.address, kCodeAlign) : align_of(unit.address, 32);
      // The address may have more factors than the section asked for; its size tells as little.
      if (!is_code && unit.size < unit.align) unit.align = std::max(4u, align_of(unit.size, 32));
      name(&unit);
    }
  }

  void sort() {
    std::vector<uint32_t> order(out_.units.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return out_.units[a].address < out_.units[b].address;
    });
    std::vector<Unit> units;
    units.reserve(order.size());
    std::vector<uint32_t> place(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      units.push_back(std::move(out_.units[order[i]]));
    }
    out_.units = std::move(units);
    for (std::vector<uint32_t>* list : {&out_.of_function, &out_.of_object}) {
      for (uint32_t& unit : *list) unit = unit == kNone ? kNone : place[unit];
    }
  }

  const ElfIndex& index_;
  Units out_;
  ptrdiff_t from_map_ = 0;
};

// .text.NAME with what compilers put before and behind the name.
bool is_own_section(const std::string& section, const std::string& base, UnitKind kind) {
  static constexpr const char* kCode[] = {".text.hot.", ".text.unlikely.", ".text.startup.",
                                          ".text.exit.", ".text."};
  static constexpr const char* kData[] = {".rodata.", ".data.rel.ro.", ".data.", ".bss."};
  const auto fits = [&](const char* prefix) {
    return section.starts_with(prefix) &&
           base_name_of_clone(section.substr(std::string_view(prefix).size())) == base;
  };
  if (kind == UnitKind::code) return std::any_of(std::begin(kCode), std::end(kCode), fits);
  return std::any_of(std::begin(kData), std::end(kData), fits);
}

// _init and _fini are put together from pieces: none may go alone.
bool is_piece(const Unit& unit) {
  return unit.section == ".init" || unit.section == ".fini" || unit.name == "_init" ||
         unit.name == "_fini";
}

// In no input section, though the map has them: what the linker script itself puts there.
bool is_of_linker(const Unit& unit, const Units& all) {
  return all.is_from_map && unit.kind == UnitKind::code && !unit.size_is_exact && !unit.is_part;
}

bool is_crowd(const Unit& unit) {
  return is_made_at_link(unit.object) && !unit.is_part &&
         !is_own_section(unit.section, base_name_of_clone(unit.name), unit.kind);
}

bool can_be_named(const Unit& unit, const Units& all) {
  return !is_piece(unit) && !is_of_linker(unit, all) && !is_crowd(unit) &&
         can_be_listed(entry_of(unit, all));
}

// Names that are not enough, and units that cannot be named.
void find_names(Units* units) {
  units->ambiguous.clear();
  std::unordered_map<std::string, uint32_t> first;
  for (uint32_t i = 0; i < units->units.size(); ++i) {
    const Unit& unit = units->units[i];
    if (unit.name.empty()) continue;
    const auto [it, is_new] = first.emplace(base_name_of_clone(unit.name), i);
    if (is_new) continue;
    const Unit& other = units->units[it->second];
    if (other.file != unit.file || other.object != unit.object || other.library != unit.library) {
      units->ambiguous.insert(it->first);
    }
  }
  for (Unit& unit : units->units) {
    if (!unit.name.empty() && !can_be_named(unit, *units)) unit.name.clear();
  }
}

}  // namespace

// GNU's, lld's.
bool is_made_at_link(const std::string& object) {
  return object.find(".ltrans") != std::string::npos || object.ends_with(".lto.o") ||
         object == "lto.tmp";
}

Units find_units(const ElfIndex& index) {
  Units out = UnitFinder(index).run();
  find_names(&out);
  return out;
}

Units split_units(const ElfIndex& index, Units units,
                  const std::function<bool(const Unit&)>& is_wanted) {
  Units out;
  out.is_from_map = units.is_from_map;
  out.of_function.assign(units.of_function.size(), kNone);
  out.of_object.assign(units.of_object.size(), kNone);
  out.units.reserve(units.units.size());
  for (Unit& unit : units.units) {
    const bool is_split =
        unit.kind == UnitKind::code && unit.functions.size() > 1 && is_wanted(unit);
    if (!is_split) {
      out.units.push_back(std::move(unit));
      continue;
    }
    bool is_first = true;
    for (const uint32_t number : unit.functions) {
      const Function& function = index.functions()[number];
      if (is_first || function.start >= out.units.back().end()) {
        Unit& part = out.units.emplace_back(unit);
        part.is_part = true;
        part.size_is_exact = false;
        part.address = function.start;
        part.size = 0;
        part.align = align_of(function.start, kCodeAlign);
        part.name = function.name;
        part.file = function.file;
        part.functions.clear();
        part.objects.clear();
        is_first = false;
      }
      Unit& part = out.units.back();
      const uint64_t end = std::min(uint64_t{function.start} + function.size, unit.end());
      part.size = static_cast<uint32_t>(std::max(part.end(), end) - part.address);
      part.functions.push_back(number);
    }
  }
  for (uint32_t i = 0; i < out.units.size(); ++i) {
    for (const uint32_t function : out.units[i].functions) out.of_function[function] = i;
    for (const uint32_t object : out.units[i].objects) out.of_object[object] = i;
  }
  find_names(&out);
  return out;
}

std::string why_unnamed(const Unit& unit, const Units& all) {
  if (is_piece(unit)) return "is a piece of what the linker puts together";
  if (is_of_linker(unit, all)) return "is of the linker script, not of any object";
  if (is_crowd(unit)) {
    return "link-time optimisation wrote it into one section with others (link with "
           "-ffunction-sections)";
  }
  return "has no name that a list could give";
}

Entry entry_of(const Unit& unit, const Units& all) {
  Entry entry;
  if (unit.kind != UnitKind::code) entry.kind = EntryKind::data;
  entry.name = base_name_of_clone(unit.name);
  const bool is_own =
      !all.is_from_map || unit.is_part || is_own_section(unit.section, entry.name, unit.kind);
  if (!is_own) {
    entry.section = unit.section;
    entry.file = unit.library == unit.object || unit.library.empty()
                     ? unit.object
                     : unit.library + ":" + unit.object;
  } else if (all.ambiguous.contains(entry.name)) {
    entry.file = base_of_path(unit.file);
    if (entry.file.empty()) entry.file = unit.object;
  }
  return entry;
}

uint32_t veneer_bytes(const ElfIndex& index) {
  uint32_t out = 0;
  for (const Function& one : index.functions()) {
    if (one.kind == FunctionKind::veneer && !one.size_is_estimated && one.size <= 32) {
      out = std::max(out, (one.size + 3) / 4 * 4);
    }
  }
  return out == 0 ? kDefaultVeneerBytes : out;
}

bool needs_veneer(uint32_t from, uint32_t to) {
  const uint64_t distance = from > to ? uint64_t{from} - to : uint64_t{to} - from;
  return distance >= kBranchRange;
}

}  // namespace millrace::placement
