// SPDX-License-Identifier: Apache-2.0
// Two linker regions may stand for the same memory (Zephyr with the DTCM node as system RAM): each
// has a location counter of its own, so both start at its beginning, the linker says nothing, and
// start-up code that clears one wipes the other. So every pair of sections is compared, by where it
// runs and by where it is stored.
#include "millrace/profile/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace millrace::profile {
namespace {

struct Range {
  uint64_t start = 0, end = 0;
  const Section* section = nullptr;
};

constexpr size_t kMaxOverlaps = 100;

// Those that run (or are stored) somewhere, sorted. Thread-local ones are templates: their .tbss
// has addresses but no memory.
std::vector<Range> ranges_of(const std::vector<Section>& sections, bool stored) {
  std::vector<Range> out;
  for (const Section& section : sections) {
    if (stored && !section.is_stored) continue;
    if (section.is_thread_local && !section.is_stored) continue;
    const uint64_t start = stored ? section.load_address : section.address;
    out.push_back({start, start + section.size, &section});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Range& a, const Range& b) { return a.start < b.start; });
  return out;
}

void find_overlaps(const std::vector<Section>& sections, bool stored, std::vector<Overlap>* out) {
  const std::vector<Range> ranges = ranges_of(sections, stored);
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (size_t k = i + 1; k < ranges.size() && ranges[k].start < ranges[i].end; ++k) {
      if (out->size() == kMaxOverlaps) return;
      out->push_back({ranges[i].section->name, ranges[k].section->name,
                      static_cast<uint32_t>(ranges[k].start),
                      std::min(ranges[i].end, ranges[k].end) - ranges[k].start, stored});
    }
  }
}

// Bytes of `region` that any range covers, each once.
uint64_t covered(std::vector<Range> ranges, const RegionUse& region) {
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const Range& a, const Range& b) { return a.start < b.start; });
  uint64_t bytes = 0, at = region.start;
  const uint64_t end = region.start + region.size;
  for (const Range& range : ranges) {
    const uint64_t low = std::max(range.start, at), high = std::min(range.end, end);
    if (high > low) {
      bytes += high - low;
      at = high;
    }
  }
  return bytes;
}

class Reporter {
 public:
  Reporter(const ElfIndex& index, const Profile* profile, MemoryReport* out)
      : index_(index), out_(*out) {
    if (profile == nullptr) return;
    for (const FunctionRow& row : profile->functions) {
      if (row.function != kNone) weights_[row.function] = row.weight;
    }
  }

  void run() {
    regions();
    banks();
    use();
    items();
    find_overlaps(index_.sections(), false, &out_.overlaps);
    find_overlaps(index_.sections(), true, &out_.overlaps);
    shared_regions();
  }

 private:
  void regions() {
    for (const TargetRegion& region : out_.target.regions) {
      RegionUse use;
      use.name = region.name;
      use.start = region.start;
      use.size = region.size;
      use.is_fast = region.is_fast;
      use.is_cached = region.is_cached;
      // The linker's own idea of the size counts: a configuration may use half a memory. It may
      // also cut one memory into several regions, which then reach to the end of the last.
      uint64_t end = 0;
      bool begins_here = false;
      for (const MapRegion& map : index_.map_regions()) {
        const uint64_t map_end = map.origin + map.length;
        if (map.length == 0 || map.origin < region.start || map_end > region.end()) continue;
        begins_here = begins_here || map.origin - region.start < 0x2000;
        end = std::max(end, map_end);
      }
      if (begins_here && !out_.target.banks) use.size = end - region.start;
      out_.regions.push_back(use);
    }
  }

  RegionUse* region(const std::string& name) {
    for (RegionUse& one : out_.regions) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }

  // What the linker placed, to the end of the last section: a guard in front of it counts too.
  uint64_t extent_in(const RegionUse& region) const {
    uint64_t end = region.start;
    for (const Section& section : index_.sections()) {
      if (section.address >= region.start && section.address < region.start + region.size) {
        end = std::max(end, section.end());
      }
    }
    return end - region.start;
  }

  void banks() {
    if (!out_.target.banks) return;
    const TargetBanks& banks = *out_.target.banks;
    RegionUse* first = region(banks.regions[0]);
    RegionUse* last = region(banks.regions[1]);
    BankUse use;
    use.banks = banks;
    const uint64_t needed = extent_in(*first);
    use.needed = static_cast<uint32_t>((needed + banks.bytes - 1) / banks.bytes);
    use.assigned = use.needed;
    const auto symbol = index_.symbol(banks.symbol);
    if (symbol && *symbol <= banks.count) {
      use.assigned = *symbol;
      use.is_from_symbol = true;
    }
    if (use.needed > 0) {
      use.to_win_back = needed - uint64_t{use.needed - 1} * banks.bytes;
      use.left_in_last = uint64_t{use.needed} * banks.bytes - needed;
    }
    first->size = uint64_t{use.assigned} * banks.bytes;
    last->size = uint64_t{banks.count - std::min(use.assigned, banks.count)} * banks.bytes;
    if (needed > first->size) {
      out_.problems.push_back(fmt::format("{} needs {} banks of {} bytes and has {}", first->name,
                                          use.needed, banks.bytes, use.assigned));
    }
    out_.banks = use;
  }

