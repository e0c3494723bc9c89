// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/place_report.h"
#include "cli/print.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using placement::Evicted;
using placement::Eviction;

namespace {

constexpr KeyRow row(12);
constexpr size_t kMostDrivers = 4;

// "a, b and 3 more".
std::string first_of(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kMostDrivers); ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ", ", short_name(names[i], 40));
  }
  if (names.size() > kMostDrivers) out += fmt::format(" and {} more", names.size() - kMostDrivers);
  return out;
}

}  // namespace

std::string evict_report(const Eviction& eviction, size_t top) {
  std::string verdict =
      fmt::format("{} {} to {}: {} bytes for {} wanted, {} % of the busy time",
                  eviction.is_enough ? "push" : "not enough may go: even with",
                  plural(eviction.evicted.size(), "function"), eviction.to, grouped(eviction.bytes),
                  grouped(eviction.wanted), percent(eviction.share));
  if (eviction.weight > 0) {
    verdict += eviction.fits_cache
                   ? "; what ran of it fits the instruction cache, so it costs its first fetches"
                   : "; more lines than the instruction cache has: it will be slower";
  }
  std::string out = row("verdict", verdict);
  out += row("target", fmt::format("{}, {}", eviction.profile.target.name, eviction.region));
  if (eviction.bank_bytes > 0) {
    out += row("banks",
               fmt::format("{} of {} KB for {} now, {} then", eviction.banks_before,
                           eviction.bank_bytes / 1024, eviction.region, eviction.banks_after));
  }
  if (eviction.kept_for_interrupts > 0) {
    out += row("interrupts", fmt::format("{} of interrupt handlers stay",
                                         plural(eviction.kept_for_interrupts, "function")));
  }
  if (eviction.veneer_bytes > 0) {
    out += row("veneers", fmt::format("{} bytes of {} for calls to what goes, counted above",
                                      grouped(eviction.veneer_bytes), eviction.region));
  }
  if (eviction.kept_for_controller > 0) {
    out += row("controller",
               fmt::format("{} stay that run while {} cannot be read: they drive its controller, "
                           "to write it ({}), or are called by such",
                           plural(eviction.kept_for_controller, "function"), eviction.to,
                           first_of(eviction.drivers)));
  }
  for (const std::string& note : eviction.notes) out += row("note", note);
  Table table({"<function", "bytes", "busy %", "<file", "line"});
  for (size_t i = 0; i < std::min(top, eviction.evicted.size()); ++i) {
    const Evicted& one = eviction.evicted[i];
    table.add({short_name(one.name, 40), grouped(one.bytes),
               percent(eviction.profile.share(one.weight)),
               one.has_source ? cut_path(one.file, 28) : "(linker script)",
               one.line == 0 || !one.has_source ? "-" : std::to_string(one.line)});
  }
  if (!table.empty()) out += '\n' + table.text();
  if (eviction.evicted.size() > top) {
    out += fmt::format("and {} more\n", eviction.evicted.size() - top);
  }
  return out;
}

void add_evict_json(Json* document, const Eviction& eviction) {
  Json functions = Json::array();
  for (const Evicted& one : eviction.evicted) {
    functions.push_back({{"name", one.name},
                         {"entry", entry_text(one.entry)},
                         {"file", one.file},
                         {"line", one.line},
                         {"has_source", one.has_source},
                         {"library", one.library},
                         {"bytes", one.bytes},
                         {"weight", one.weight},
                         {"lines", one.lines}});
  }
  (*document)["eviction"] = {{"target", eviction.profile.target.name},
                             {"region", eviction.region},
                             {"to", eviction.to},
                             {"wanted_bytes", eviction.wanted},
                             {"bytes", eviction.bytes},
                             {"veneer_bytes", eviction.veneer_bytes},
                             {"kept_for_interrupts", eviction.kept_for_interrupts},
                             {"kept_for_controller", eviction.kept_for_controller},
                             {"controller_drivers", eviction.drivers},
                             {"is_enough", eviction.is_enough},
                             {"is_proved", eviction.is_proved},
                             {"weight", eviction.weight},
                             {"share", eviction.share},
                             {"fits_cache", eviction.fits_cache},
                             {"banks_before", eviction.banks_before},
                             {"banks_after", eviction.banks_after},
                             {"bank_bytes", eviction.bank_bytes},
                             {"functions", functions},
                             {"notes", eviction.notes}};
}

std::string evict_csv(const Eviction& eviction) {
  Table table({"<name", "bytes", "weight", "lines", "<library", "<file", "line", "<entry"});
  for (const Evicted& one : eviction.evicted) {
    table.add({one.name, std::to_string(one.bytes), std::to_string(one.weight),
               std::to_string(one.lines), one.library, one.file, std::to_string(one.line),
               entry_text(one.entry)});
  }
  return table.csv();
}

std::vector<std::string> evict_head(const Eviction& eviction) {
  return {fmt::format("millrace place --evict: {} to leave {}, {} of {} bytes",
                      plural(eviction.list.entries.size(), "entry"), eviction.region,
                      grouped(eviction.bytes), grouped(eviction.wanted)),
          fmt::format("from {} and {}", eviction.profile.elf_path, eviction.profile.samples_path)};
}

}  // namespace millrace::cli
