// SPDX-License-Identifier: Apache-2.0
// place_data(): which objects go to fast memory for data. One exact knapsack over what is waited
// for each, as measured, is the choice, with density greedy as the baseline printed beside; what
// the choice saves is judged by data_run.h, since what moves evicts nothing any more.
//
// Sizes: an object takes its size rounded up to its alignment, and the list is written by
// alignment, the largest first, so that nothing but the last object's padding stands between them;
// what is reported is the sum of that layout. An ELF no longer has the alignment that an input
// section asked for: it is at most what divides the address and what its output section has, and
// for an object smaller than that, what its size has, unless the gap before it proves more.
#include "millrace/placement/place_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "data/data_use.h"
#include "data/dma_rules.h"
#include "millrace/placement/select.h"
#include "millrace/profile/call_graph.h"
#include "place/region.h"
#include "place/workspace.h"

namespace millrace::placement {
namespace {

using profile::kNone;
using profile::printable;
using profile::TargetRegion;

constexpr uint32_t kMaxAlign = 4096;  // a queue head list of USB asks for 2,048 or 4,096
constexpr double kUnitsOfWorth = 16;  // the knapsack counts in whole numbers
constexpr size_t kMaxDataCurvePoints = 40;

uint64_t up(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

uint32_t factor(uint32_t value, uint32_t most) {
  uint32_t out = 1;
  while (out < most && value % (out * 2) == 0) out *= 2;
  return out;
}

// `values` of `heap_sort()::values`: whose variable it is says nothing of it.
std::string last_part(const std::string& name) {
  const size_t at = name.rfind("::");
  return at == std::string::npos ? name : name.substr(at + 2);
}

class DataPlacer {
 public:
  DataPlacer(ElfIndex* index, const profile::SampleSet& samples, std::span<const uint8_t> trace,
             const profile::Target& target, const DataOptions& options, DataPlacement* out)
      : index_(*index),
        samples_(samples),
        trace_(trace),
        target_(target),
        options_(options),
        out_(*out) {}

  Failure run() {
    Failure failure = find_region();
    if (!failure) {
      failure = profile::attribute(&index_, samples_, target_, options_.profile, &profile_);
    }
    if (!failure) failure = prepare();
    if (failure) return failure;
    make_candidates();
    failure = choose();
    if (failure) return failure;
    explain();
    draw_curve();
    write_list();
    return {};
  }

 private:
  Failure usage(std::string message) const { return Error{Error::Kind::usage, std::move(message)}; }

  Failure find_region() {
    Failure failure =
        placement::find_region(index_, target_, options_.region, Contents::data, &region_);
    if (!failure) failure = check_budget(*region_, options_.budget, Contents::data);
    if (failure) return failure;
    out_.budget = options_.budget;
    out_.target = target_.name;
    out_.region = region_->name;
    out_.region_is_dma = region_->is_dma;
    out_.path = index_.path();
    return {};
  }

  Failure prepare() {
    units_ = find_units(index_);
    out_.busy = profile_.busy();
    out_.unit = profile_.unit;
    out_.samples_path = profile_.samples_path;
    use_ = read_data_use(profile_, units_, index_, trace_);
    out_.is_measured = use_.is_measured;
    out_.stall = use_.stall;
    out_.stall_elsewhere = use_.elsewhere;
    if (Failure failure = check_boot_options(index_, options_.boot)) return failure;
    const profile::CallGraph graph = profile::CallGraph::build(index_);
    const BootClosure boot = find_boot_closure(index_, graph, options_.boot);
    boot_user_.assign(units_.units.size(), kNone);
    for (const BootFunction& one : boot.functions) {
      for (const uint32_t value : profile::constants_made(index_, one.function)) {
        // A pointer to the end of a table is not one to what stands behind it: words only of what
        // is filled, since start-up code knows the borders of all that it clears and copies.
        const uint32_t unit = unit_of(value);
        if (unit != kNone && units_.units[unit].kind == UnitKind::constants) {
          boot_user_[unit] = one.function;
        }
      }
    }
    Failure failure = units_named(options_.pin, "--pin", &index_, units_, &pinned_);
    if (!failure) failure = units_named(options_.never, "--never", &index_, units_, &never_);
    if (!failure) failure = units_named(options_.dma, "--dma", &index_, units_, &dma_);
    if (failure) return failure;
    for (size_t i = 0; i < units_.units.size(); ++i) {
      const Unit& unit = units_.units[i];
      const std::string name = printable(unit.name, 80);
      if (dma_[i] && unit.kind == UnitKind::code) {
        return usage(fmt::format("--dma {}: it is code, not data", name));
      }
      if (!pinned_[i]) continue;
      if (never_[i]) return usage(fmt::format("{} is pinned and never to move (decide)", name));
      if (dma_[i]) {
        return usage(
            fmt::format("{} is pinned and said to be used by DMA (decide: leave out --dma to move "
                        "it)",
                        name));
      }
    }
    notes();
    return {};
  }

  void notes() {
    if (!units_.is_from_map) {
      out_.notes.emplace_back(
          "without --map the section that an object was compiled into is not known: sections for "
          "DMA are told from the output section's name only");
    }
    if (!out_.is_measured) {
      out_.notes.emplace_back(
          "samples do not tell which data was waited for: objects are ordered by how busy the code "
          "is that refers to them, and no gain is predicted (a trace of the virtual board has each "
          "wait)");
    }
    if (use_.is_measured && use_.stall > 0 && use_.elsewhere > use_.stall / 2) {
      out_.notes.push_back(fmt::format(
          "{:.0f} % of the waiting for data is for what is no object: stacks, heaps, buffers that "
          "are reached by pointers only; the linker script says where these are",
          100 * use_.elsewhere / use_.stall));
    }
    uint64_t used = 0;
    for (const profile::Section& one : index_.sections()) {
      if (target_.region_at(one.address) == region_ && !one.is_thread_local) used += one.size;
    }
    if (used + options_.budget > region_->size) {
      out_.notes.push_back(
          fmt::format("{} bytes of {} are in use: the budget does not fit beside them",
                      std::min<uint64_t>(used, region_->size), region_->name));
    }
  }

  uint32_t unit_of(uint32_t address) const {
    auto it = std::upper_bound(units_.units.begin(), units_.units.end(), address,
                               [](uint32_t a, const Unit& one) { return a < one.address; });
    if (it == units_.units.begin()) return kNone;
    --it;
    return address < it->end() ? static_cast<uint32_t>(it - units_.units.begin()) : kNone;
  }

  uint32_t align_of(uint32_t number) const {
    const Unit& unit = units_.units[number];
    uint32_t most = kMaxAlign;
    uint64_t before = 0;
    const uint32_t section = index_.section_at(unit.address);
    if (section != kNone) {
      most = std::min(most, std::max(1u, index_.sections()[section].align));
      before = index_.sections()[section].address;
    }
    const uint32_t by_address = factor(unit.address, most);
    if (unit.size == 0 || unit.size >= by_address) return by_address;
    if (number > 0) before = std::max(before, units_.units[number - 1].end());
    uint32_t proved = 1;  // the least that explains why it stands here and not before
    while (proved < by_address && up(before, proved) != unit.address) proved *= 2;
    return std::max(proved, std::min(by_address, std::max(4u, factor(unit.size, by_address))));
  }

  // Full paths, by object file of the map: data has none of its own.
  void find_sources() {
    for (const Unit& unit : units_.units) {
      for (const uint32_t function : unit.functions) {
        const std::string& file = index_.functions()[function].file;
        if (file.find('/') == std::string::npos || unit.object.empty()) continue;
        const std::string base = file.substr(file.rfind('/') + 1);
        if (unit.object.find(base.substr(0, base.rfind('.'))) == std::string::npos) continue;
        sources_.emplace(unit.library + '\n' + unit.object, file);
      }
    }
  }

  void make_candidates() {
    find_sources();
    for (uint32_t i = 0; i < units_.units.size(); ++i) {
      const Unit& unit = units_.units[i];
      if (unit.kind == UnitKind::code || unit.size == 0) continue;
      const uint32_t home = index_.section_at(unit.address);
      if (home == kNone || index_.sections()[home].is_thread_local) continue;
      const TargetRegion* at = target_.region_at(unit.address);
      if (at != nullptr && at->is_fast) {
        if (!unit.objects.empty()) ++out_.already_fast;
        continue;
      }
      const ObjectUse& use = use_.by_unit[i];
      DataCandidate one;
      one.unit = i;
      one.kind = unit.kind;
      one.name = unit.name.empty() ? unit.section : profile::readable_name(unit.name);
      one.library = unit.library;
      one.file = unit.file;
      one.section = unit.section;
      one.memory = at == nullptr ? "?" : at->name;
      one.address = unit.address;
      one.size = unit.size;
      one.align = align_of(i);
      one.stall = use.stall;
      one.stall_alone = use.stall_alone;
      one.use = use.use;
      one.users = use.users;
      if (use.user != kNone) {
        one.user = profile::readable_name(index_.functions()[use.user].name);
      }
      const auto source = sources_.find(unit.library + '\n' + unit.object);
      if (source != sources_.end()) one.source = source->second;
      if (one.source.empty() && unit.file.find('/') != std::string::npos) one.source = unit.file;
      if (!unit.name.empty()) one.entry = entry_of(unit, units_);
      rule(i, unit, use, &one);
      const bool is_ruled =
          one.why == DataWhy::pinned || one.why == DataWhy::dma || one.why == DataWhy::never;
      if (one.worth(out_.is_measured) <= 0 && !is_ruled) {
        ++out_.unused;
        continue;
      }
      out_.candidates.push_back(std::move(one));
    }
  }

  std::string function(uint32_t number) const {
    return printable(profile::readable_name(index_.functions()[number].name), 60);
  }

  std::string how_to_move(const DataCandidate& one) const {
    return fmt::format("name it with --pin '{}' to move it", entry_text(one.entry));
  }

  // The verdict that does not depend on the others, and its reason.
  void rule(uint32_t number, const Unit& unit, const ObjectUse& use, DataCandidate* one) const {
    const auto is = [&](DataWhy why, std::string reason) {
      one->why = why;
      one->reason = std::move(reason);
    };
    const bool is_writable = unit.kind != UnitKind::constants;
    const uint32_t home = index_.section_at(unit.address);
    const std::string& output = index_.sections()[home].name;
    if (pinned_[number]) return is(DataWhy::pinned, "pinned");
    if (never_[number]) return is(DataWhy::never, "kept by --never");
    if (dma_[number]) return is(DataWhy::dma, "used by DMA: --dma says so");
    if (unit.name.empty()) return is(DataWhy::not_movable, "has no name that a list could give");
    for (const std::string& section : {unit.section, output}) {
      if (!is_dma_section(section)) continue;
      return is(DataWhy::dma, fmt::format("may be used by DMA, as its section {} says: {}",
                                          printable(section, 40), how_to_move(*one)));
    }
    if (is_stack_or_heap("", last_part(one->name)) || is_stack_or_heap(output, "")) {
      return is(DataWhy::stack,
                fmt::format("a stack or heap, as its name says: {}", how_to_move(*one)));
    }
    if (is_dma_name(one->name)) {
      return is(DataWhy::dma,
                fmt::format("may be used by DMA, as its name says: {}", how_to_move(*one)));
    }
    if (is_writable && one->align >= kBufferAlign && use.device_user != kNone) {
      return is(DataWhy::may_be_dma,
                fmt::format("may be used by DMA ({} drives a device, {} bytes aligned): {}",
                            function(use.device_user), one->align, how_to_move(*one)));
    }
    if (boot_user_[number] != kNone) {
      return is(DataWhy::boot, fmt::format("{} uses it before it would have been copied",
                                           function(boot_user_[number])));
    }
    if (units_.is_from_map && !is_ordinary_section(unit.section)) {
      return is(DataWhy::kept, fmt::format("the source put it into {}: {}",
                                           printable(unit.section, 40), how_to_move(*one)));
    }
    const bool is_counted = !out_.is_measured && out_.unit == profile::WeightUnit::samples;
    if (is_counted && one->use < options_.min_samples) {
      return is(DataWhy::too_little, fmt::format("{:.1f} samples, fewer than the {} to be believed",
                                                 one->use, options_.min_samples));
    }
    if (up(unit.size, one->align) > options_.budget) {
      return is(DataWhy::too_large, fmt::format("{} bytes are more than the budget", unit.size));
    }
    one->why = DataWhy::outweighed;
  }

  // Bytes of a selection in the order of the list, from an address that has the largest alignment.
  uint64_t layout(const std::vector<uint32_t>& chosen) const {
    std::vector<uint32_t> order = by_alignment(chosen);
    uint64_t at = 0;
    for (const uint32_t i : order) {
      at = up(at, out_.candidates[i].align) + out_.candidates[i].size;
    }
    return up(at, 4);
  }

  std::vector<uint32_t> by_alignment(std::vector<uint32_t> chosen) const {
    std::stable_sort(chosen.begin(), chosen.end(), [&](uint32_t a, uint32_t b) {
      return out_.candidates[a].align > out_.candidates[b].align;
    });
    return chosen;
  }

  Failure choose() {
    std::vector<uint32_t> pinned, may;
    std::vector<Item> items;
    uint64_t pinned_bytes = 0;
    for (uint32_t i = 0; i < out_.candidates.size(); ++i) {
      const DataCandidate& one = out_.candidates[i];
      const uint64_t bytes = up(one.size, std::max(one.align, 4u));
      if (one.why == DataWhy::pinned) {
        if (one.entry.name.empty()) {
          return usage(fmt::format("{} cannot be pinned: it has no symbol", printable(one.name)));
        }
        if (boot_user_[one.unit] != kNone) {
          return usage(fmt::format("{} cannot be pinned: {} uses it before it would be copied",
                                   printable(one.name, 80), function(boot_user_[one.unit])));
        }
        pinned.push_back(i);
        pinned_bytes += bytes;
      } else if (one.why == DataWhy::outweighed) {
        may.push_back(i);
        items.push_back({static_cast<uint32_t>(bytes),
                         static_cast<uint64_t>(one.worth(out_.is_measured) * kUnitsOfWorth)});
      }
    }
    if (layout(pinned) > options_.budget || pinned_bytes > options_.budget + kMaxAlign) {
      return usage(fmt::format("what is pinned takes {} bytes, more than the budget of {} for data",
                               layout(pinned), options_.budget));
    }
    const uint64_t room = options_.budget - std::min(pinned_bytes, options_.budget);
    const Selection best = select_exactly(items, room);
    const Selection density = select_by_density(items, room);
    out_.is_proved = best.is_exact;
    chosen_.assign(out_.candidates.size(), false);
    std::vector<uint32_t> chosen = pinned, dense = pinned;
    for (const uint32_t k : best.chosen) chosen.push_back(may[k]);
    for (const uint32_t k : density.chosen) dense.push_back(may[k]);
    for (const uint32_t i : chosen) {
      chosen_[i] = true;
      out_.chosen_worth += out_.candidates[i].worth(out_.is_measured);
      if (out_.candidates[i].why != DataWhy::pinned) out_.candidates[i].why = DataWhy::chosen;
    }
    for (const uint32_t i : dense) {
      out_.density_worth += out_.candidates[i].worth(out_.is_measured);
    }
    out_.chosen = chosen.size();
    out_.bytes = chosen.empty() ? 0 : layout(chosen);
    out_.density_bytes = dense.empty() ? 0 : layout(dense);
    if (out_.busy > 0 && out_.is_measured) {
      out_.gain = gain_of(chosen);
    }
    return {};
  }

  // Of the busy time: what is not waited for any more, for these and for what they evicted.
  double gain_of(const std::vector<uint32_t>& chosen) const {
    std::vector<bool> moved(units_.units.size());
    for (const uint32_t i : chosen) moved[out_.candidates[i].unit] = true;
    const double saved = use_.stall - use_.stall_without(moved);
    return std::clamp(saved / static_cast<double>(out_.busy), 0.0, 1.0);
  }

  double density(const DataCandidate& one) const {
    return one.worth(out_.is_measured) / std::max(1u, one.size);
  }

  void explain() {
    double least = 0;
    for (const DataCandidate& one : out_.candidates) {
      if (one.why != DataWhy::chosen) continue;
      if (least == 0 || density(one) < least) least = density(one);
    }
    for (DataCandidate& one : out_.candidates) {
      if (one.why == DataWhy::chosen || one.why == DataWhy::pinned) {
        std::string why = one.why == DataWhy::pinned ? "pinned; " : "";
        if (out_.is_measured) {
          const double shared = one.stall <= 0 ? 0 : 100 * (1 - one.stall_alone / one.stall);
          why += fmt::format("waited for in {}", one.memory);
          if (shared >= 1) why += fmt::format(", {:.0f} % on shared lines", shared);
        } else if (one.users > 0) {
          why += fmt::format("in {}; {} {} to it, most of all {}", one.memory, one.users,
                             one.users == 1 ? "function refers" : "functions refer", one.user);
        }
        one.reason = why;
      } else if (one.why == DataWhy::outweighed) {
        one.reason = least > 0
                         ? fmt::format("{:.2f} of the least pick a byte", density(one) / least)
                         : "does not fit";
      }
    }
    std::vector<uint32_t> order(out_.candidates.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (chosen_[a] != chosen_[b]) return static_cast<bool>(chosen_[a]);
      return out_.candidates[a].worth(out_.is_measured) >
             out_.candidates[b].worth(out_.is_measured);
    });
    std::vector<DataCandidate> sorted;
    sorted.reserve(order.size());
    for (const uint32_t i : order) sorted.push_back(std::move(out_.candidates[i]));
    out_.candidates = std::move(sorted);
  }

  void draw_curve() {
    if (!out_.is_measured || out_.busy == 0) return;
    std::vector<uint32_t> order;
    uint64_t all = 0;
    for (uint32_t i = 0; i < out_.candidates.size(); ++i) {
      const DataCandidate& one = out_.candidates[i];
      const bool may = one.why == DataWhy::chosen || one.why == DataWhy::pinned ||
                       one.why == DataWhy::outweighed || one.why == DataWhy::too_large;
      if (!may) continue;
      order.push_back(i);
      all += up(one.size, std::max(one.align, 4u));
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return density(out_.candidates[a]) > density(out_.candidates[b]);
    });
    const uint64_t end = std::min(all, std::max<uint64_t>(options_.budget * 2, 4096));
    const uint64_t step = std::max<uint64_t>(end / kMaxDataCurvePoints, 1);
    uint64_t bytes = 0, next = step;
    std::vector<uint32_t> chosen;
    out_.curve.push_back({0, 0});
    for (size_t k = 0; k < order.size() && bytes < end; ++k) {
      const DataCandidate& one = out_.candidates[order[k]];
      bytes += up(one.size, std::max(one.align, 4u));
      chosen.push_back(order[k]);
      if (bytes < next && k + 1 < order.size()) continue;
      out_.curve.push_back({bytes, gain_of(chosen)});
      next = bytes + step;
    }
  }

