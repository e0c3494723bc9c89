// SPDX-License-Identifier: Apache-2.0
#include "predict/layout.h"

#include <algorithm>

namespace millrace::placement {

using profile::kNone;
using profile::Section;

namespace {

constexpr uint32_t kCodeAlign = 4;  // what is known of a unit by its address alone is a bound

// The copy of fast code that lies in slow memory in front of `section`: it grows by what moves.
bool lies_behind_copies(const ElfIndex& index, const profile::Target& target,
                        const Section& section) {
  for (const Section& one : index.sections()) {
    const profile::TargetRegion* at = target.region_at(one.address);
    if (!one.is_code || at == nullptr || !at->is_fast || one.load_address == one.address) continue;
    return one.load_address <= section.address;
  }
  return false;
}

}  // namespace

Layout::Layout(const ElfIndex& index, const profile::Target& target, const Units& units,
               const std::vector<bool>& moved)
    : moved_(moved), by_unit_(units.units.size()), section_(units.units.size()) {
  const std::vector<Section>& sections = index.sections();
  ends_.resize(sections.size());
  std::vector<uint32_t> removed(sections.size());
  for (size_t i = 0; i < sections.size(); ++i) ends_[i] = static_cast<uint32_t>(sections[i].end());
  for (size_t i = 0; i < units.units.size(); ++i) {
    const Unit& unit = units.units[i];
    const uint32_t home = index.section_at(unit.address);
    section_[i] = home == kNone ? 0 : home;
    if (home == kNone || unit.kind != UnitKind::code) continue;
    if (moved_[i]) {
      // With what alignment put behind it.
      const bool has_next =
          i + 1 < units.units.size() && units.units[i + 1].address < sections[home].end();
      const uint64_t next = has_next ? units.units[i + 1].address : sections[home].end();
      removed[home] += static_cast<uint32_t>(std::max<uint64_t>(next, unit.end()) - unit.address);
      moved_bytes_ += (unit.size + kCodeAlign - 1) / kCodeAlign * kCodeAlign;
      continue;
    }
    const uint32_t align = std::max(std::min(unit.align, kCodeAlign), 1u);
    by_unit_[i] = 0 - removed[home] / align * align;
  }
  std::vector<uint32_t> grown(sections.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].is_code && lies_behind_copies(index, target, sections[i])) {
      grown[i] = static_cast<uint32_t>((moved_bytes_ + 7) / 8 * 8);
    }
    ends_[i] += grown[i] - removed[i];
  }
  for (size_t i = 0; i < units.units.size(); ++i) {
    if (units.units[i].kind == UnitKind::code) by_unit_[i] += grown[section_[i]];
  }
}

uint32_t unit_of(const Units& units, uint32_t address) {
  auto it = std::upper_bound(units.units.begin(), units.units.end(), address,
                             [](uint32_t a, const Unit& one) { return a < one.address; });
  if (it == units.units.begin()) return kNone;
  --it;
  return address < it->end() ? static_cast<uint32_t>(it - units.units.begin()) : kNone;
}

}  // namespace millrace::placement
