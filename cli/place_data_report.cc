// SPDX-License-Identifier: Apache-2.0
#include "cli/place_data_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using placement::DataCandidate;
using placement::DataPlacement;
using placement::DataWhy;
using placement::UnitKind;

namespace {

constexpr KeyRow row(12);
constexpr size_t kNameWidth = 30;

std::string percent(double part, uint64_t of) {
  return fmt::format("{:.1f}", of == 0 ? 0 : 100 * part / static_cast<double>(of));
}

const char* kind_of(const DataCandidate& one) {
  switch (one.kind) {
    case UnitKind::constants:
      return "constants";
    case UnitKind::zeroed:
      return "zeroed";
    default:
      return "initialised";
  }
}

bool is_chosen(const DataCandidate& one) {
  return one.why == DataWhy::chosen || one.why == DataWhy::pinned;
}

bool asks_for_pin(const DataCandidate& one) {
  return one.why == DataWhy::dma || one.why == DataWhy::may_be_dma || one.why == DataWhy::stack ||
         one.why == DataWhy::kept;
}

const char* unit_of(const DataPlacement& placed) {
  return placed.unit == profile::WeightUnit::cycles ? "cycles" : "samples";
}

std::string table(const DataPlacement& placed, bool chosen, size_t top) {
  Table out({"<data", "<kind", "bytes", "align", placed.is_measured ? "saves %" : "used by %",
             chosen ? "<why" : "<why not"});
  size_t more = 0, rows = 0;
  for (const DataCandidate& one : placed.candidates) {
    if (is_chosen(one) != chosen) continue;
    if (rows++ >= top) {
      ++more;
      continue;
    }
    out.add({short_name(one.name, kNameWidth), kind_of(one), grouped(one.size),
             std::to_string(one.align), percent(one.worth(placed.is_measured), placed.busy),
             asks_for_pin(one) ? "below" : one.reason});
  }
  if (out.empty()) return "";
  std::string text = '\n' + out.text(kWidth);
  if (more > 0) text += fmt::format("and {} more\n", more);
  return text;
}

// These reasons say what to write: they are not cut.
std::string held_back(const DataPlacement& placed, size_t top) {
  std::string out;
  size_t count = 0;
  for (const DataCandidate& one : placed.candidates) {
    if (!asks_for_pin(one) || ++count > top) continue;
    out +=
        wrap(printable(fmt::format("  {} {}", short_name(one.name, 60), one.reason)), kWidth, 4) +
        '\n';
  }
  if (count == 0) return "";
  if (count > top) out += fmt::format("  and {} more\n", count - top);
  const std::string rule =
      placed.region_is_dma
          ? fmt::format(
                "DMA reaches {} of this target, but code that cleans and invalidates caches, and "
                "alignment, were made for where these stand:",
                placed.region)
          : fmt::format(
                "target {} does not say that DMA reaches {}: a buffer there may stay empty:",
                placed.target, placed.region);
  return '\n' + wrap("not moved without being asked. " + rule, kWidth, 0) + '\n' + out;
}

std::string verdict(const DataPlacement& placed) {
  if (placed.chosen == 0) return "no data to move within this budget";
  std::string out = fmt::format("move {} for {} of {} bytes of {}", plural(placed.chosen, "object"),
                                grouped(placed.bytes), grouped(placed.budget), placed.region);
  return placed.is_measured
             ? out + fmt::format(": {:.1f} % of the busy time saved", 100 * placed.gain)
             : out + "; how much that saves samples cannot tell";
}

std::string basis(const DataPlacement& placed) {
  if (!placed.is_measured) return "estimated: what busy code refers to";
  const double stall = placed.stall;
  return fmt::format(
      "{} busy cycles, {} % of them waiting for data (measured); {} % of the waiting "
      "is for no object (stacks, heaps, devices)",
      grouped(placed.busy), percent(stall, placed.busy),
      fmt::format("{:.1f}", stall > 0 ? 100 * placed.stall_elsewhere / stall : 0));
}

}  // namespace