  void write_list() {
    std::vector<uint32_t> chosen;
    for (uint32_t i = 0; i < out_.candidates.size(); ++i) {
      const DataWhy why = out_.candidates[i].why;
      if (why == DataWhy::chosen || why == DataWhy::pinned) chosen.push_back(i);
    }
    for (const uint32_t i : by_alignment(chosen)) {
      const DataCandidate& one = out_.candidates[i];
      Entry entry = one.entry;
      entry.comment = fmt::format("{} bytes, {}", one.size,
                                  one.kind == UnitKind::zeroed ? "zeroed" : "initialised");
      const bool is_new = std::find(out_.list.entries.begin(), out_.list.entries.end(), entry) ==
                          out_.list.entries.end();
      if (is_new) out_.list.entries.push_back(std::move(entry));
    }
  }

  ElfIndex& index_;
  const profile::SampleSet& samples_;
  std::span<const uint8_t> trace_;
  const profile::Target& target_;
  const DataOptions& options_;
  DataPlacement& out_;
  const TargetRegion* region_ = nullptr;
  profile::Profile profile_;
  Units units_;
  DataUse use_;
  std::vector<bool> pinned_, never_, dma_;
  std::vector<uint32_t> boot_user_;  // by unit: a function
  std::unordered_map<std::string, std::string> sources_;
  std::vector<bool> chosen_;
};

double gain_at(const std::vector<CurvePoint>& curve, uint64_t bytes) {
  double out = 0;
  for (const CurvePoint& one : curve) {
    if (one.bytes <= bytes) out = std::max(out, one.gain);
  }
  return out;
}

}  // namespace

const char* name_of(DataWhy why) {
  static constexpr const char* kNames[] = {"chosen",     "pinned",    "dma",        "may_be_dma",
                                           "boot",       "stack",     "kept",       "never",
                                           "too_little", "too_large", "outweighed", "not_movable"};
  return kNames[static_cast<size_t>(why)];
}

uint64_t best_data_share(const std::vector<CurvePoint>& code, const std::vector<CurvePoint>& data,
                         uint64_t budget) {
  uint64_t best = 0;
  double most = gain_at(code, budget);
  for (const CurvePoint& one : data) {
    if (one.bytes > budget) continue;
    const double gain = one.gain + gain_at(code, budget - one.bytes);
    if (gain > most + 1e-9) {
      most = gain;
      best = one.bytes;
    }
  }
  return best;
}

Failure place_data(ElfIndex* index, const profile::SampleSet& samples,
                   std::span<const uint8_t> trace, const profile::Target& target,
                   const DataOptions& options, DataPlacement* out) {
  *out = {};
  return DataPlacer(index, samples, trace, target, options, out).run();
}

}  // namespace millrace::placement
