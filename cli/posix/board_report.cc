// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/board_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "cli/table.h"
#include "cli/values.h"
#include "millrace/board/memory_map.h"
#include "millrace/board/symbols.h"

namespace millrace::cli {

using board::BoardStats;
using board::CacheCounts;
using board::Image;
using board::ProfileEntry;

namespace {

constexpr size_t kMostFunctions = 15;
constexpr size_t kMostUnknown = 20;

struct Stall {
  const char* key;
  const char* text;
  uint64_t cycles;
};

std::vector<Stall> stalls_of(const BoardStats& stats) {
  const board::StallCounts& s = stats.stalls;
  return {{"icache_flash", "instructions from flash", s.icache_flash},
          {"icache_ocram", "instructions from OCRAM", s.icache_ocram},
          {"dcache_flash", "data from flash", s.dcache_flash},
          {"dcache_ocram", "data from OCRAM", s.dcache_ocram},
          {"dcache_psram", "data from PSRAM", s.dcache_psram},
          {"uncached", "accesses past the caches", s.uncached},
          {"store_buffer", "store buffer full or drained", s.store_buffer},
          {"peripheral", "peripheral registers", s.peripheral},
          {"branch", "branches mispredicted", s.branch},
          {"operand", "results not ready", s.operand},
          {"exception", "exception entry and return", s.exception},
          {"asleep", "asleep (WFI, WFE)", s.asleep}};
}

struct FunctionTime {
  std::string name;
  std::string memory;
  uint64_t cycles = 0, stalls = 0, instructions = 0;
};

std::vector<FunctionTime> functions_of(const Image& image,
                                       const std::vector<ProfileEntry>& profile) {
  std::map<std::string, FunctionTime> by_name;
  for (const ProfileEntry& entry : profile) {
    const board::Symbol* symbol = board::function_at(image, entry.address);
    const std::string name =
        symbol != nullptr ? board::readable_name(*symbol) : fmt::format("0x{:08X}", entry.address);
    FunctionTime& f = by_name[name];
    f.name = name;
    const board::MemoryArea* area = board::memory_area(entry.address);
    if (area != nullptr) f.memory = area->name;
    f.cycles += entry.cycles;
    f.stalls += entry.stalls;
    f.instructions += entry.instructions;
  }
  std::vector<FunctionTime> out;
  out.reserve(by_name.size());
  for (auto& [name, f] : by_name) out.push_back(std::move(f));
  std::stable_sort(out.begin(), out.end(), [](const FunctionTime& a, const FunctionTime& b) {
    return a.cycles > b.cycles;
  });
  return out;
}

// A function's name for a column of 40: without namespaces that say nothing and without parameters;
// the end of a long one tells more than its beginning.
std::string short_name(const std::string& name) {
  constexpr size_t kWidth = 40;
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string text = printable(name);
  for (size_t at = text.find(kAnonymous); at != std::string::npos; at = text.find(kAnonymous)) {
    text.erase(at, kAnonymous.size());
  }
  text = text.substr(0, text.find('('));
  return text.size() <= kWidth ? text : "..." + text.substr(text.size() - (kWidth - 3));
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(uint64_t part, uint64_t whole) {
  return fmt::format("{:.1f} %", share(part, whole));
}

double ipc(const BoardStats& stats) {
  const uint64_t awake = stats.cycles - stats.stalls.asleep;
  return awake == 0 ? 0 : static_cast<double>(stats.instructions) / static_cast<double>(awake);
}

Json cache_json(const CacheCounts& cache) {
  Json json = {{"hits", cache.hits},
               {"misses", cache.misses},
               {"evictions", cache.evictions},
               {"writebacks", cache.writebacks}};
  if (!cache.evictions_by_set.empty()) json["evictions_by_set"] = cache.evictions_by_set;
  return json;
}

// The sets that evict most: where hot lines collide.
std::string busiest_sets(const char* name, const CacheCounts& cache) {
  std::vector<std::pair<uint64_t, size_t>> sets;
  for (size_t i = 0; i < cache.evictions_by_set.size(); ++i) {
    if (cache.evictions_by_set[i] != 0) sets.emplace_back(cache.evictions_by_set[i], i);
  }
  if (sets.empty()) return {};
  std::stable_sort(sets.begin(), sets.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("{}: evictions in {} of {} sets; most in", name, sets.size(),
                                 cache.evictions_by_set.size());
  for (size_t i = 0; i < std::min<size_t>(sets.size(), 6); ++i) {
    text += fmt::format("{} {} ({})", i == 0 ? "" : ",", sets[i].second, grouped(sets[i].first));
  }
  return text + "\n";
}

}  // namespace

const char* stop_name(board::StopReason reason) {
  switch (reason) {
    case board::StopReason::cycles:
      return "time";
    case board::StopReason::requested:
      return "requested";
    case board::StopReason::exited:
      return "exited";
    case board::StopReason::breakpoint:
      return "breakpoint";
    case board::StopReason::watchpoint:
      return "watchpoint";
    case board::StopReason::locked_up:
      return "locked_up";
    case board::StopReason::fault_loop:
      return "fault_loop";
    case board::StopReason::reset_loop:
      return "reset_loop";
    case board::StopReason::asleep:
      return "asleep";
  }
  return "?";
}

std::string stats_report(const Image& image, const BoardStats& stats,
                         const std::vector<ProfileEntry>& profile, const Colour& colour) {
  std::string text = fmt::format(
      "{} cycles, {} instructions, IPC {:.3f} awake, {} simulated (predicted)\n"
      "{} exceptions, {} faults, {} branches of which {} mispredicted\n\n",
      grouped(stats.cycles), grouped(stats.instructions), ipc(stats), duration(stats.seconds * 1e9),
      grouped(stats.exceptions), grouped(stats.faults), grouped(stats.branches),
      percent(stats.mispredicts, stats.branches));
  Table stalls({"<stalled for", "cycles", "share"});
  for (const Stall& stall : stalls_of(stats)) {
    if (stall.cycles == 0) continue;
    stalls.add({stall.text, grouped(stall.cycles), percent(stall.cycles, stats.cycles)});
  }
  if (!stalls.empty()) text += colour.strong("Stalls") + "\n" + stalls.text() + "\n";
  Table caches({"<cache", "hits", "misses", "miss rate", "evictions", "write-backs"});
  for (const auto& [name, cache] :
       {std::pair<const char*, const CacheCounts&>{"I", stats.icache}, {"D", stats.dcache}}) {
    caches.add({name, grouped(cache.hits), grouped(cache.misses),
                percent(cache.misses, cache.hits + cache.misses), grouped(cache.evictions),
                grouped(cache.writebacks)});
  }
  text += colour.strong("Caches") + "\n" + caches.text();
  text += busiest_sets("I", stats.icache) + busiest_sets("D", stats.dcache);
  const std::vector<FunctionTime> functions = functions_of(image, profile);
  if (functions.empty()) return text;
  Table table({"<function", "<memory", "cycles", "share", "stalled", "instructions"});
  for (size_t i = 0; i < std::min(functions.size(), kMostFunctions); ++i) {
    const FunctionTime& f = functions[i];
    table.add({short_name(f.name), f.memory.empty() ? "?" : f.memory, grouped(f.cycles),
               percent(f.cycles, stats.cycles), grouped(f.stalls), grouped(f.instructions)});
  }
  text += "\n" + colour.strong("Functions") + "\n" + table.text();
  if (functions.size() > kMostFunctions) {
    text += fmt::format("and {} more (--json has all)\n", functions.size() - kMostFunctions);
  }
  return text;
}

std::string unknown_report(const Image& image, const BoardStats& stats) {
  if (stats.unknown.empty()) return {};
  Table table({"<register", "address", "reads", "writes", "<first by"});
  for (size_t i = 0; i < std::min(stats.unknown.size(), kMostUnknown); ++i) {
    const board::UnknownRegister& u = stats.unknown[i];
    table.add({u.name, fmt::format("0x{:08X}", u.address), grouped(u.reads), grouped(u.writes),
               board::symbol_at(image, u.first_pc)});
  }
  std::string text =
      "Registers that the virtual board does not have (reads gave 0, writes were ignored)\n" +
      table.text();
  if (stats.unknown.size() > kMostUnknown) {
    text += fmt::format("and {} more (--json has them)\n", stats.unknown.size() - kMostUnknown);
  }
  if (stats.unknown_unlisted != 0) {
    text += fmt::format("and {} accesses to others, which are not listed\n",
                        grouped(stats.unknown_unlisted));
  }
  return text;
}

Json to_json(const Image& image, const BoardStats& stats,
             const std::vector<ProfileEntry>& profile) {
  Json json = {{"predicted", true},
               {"cycles", stats.cycles},
               {"instructions", stats.instructions},
               {"ipc_awake", ipc(stats)},
               {"simulated_s", stats.seconds},
               {"exceptions", stats.exceptions},
               {"faults", stats.faults},
               {"resets", stats.resets},
               {"branches", stats.branches},
               {"mispredicts", stats.mispredicts},
               {"icache", cache_json(stats.icache)},
               {"dcache", cache_json(stats.dcache)}};
  for (const Stall& stall : stalls_of(stats)) json["stall_cycles"][stall.key] = stall.cycles;
  json["unknown_unlisted_accesses"] = stats.unknown_unlisted;
  json["unknown_registers"] = Json::array();
  for (const board::UnknownRegister& u : stats.unknown) {
    json["unknown_registers"].push_back({{"name", u.name},
                                         {"address", u.address},
                                         {"reads", u.reads},
                                         {"writes", u.writes},
                                         {"first_pc", u.first_pc},
                                         {"first_function", board::symbol_at(image, u.first_pc)}});
  }
  if (profile.empty()) return json;
  json["functions"] = Json::array();
  for (const FunctionTime& f : functions_of(image, profile)) {
    json["functions"].push_back({{"name", f.name},
                                 {"memory", f.memory.empty() ? Json() : Json(f.memory)},
                                 {"cycles", f.cycles},
                                 {"stall_cycles", f.stalls},
                                 {"instructions", f.instructions}});
  }
  return json;
}

}  // namespace millrace::cli