std::string place_data_report(const DataPlacement& placed, size_t top) {
  std::string out = row("data", verdict(placed));
  out += row("target", fmt::format("{}, {}", placed.target, placed.region));
  out += row("from", basis(placed));
  out += row("baseline",
             fmt::format("densest first: {} bytes, {} % of the busy time {}; this list {} %{}",
                         grouped(placed.density_bytes), percent(placed.density_worth, placed.busy),
                         placed.is_measured ? "saved" : "in code that refers to it",
                         percent(placed.chosen_worth, placed.busy),
                         placed.is_proved ? " (proved the best)" : ""));
  out += row("others", fmt::format("{} in fast memory already, {} that nothing waits for",
                                   grouped(placed.already_fast), grouped(placed.unused)));
  for (const std::string& note : placed.notes) out += row("note", note);
  out += table(placed, true, top);
  out += table(placed, false, std::max<size_t>(top / 2, 5));
  out += held_back(placed, std::max<size_t>(top / 2, 5));
  return out;
}

void add_place_data_json(Json* document, const DataPlacement& placed) {
  Json candidates = Json::array(), list = Json::array(), curve = Json::array();
  for (const DataCandidate& one : placed.candidates) {
    candidates.push_back({{"name", one.name},
                          {"kind", kind_of(one)},
                          {"library", one.library},
                          {"file", one.file},
                          {"section", one.section},
                          {"memory", one.memory},
                          {"address", one.address},
                          {"bytes", one.size},
                          {"align", one.align},
                          {"stall", one.stall},
                          {"stall_alone", one.stall_alone},
                          {"use", one.use},
                          {"users", one.users},
                          {"verdict", name_of(one.why)},
                          {"reason", one.reason},
                          {"entry", one.entry.name.empty() ? "" : entry_text(one.entry)}});
  }
  for (const placement::Entry& entry : placed.list.entries) list.push_back(entry_text(entry));
  for (const placement::CurvePoint& one : placed.curve) {
    curve.push_back({{"bytes", one.bytes}, {"gain", one.gain}});
  }
  (*document)["data_placement"] = {{"target", placed.target},
                                   {"region", placed.region},
                                   {"region_is_dma", placed.region_is_dma},
                                   {"budget_bytes", placed.budget},
                                   {"unit", unit_of(placed)},
                                   {"busy", placed.busy},
                                   {"stall", placed.stall},
                                   {"stall_elsewhere", placed.stall_elsewhere},
                                   {"stall_is_measured", placed.is_measured},
                                   {"count", placed.chosen},
                                   {"bytes", placed.bytes},
                                   {"gain", placed.is_measured ? Json(placed.gain) : Json(nullptr)},
                                   {"worth", placed.chosen_worth},
                                   {"density_bytes", placed.density_bytes},
                                   {"density_worth", placed.density_worth},
                                   {"is_proved", placed.is_proved},
                                   {"already_fast", placed.already_fast},
                                   {"unused", placed.unused},
                                   {"list", list},
                                   {"curve", curve},
                                   {"candidates", candidates},
                                   {"notes", placed.notes}};
}

std::string place_data_csv(const DataPlacement& placed) {
  Table out({"<name", "<verdict", "<kind", "bytes", "align", "stall", "use", "<section", "<library",
             "<file", "<entry", "<reason"});
  for (const DataCandidate& one : placed.candidates) {
    out.add({one.name, name_of(one.why), kind_of(one), std::to_string(one.size),
             std::to_string(one.align), fmt::format("{:.0f}", one.stall),
             fmt::format("{:.0f}", one.use), one.section, one.library, one.file,
             one.entry.name.empty() ? "" : entry_text(one.entry), one.reason});
  }
  return out.csv();
}

std::vector<std::string> data_list_head(const DataPlacement& placed) {
  return {fmt::format("millrace place: {} for {}, {} of {} bytes",
                      plural(placed.list.entries.size(), "data object"), placed.region,
                      placed.bytes, placed.budget),
          fmt::format("from {} and {}", placed.path, placed.samples_path)};
}

}  // namespace millrace::cli
