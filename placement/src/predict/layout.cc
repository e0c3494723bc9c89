// SPDX-License-Identifier: Apache-2.0
#include "predict/layout.h"

#include <algorithm>
#include <set>

namespace millrace::placement {

using profile::kNone;
using profile::Section;

namespace {

constexpr uint32_t kLeastAlign = 4;  // what is known of a unit by its address alone is a bound
constexpr uint64_t kMostPadding = 31;

// Where the copy of fast code ends that lies in slow memory in front of `section`: it grows by what
// moves. 0: there is none.
uint64_t copy_in_front_of(const ElfIndex& index, const profile::Target& target,
                          const Section& section) {
  for (const Section& one : index.sections()) {
    const profile::TargetRegion* at = target.region_at(one.address);
    if (!one.is_code || at == nullptr || !at->is_fast || one.load_address == one.address) continue;
    return one.load_address <= section.address ? uint64_t{one.load_address} + one.size : 0;
  }
  return 0;
}

// Bytes more of veneers in fast memory: one for each function that its code calls elsewhere.
uint64_t veneers_in_fast(const ElfIndex& index, const profile::Target& target, const Units& units,
                         const std::vector<bool>& moved, const profile::CallGraph& graph) {
  const auto is_fast = [&](uint32_t function, bool before) {
    const profile::TargetRegion* at = target.region_at(index.functions()[function].start);
    const uint32_t unit = units.of_function[function];
    return (at != nullptr && at->is_fast) || (!before && unit != kNone && moved[unit]);
  };
  std::set<uint32_t> then, now;
  for (const profile::CallEdge& edge : graph.edges()) {
    if (edge.kind == profile::EdgeKind::address) continue;
    if (is_fast(edge.from, true) && !is_fast(edge.to, true)) now.insert(edge.to);
    if (is_fast(edge.from, false) && !is_fast(edge.to, false)) then.insert(edge.to);
  }
  return then.size() > now.size() ? (then.size() - now.size()) * veneer_bytes(index) : 0;
}

}  // namespace

Layout::Layout(const ElfIndex& index, const profile::Target& target, const Units& units,
               const std::vector<bool>& moved, const profile::CallGraph& graph)
    : moved_(moved), by_unit_(units.units.size()), section_(units.units.size()) {
  const std::vector<Section>& sections = index.sections();
  ends_.resize(std::max<size_t>(sections.size(), 1));
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
      const uint64_t end = std::clamp<uint64_t>(next, unit.end(), unit.end() + kMostPadding);
      removed[home] += static_cast<uint32_t>(end - unit.address);
      moved_bytes_ += (uint64_t{unit.size} + kLeastAlign - 1) / kLeastAlign * kLeastAlign;
      continue;
    }
    const uint32_t align = std::max(std::min(unit.align, kLeastAlign), 1u);
    by_unit_[i] = 0 - removed[home] / align * align;
  }
  const uint64_t veneers = veneers_in_fast(index, target, units, moved, graph);
  std::vector<uint32_t> grown(ends_.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    const uint64_t copy = copy_in_front_of(index, target, sections[i]);
    if (moved_bytes_ > 0 && sections[i].is_code && copy > 0) {
      // What stands between the two stays between them.
      const uint64_t align = std::max(sections[i].align, 1u);
      const uint64_t old = (copy + align - 1) / align * align;
      const uint64_t made = (copy + moved_bytes_ + veneers + 7) / 8 * 8;
      grown[i] = static_cast<uint32_t>((made + align - 1) / align * align - old);
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
