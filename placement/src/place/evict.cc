// SPDX-License-Identifier: Apache-2.0
// Minimising the weight that leaves with at least so many bytes is the knapsack of what stays:
// as much weight as possible in the bytes that remain. Of the functions that were never sampled any
// will do, and each has to be edited by hand, so the largest are taken; a last pass drops those
// that the rest makes unnecessary.
#include "millrace/placement/evict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "millrace/placement/select.h"
#include "millrace/profile/memory_report.h"
#include "place/workspace.h"

namespace millrace::placement {
namespace {

using profile::CallEdge;
using profile::EdgeKind;
using profile::kNone;
using profile::printable;
using profile::TargetRegion;

constexpr const char* kPurposely[] = {".fastrun",       ".itcm", ".ramfunc",
                                      ".time_critical", ".iram", "CodeQuickAccess"};

// Archives of the toolchain: nobody has their sources to edit.
constexpr const char* kToolchain[] = {
    "libc",     "libc_nano", "libg",      "libg_nano",      "libm",           "libgcc",   "libgcov",
    "libnosys", "libstdc++", "libsupc++", "libstdc++_nano", "libsupc++_nano", "librdimon"};

// "/usr/lib/.../libc.a" -> "libc".
std::string archive_stem(const std::string& library) {
  const std::string name = library.substr(library.find_last_of("/\\") + 1);
  return name.substr(0, name.find(".a"));
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// As handlers are called by Teensyduino, CMSIS, and most others.
bool is_handler_name(const std::string& name) {
  const std::string small = lower(name);
  return small.ends_with("_isr") || small.ends_with("_irq") || small.ends_with("isr") ||
         small.ends_with("handler") || small.ends_with("interrupt_vector") ||
         small.find("irqhandler") != std::string::npos;
}

uint32_t aligned(const Unit& unit) {
  return (unit.size + unit.align - 1) / unit.align * unit.align;
}

class Evictor {
 public:
  Evictor(ElfIndex* index, const profile::Target& target, const EvictOptions& options,
          Eviction* out)
      : index_(*index), target_(target), options_(options), out_(*out) {}

  Failure run(const profile::SampleSet& samples) {
    Failure failure = find_regions();
    if (!failure) {
      failure = profile::attribute(&index_, samples, target_, options_.profile, &out_.profile);
    }
    if (failure) return failure;
    units_ = find_units(index_);
    graph_ = profile::CallGraph::build(index_);
    failure = units_named(options_.never, "--never", &index_, units_, &never_);
    if (failure) return failure;
    count_banks();
    if (out_.wanted == 0) {
      return Error{Error::Kind::usage,
                   fmt::format("target {} has no banks to win back (give the bytes: --evict 32K)",
                               target_.name)};
    }
    keep_for_interrupts();
    input_ = read_fetches(out_.profile, units_, index_, {});
    choose();
    finish();
    return {};
  }

 private:
  Failure find_regions() {
    if (Failure failure = require_symbols(index_)) return failure;
    for (const TargetRegion& one : target_.regions) {
      const bool wanted =
          options_.region.empty() ? one.is_fast && one.is_code : one.name == options_.region;
      if (wanted && region_ == nullptr) region_ = &one;
      if (!one.is_fast && one.is_code && out_.to.empty()) out_.to = one.name;
    }
    if (region_ == nullptr) {
      return Error{Error::Kind::usage,
                   options_.region.empty()
                       ? fmt::format("target {} has no fast memory for code", target_.name)
                       : fmt::format("target {} has no region {}", target_.name,
                                     printable(options_.region, 60))};
    }
    out_.region = region_->name;
    if (out_.to.empty()) out_.to = "slow memory";
    return {};
  }

  void count_banks() {
    const profile::MemoryReport report = profile::report_memory(index_, target_, nullptr);
    out_.wanted = options_.bytes;
    if (!report.banks || report.banks->banks.regions.empty() ||
        report.banks->banks.regions[0] != region_->name) {
      return;
    }
    out_.bank_bytes = report.banks->banks.bytes;
    out_.banks_before = report.banks->assigned;
    if (out_.wanted == 0) out_.wanted = report.banks->to_win_back;
    const uint64_t used =
        uint64_t{report.banks->needed} * out_.bank_bytes - report.banks->left_in_last;
    used_ = used;
  }

  void keep_for_interrupts() {
    kept_.assign(units_.units.size(), false);
    const auto keep = [&](uint32_t function) {
      const uint32_t unit = units_.of_function[function];
      if (unit == kNone || kept_[unit]) return;
      kept_[unit] = true;
      ++out_.kept_for_interrupts;
    };
    const auto keep_with_callees = [&](uint32_t handler) {
      keep(handler);
      for (const CallEdge& edge : graph_.from(handler)) {
        if (edge.kind != EdgeKind::address) keep(edge.to);
      }
    };
    for (const uint32_t handler : interrupt_handlers(index_)) keep_with_callees(handler);
    for (const uint32_t handler : installed_handlers()) keep_with_callees(handler);
  }

  // A vector table in RAM is empty in the ELF. Its entries are functions whose address is made by
  // code that also makes the table's, or calls a function that attaches handlers.
  std::set<uint32_t> installed_handlers() const {
    const std::vector<profile::Function>& functions = index_.functions();
    std::set<uint32_t> out;
    for (uint32_t i = 0; i < functions.size(); ++i) {
      if (is_handler_name(functions[i].name)) out.insert(i);
      const std::span<const CallEdge> edges = graph_.from(i);
      const bool takes_any = std::any_of(edges.begin(), edges.end(), [](const CallEdge& edge) {
        return edge.kind == EdgeKind::address;
      });
      if (!takes_any || (!attaches(edges) && !makes_vector_address(i))) continue;
      for (const CallEdge& edge : edges) {
        if (edge.kind == EdgeKind::address) out.insert(edge.to);
      }
    }
    return out;
  }

  bool attaches(std::span<const CallEdge> edges) const {
    return std::any_of(edges.begin(), edges.end(), [&](const CallEdge& edge) {
      const std::string name = lower(index_.functions()[edge.to].name);
      const bool attaches = name.find("attach") != std::string::npos ||
                            name.find("install") != std::string::npos ||
                            name.find("set") != std::string::npos;
      const bool is_interrupt =
          name.find("interrupt") != std::string::npos || name.find("vector") != std::string::npos ||
          name.find("handler") != std::string::npos || name.find("irq") != std::string::npos;
      return edge.kind != EdgeKind::address && attaches && is_interrupt;
    });
  }

  bool makes_vector_address(uint32_t function) const {
    for (const uint32_t constant : profile::constants_made(index_, function)) {
      for (const profile::DataObject& one : index_.objects()) {
        const bool is_inside =
            constant >= one.address && constant < uint64_t{one.address} + one.size;
        if (is_inside && lower(one.name).find("vector") != std::string::npos) return true;
      }
    }
    return false;
  }

  // False for what came out of the toolchain's archives, or from a source that is not here though
  // this is the machine that holds others of the program: a line of the linker script moves it.
  bool has_source(const Unit& unit) {
    const std::string stem = archive_stem(unit.library);
    if (std::find(std::begin(kToolchain), std::end(kToolchain), stem) != std::end(kToolchain)) {
      return false;
    }
    const std::string& file = index_.functions()[unit.functions[0]].file;
    if (file.empty() || index_.functions()[unit.functions[0]].line == 0) return false;
    if (file[0] != '/' || !is_build_machine()) return true;
    return is_there(file);
  }

  bool is_there(const std::string& file) {
    const auto [at, is_new] = there_.emplace(file, false);
    if (is_new) {
      std::error_code error;
      at->second = std::filesystem::exists(file, error);
    }
    return at->second;
  }

  bool is_build_machine() {
    if (!build_machine_) {
      const std::vector<std::string>& files = index_.files();
      build_machine_ = std::any_of(files.begin(), files.end(), [&](const std::string& file) {
        return file.starts_with('/') && is_there(file);
      });
    }
    return *build_machine_;
  }

  bool may_go(uint32_t i) const {
    const Unit& unit = units_.units[i];
    if (unit.kind != UnitKind::code || unit.functions.empty() || unit.name.empty()) return false;
    if (target_.region_at(unit.address) != region_ || never_[i] || kept_[i]) return false;
    // What ran while an exception was active is interrupt code, whoever installed it.
    if (input_.by_unit[i].handlers > 0) return false;
    return std::none_of(std::begin(kPurposely), std::end(kPurposely), [&](const char* one) {
      return units_.is_from_map && unit.section.starts_with(one);
    });
  }

  void choose() {
    std::vector<uint32_t> cold, warm;
    uint64_t cold_bytes = 0, all_bytes = 0;
    for (uint32_t i = 0; i < units_.units.size(); ++i) {
      if (!may_go(i)) continue;
      const uint32_t bytes = aligned(units_.units[i]);
      all_bytes += bytes;
      if (input_.by_unit[i].weight == 0) {
        cold.push_back(i);
        cold_bytes += bytes;
      } else {
        warm.push_back(i);
      }
    }
    const auto by_size = [&](uint32_t a, uint32_t b) {
      return units_.units[a].size > units_.units[b].size;
    };
    std::stable_sort(cold.begin(), cold.end(), by_size);
    std::stable_partition(cold.begin(), cold.end(),
                          [&](uint32_t i) { return has_source(units_.units[i]); });
    if (cold_bytes >= out_.wanted) {
      for (const uint32_t i : cold) {
        if (out_.bytes >= out_.wanted) break;
        take(i);
      }
      out_.is_proved = true;
    } else {
      for (const uint32_t i : cold) take(i);
      const uint64_t more = out_.wanted - cold_bytes;
      const uint64_t warm_bytes = all_bytes - cold_bytes;
      std::vector<Item> items;
      items.reserve(warm.size());
      for (const uint32_t i : warm) {
        items.push_back({aligned(units_.units[i]), input_.by_unit[i].weight});
      }
      const Selection stays = select_exactly(items, warm_bytes - std::min(warm_bytes, more));
      out_.is_proved = stays.is_exact;
      const std::set<uint32_t> staying(stays.chosen.begin(), stays.chosen.end());
      for (uint32_t k = 0; k < warm.size(); ++k) {
        if (!staying.contains(k)) take(warm[k]);
      }
    }
    // The smallest that are not needed stay.
    std::stable_sort(chosen_.begin(), chosen_.end(), by_size);
    std::stable_partition(chosen_.begin(), chosen_.end(),
                          [&](uint32_t i) { return has_source(units_.units[i]); });
    for (size_t k = chosen_.size(); k > 0; --k) {
      const uint32_t bytes = aligned(units_.units[chosen_[k - 1]]);
      if (out_.bytes < out_.wanted + bytes) continue;
      out_.bytes -= bytes;
      chosen_.erase(chosen_.begin() + static_cast<ptrdiff_t>(k - 1));
    }
    out_.is_enough = out_.bytes >= out_.wanted;
  }

  void take(uint32_t unit) {
    chosen_.push_back(unit);
    out_.bytes += aligned(units_.units[unit]);
  }

  void finish() {
    std::set<uint32_t> lines;
    const uint32_t line_bytes = target_.cache ? target_.cache->line_bytes : 32;
    std::vector<bool> goes(units_.units.size());
    for (const uint32_t i : chosen_) goes[i] = true;
    std::vector<std::set<uint32_t>> lines_of(units_.units.size());
    for (const profile::StackSample& one : out_.profile.stacks) {
      const uint32_t unit = unit_at(units_, one.pc);
      if (unit == kNone || !goes[unit]) continue;
      lines.insert(one.pc / line_bytes);
      lines_of[unit].insert(one.pc / line_bytes);
    }
    if (target_.cache) out_.fits_cache = lines.size() <= target_.cache->lines();
    for (const uint32_t i : chosen_) {
      const Unit& unit = units_.units[i];
      Evicted one;
      one.unit = i;
      one.name = profile::readable_name(unit.name);
      one.library = unit.library;
      one.file = unit.file;
      one.line = index_.functions()[unit.functions[0]].line;
      one.bytes = aligned(unit);
      one.weight = input_.by_unit[i].weight;
      one.has_source = has_source(unit);
      one.lines = static_cast<uint32_t>(lines_of[i].size());
      one.entry = entry_of(unit, units_);
      one.entry.comment = fmt::format("{} bytes", unit.size);
      out_.weight += one.weight;
      out_.list.entries.push_back(one.entry);
      out_.evicted.push_back(std::move(one));
    }
    const auto without = std::count_if(out_.evicted.begin(), out_.evicted.end(),
                                       [](const Evicted& one) { return !one.has_source; });
    if (without > 0) {
      out_.notes.push_back(fmt::format(
          "{} of these have no source to edit (the toolchain's libraries): --gnu-ld FILE "
          "writes them for the linker script, ahead of what takes all other code",
          without));
    }
    out_.share = out_.profile.share(out_.weight);
    if (out_.bank_bytes > 0) {
      const uint64_t left = used_ - std::min(used_, out_.bytes);
      out_.banks_after = static_cast<uint32_t>((left + out_.bank_bytes - 1) / out_.bank_bytes);
    }
    if (!units_.is_from_map) {
      out_.notes.emplace_back(
          "without --map, functions that the source puts into fast memory on purpose (FASTRUN) are "
          "not told from the others");
    }
  }

  ElfIndex& index_;
  const profile::Target& target_;
  const EvictOptions& options_;
  Eviction& out_;
  const TargetRegion* region_ = nullptr;
  Units units_;
  profile::CallGraph graph_;
  FetchInput input_;
  std::vector<bool> never_, kept_;
  std::vector<uint32_t> chosen_;
  uint64_t used_ = 0;
  std::map<std::string, bool> there_;  // by source file
  std::optional<bool> build_machine_;
};

}  // namespace

Failure evict(ElfIndex* index, const profile::SampleSet& samples, const profile::Target& target,
              const EvictOptions& options, Eviction* out) {
  *out = {};
  return Evictor(index, target, options, out).run(samples);
}

}  // namespace millrace::placement