  const TargetRegion* home(uint64_t address) const {
    return out_.target.region_at(static_cast<uint32_t>(address));
  }

  void use() {
    const std::vector<Range> run = ranges_of(index_.sections(), false);
    const std::vector<Range> stored = ranges_of(index_.sections(), true);
    for (RegionUse& one : out_.regions) {
      std::vector<Range> both;
      const auto gather = [&](const std::vector<Range>& ranges, uint64_t* bytes) {
        for (const Range& range : ranges) {
          const TargetRegion* at = home(range.start);
          if (at == nullptr || at->name != one.name) continue;
          *bytes += range.end - range.start;
          both.push_back(range);
        }
      };
      gather(run, &one.run);
      gather(stored, &one.stored);
      one.occupied = covered(both, one);
      for (const Range& range : both) {
        if (range.end > one.start + one.size) {
          out_.problems.push_back(fmt::format(
              "section {} ends at 0x{:08X}, {} bytes behind the end of {}", range.section->name,
              range.end, range.end - one.start - one.size, one.name));
          break;
        }
      }
    }
    for (const Range& range : run) {
      if (home(range.start) == nullptr) {
        out_.problems.push_back(fmt::format("section {} at 0x{:08X} is in no region of target {}",
                                            range.section->name, range.start, out_.target.name));
      }
    }
  }

  void items() {
    std::vector<uint64_t> named(index_.sections().size());
    const auto add = [&](MemoryItem item, uint32_t section) {
      const TargetRegion* at = home(item.address);
      item.region = at == nullptr ? "-" : at->name;
      item.section = index_.sections()[section].name;
      named[section] += item.bytes;
      out_.items.push_back(std::move(item));
    };
    const std::vector<Function>& functions = index_.functions();
    for (uint32_t i = 0; i < functions.size(); ++i) {
      const Function& function = functions[i];
      MemoryItem item;
      item.name = readable_name(function.name);
      item.library = function.library;
      item.file = function.file;
      item.address = function.start;
      // What stands inside another function is counted there.
      const bool is_inside =
          i > 0 && function.start < functions[i - 1].start + functions[i - 1].size;
      item.bytes = is_inside ? 0 : function.size;
      item.is_code = true;
      const auto weight = weights_.find(i);
      if (weight != weights_.end()) item.weight = weight->second;
      if (function.section != kNone && item.bytes > 0) add(std::move(item), function.section);
    }
    uint64_t end = 0;
    for (const DataObject& object : index_.objects()) {
      const uint64_t object_end = uint64_t{object.address} + object.size;
      if (object_end <= end || object.section == kNone) continue;  // an alias
      MemoryItem item;
      item.name = readable_name(object.name);
      item.library = object.library;
      item.file = object.file;
      item.address = object.address;
      item.bytes = object_end - std::max<uint64_t>(end, object.address);
      end = object_end;
      add(std::move(item), object.section);
    }
    for (uint32_t i = 0; i < named.size(); ++i) {
      const Section& section = index_.sections()[i];
      if (section.size <= named[i] || (section.is_thread_local && !section.is_stored)) continue;
      MemoryItem item;
      item.name = fmt::format("({} without a symbol)", section.name);
      item.address = section.address;
      item.bytes = section.size - named[i];
      item.is_code = section.is_code;
      add(std::move(item), i);
    }
    std::stable_sort(out_.items.begin(), out_.items.end(),
                     [](const MemoryItem& a, const MemoryItem& b) { return a.bytes > b.bytes; });
  }

  void shared_regions() {
    const std::vector<MapRegion>& all = index_.map_regions();
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t k = i + 1; k < all.size() && out_.shared.size() < kMaxOverlaps; ++k) {
        const uint64_t low = std::max(all[i].origin, all[k].origin);
        const uint64_t high =
            std::min(all[i].origin + all[i].length, all[k].origin + all[k].length);
        if (low >= high) continue;
        out_.shared.push_back(fmt::format(
            "linker regions {} and {} share {} bytes from 0x{:08X}: each fills them from its own "
            "start",
            printable(all[i].name, 60), printable(all[k].name, 60), high - low, low));
      }
    }
  }

  const ElfIndex& index_;
  MemoryReport& out_;
  std::unordered_map<uint32_t, uint64_t> weights_;
};

}  // namespace

MemoryReport report_memory(const ElfIndex& index, const Target& target, const Profile* profile) {
  MemoryReport out;
  out.target = target;
  out.notes = index.notes();
  Reporter(index, profile, &out).run();
  return out;
}

}  // namespace millrace::profile
