// SPDX-License-Identifier: Apache-2.0
#include "cli/place_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using placement::Candidate;
using placement::CurvePoint;
using placement::Match;
using placement::MatchState;
using placement::Outcome;
using placement::Placement;
using placement::PlacementList;
using placement::Why;

namespace {

constexpr size_t kKeyWidth = 12;
constexpr KeyRow row(kKeyWidth);
constexpr size_t kNameWidth = 34;
constexpr size_t kBarWidth = 50;
constexpr size_t kCurveRows = 16;

std::string weight_unit(const Placement& placement) {
  return placement.profile.unit == profile::WeightUnit::cycles ? "cycles" : "samples";
}

std::string cycles(const Placement& placement, const Outcome& outcome) {
  const auto count = placement.cycles_after(outcome);
  return count ? grouped(static_cast<uint64_t>(std::llround(std::max(0.0, *count)))) : "-";
}

Table outcomes(const Placement& placement) {
  Table table({"<selection", "functions or files", "bytes", "of these veneers", "time saved %",
               "cycles/event"});
  const auto add = [&](const char* name, const Outcome& one) {
    table.add({name, grouped(one.candidates.size()), grouped(one.total_bytes()),
               grouped(one.veneer_bytes), percent(one.gain), cycles(placement, one)});
  };
  table.add({"as it is", "0", "0", "0", "0.0", cycles(placement, {})});
  add("this list", placement.chosen);
  add("densest first", placement.density);
  add("everything", placement.everything);
  return table;
}

std::string candidate_table(const Placement& placement, bool chosen, size_t top) {
  Table table({"<name", "bytes", "busy %", "saves %", chosen ? "<why" : "<why not"});
  size_t more = 0, rows = 0;
  for (const Candidate& one : placement.candidates) {
    const bool is_chosen = one.why == Why::chosen || one.why == Why::pinned;
    if (is_chosen != chosen) continue;
    if (rows == top) {
      ++more;
      continue;
    }
    ++rows;
    const auto busy = static_cast<double>(std::max<uint64_t>(placement.profile.busy(), 1));
    table.add({short_name(one.name, kNameWidth), grouped(one.bytes),
               percent(placement.profile.share(one.weight)), percent(one.gain / busy), one.reason});
  }
  if (table.empty()) return "";
  std::string out = '\n' + table.text(kWidth);
  if (more > 0) {
    out += fmt::format("and {} more (--top {} shows all, --csv FILE writes them)\n", grouped(more),
                       rows + more);
  }
  return out;
}

// Gain against bytes, a bar a row.
std::string curve(const Placement& placement) {
  if (placement.curve.size() < 2) return "";
  double top = 1e-9;
  for (const CurvePoint& one : placement.curve) top = std::max(top, one.gain);
  std::string out = "\n   bytes  time saved, in the order of what each adds\n";
  const size_t step = (placement.curve.size() + kCurveRows - 1) / kCurveRows;
  bool is_marked = false;
  for (size_t i = 0; i < placement.curve.size(); ++i) {
    const CurvePoint& one = placement.curve[i];
    const bool is_last = i + 1 == placement.curve.size();
    if (i % step != 0 && !is_last) continue;
    if (!is_marked && one.bytes > placement.budget) {
      is_marked = true;
      out += fmt::format("{:>8}  {:-<{}} budget\n", grouped(placement.budget), "", kBarWidth);
    }
    const auto bar = static_cast<size_t>(std::lround(one.gain / top * kBarWidth));
    out += fmt::format("{:>8}  {:<{}} {:>5} %\n", grouped(one.bytes), std::string(bar, '#'),
                       kBarWidth, percent(one.gain));
  }
  return out;
}

std::string verdict(const Placement& placement) {
  if (placement.chosen.candidates.empty()) {
    return placement.rest_is_resident
               ? "nothing to move: the code that runs stays in the instruction cache"
               : "nothing to move within this budget";
  }
  std::string out = fmt::format("move {} for {} of {} bytes of {}: {} % of the busy time saved",
                                plural(placement.chosen.candidates.size(), "piece"),
                                grouped(placement.chosen.total_bytes()), grouped(placement.budget),
                                placement.region, percent(placement.chosen.gain));
  if (placement.profile.unit == profile::WeightUnit::samples) {
    out += fmt::format(
        " (an estimate from samples, likely {} to {}; "
        "`millrace predict` with a trace tells more)",
        percent(placement.gain_interval.low), percent(placement.gain_interval.high));
  }
  if (placement.rest_is_resident) {
    out += "; what stays is resident in the cache, so more would gain nothing";
  }
  return out;
}

std::string basis(const Placement& placement) {
  const profile::Profile& p = placement.profile;
  std::string out = fmt::format(
      "{} busy {}, {} % of them waiting for code ({})", grouped(p.busy()), weight_unit(placement),
      percent(p.busy() == 0 ? 0 : placement.stall / static_cast<double>(p.busy())),
      placement.is_simulated  ? "measured; gains simulated from the trace"
      : placement.is_measured ? "measured"
                              : "estimated from the samples");
  if (placement.lines_left > 0) {
    out += fmt::format("; afterwards {} cache lines stay, {} more than their sets hold",
                       grouped(placement.lines_left), grouped(placement.lines_over));
  }
  return out;
}

std::string boot_sentence(const Placement& placement) {
  const placement::BootClosure& boot = placement.boot;
  std::string out =
      fmt::format("{} run before the copy and stay", plural(boot.functions.size(), "function"));
  if (boot.indirect_calls > 0) {
    out += fmt::format("; {} of their calls go where only the run decides (millrace check)",
                       boot.indirect_calls);
  }
  return out;
}

Json outcome_json(const Placement& placement, const Outcome& outcome) {
  Json out = {{"count", outcome.candidates.size()},
              {"bytes", outcome.bytes},
              {"veneer_bytes", outcome.veneer_bytes},
              {"total_bytes", outcome.total_bytes()},
              {"gain", outcome.gain}};
  Json list = Json::array();
  for (const uint32_t number : outcome.candidates) {
    for (const placement::Entry& entry : placement.candidates[number].entries) {
      list.push_back(entry_text(entry));
    }
  }
  out["list"] = list;
  const auto count = placement.cycles_after(outcome);
  out["cycles_per_event"] = count ? Json(*count) : Json(nullptr);
  return out;
}

Json candidate_json(const Placement& placement, const Candidate& one) {
  Json entries = Json::array();
  for (const placement::Entry& entry : one.entries) entries.push_back(entry_text(entry));
  return {{"name", one.name},
          {"library", one.library},
          {"file", one.file},
          {"bytes", one.bytes},
          {"weight", one.weight},
          {"share", placement.profile.share(one.weight)},
          {"stall", one.stall},
          {"gain", one.gain},
          {"lines", one.lines},
          {"lines_in_its_sets", one.pressure},
          {"verdict", name_of(one.why)},
          {"reason", one.reason},
          {"entries", entries}};
}

}  // namespace

std::string place_report(const Placement& placement, size_t top) {
  std::string out = row("verdict", verdict(placement));
  out += row("target", fmt::format("{}, {}", placement.profile.target.name, placement.region));
  out += row("from", basis(placement));
  out += row("start-up", boot_sentence(placement));
  out += row("found by", placement.method + (placement.is_proved ? " (proved the best)" : ""));
  for (const std::string& note : placement.notes) out += row("note", note);
  out += '\n' + outcomes(placement).text();
  out += candidate_table(placement, true, top);
  out += candidate_table(placement, false, std::max<size_t>(top / 2, 5));
  out += curve(placement);
  return out;
}

std::string place_csv(const Placement& placement) {
  Table table({"<name", "<verdict", "bytes", "weight", "stall", "gain", "lines", "<library",
               "<file", "<entry", "<reason"});
  for (const Candidate& one : placement.candidates) {
    table.add({one.name, name_of(one.why), std::to_string(one.bytes), std::to_string(one.weight),
               fmt::format("{:.0f}", one.stall), fmt::format("{:.0f}", one.gain),
               std::to_string(one.lines), one.library, one.file,
               one.entries.empty() ? "" : entry_text(one.entries[0]), one.reason});
  }
  return table.csv();
}

void add_place_json(Json* document, const Placement& placement) {
  Json candidates = Json::array(), list = Json::array(), curve_points = Json::array();
  for (const Candidate& one : placement.candidates) {
    candidates.push_back(candidate_json(placement, one));
  }
  for (const placement::Entry& entry : placement.list.entries) list.push_back(entry_text(entry));
  for (const CurvePoint& one : placement.curve) {
    curve_points.push_back({{"bytes", one.bytes}, {"gain", one.gain}});
  }
  Json order = Json::array();
  for (const placement::Entry& entry : placement.flash_order) order.push_back(entry.name);
  (*document)["placement"] = {{"target", placement.profile.target.name},
                              {"region", placement.region},
                              {"budget_bytes", placement.budget},
                              {"unit", weight_unit(placement)},
                              {"busy", placement.profile.busy()},
                              {"stall", placement.stall},
                              {"stall_is_measured", placement.is_measured},
                              {"gain_is_simulated", placement.is_simulated},
                              {"method", placement.method},
                              {"is_proved", placement.is_proved},
                              {"chosen", outcome_json(placement, placement.chosen)},
                              {"gain_low", placement.gain_interval.low},
                              {"gain_high", placement.gain_interval.high},
                              {"density", outcome_json(placement, placement.density)},
                              {"everything", outcome_json(placement, placement.everything)},
                              {"rest_is_resident", placement.rest_is_resident},
                              {"lines_left", placement.lines_left},
                              {"lines_over", placement.lines_over},
                              {"boot_functions", placement.boot.functions.size()},
                              {"boot_end_is_known", placement.boot.end_is_known},
                              {"boot_indirect_calls", placement.boot.indirect_calls},
                              {"unsampled", placement.unsampled},
                              {"list", list},
                              {"flash_order", order},
                              {"curve", curve_points},
                              {"candidates", candidates},
                              {"notes", placement.notes}};
}

std::vector<std::string> list_head(const Placement& placement) {
  return {
      fmt::format("millrace place: {} for {}, {} of {} bytes",
                  plural(placement.list.entries.size(), "entry"), placement.region,
                  grouped(placement.chosen.total_bytes()), grouped(placement.budget)),
      fmt::format("from {} and {}", placement.profile.elf_path, placement.profile.samples_path)};
}

std::string drift_report(const PlacementList& list, const std::vector<Match>& matches,
                         const profile::ElfIndex& index, size_t top) {
  size_t counts[static_cast<size_t>(MatchState::missing) + 1] = {};
  std::vector<std::string> sentences;
  for (size_t i = 0; i < matches.size(); ++i) {
    ++counts[static_cast<size_t>(matches[i].state)];
    if (matches[i].state == MatchState::found) continue;
    sentences.push_back(fmt::format("{:<{}}{}", name_of(matches[i].state), kKeyWidth,
                                    match_sentence(list.entries[i], matches[i], index)));
  }
  std::string summary;
  for (size_t i = 0; i < std::size(counts); ++i) {
    if (counts[i] == 0) continue;
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", grouped(counts[i]),
                           name_of(static_cast<MatchState>(i)));
  }
  std::string out =
      row("list", fmt::format("{}: {}", list.path, plural(list.entries.size(), "name")));
  out += row("in", index.path());
  out += row("verdict", summary.empty() ? "the list is empty" : summary);
  for (size_t i = 0; i < std::min(top, sentences.size()); ++i) {
    out += wrap(printable(sentences[i]), kWidth, kKeyWidth) + '\n';
  }
  if (sentences.size() > top) {
    out += fmt::format("and {} more (--top {} shows all)\n", grouped(sentences.size() - top),
                       sentences.size());
  }
  return out;
}

void add_drift_json(Json* document, const PlacementList& list, const std::vector<Match>& matches,
                    const profile::ElfIndex& index) {
  Json entries = Json::array();
  size_t drift = 0;
  for (size_t i = 0; i < matches.size(); ++i) {
    drift += is_drift(matches[i].state) ? 1 : 0;
    Json functions = Json::array();
    for (const uint32_t number : matches[i].functions) {
      functions.push_back(index.functions()[number].name);
    }
    entries.push_back({{"entry", entry_text(list.entries[i])},
                       {"line", list.entries[i].line},
                       {"state", name_of(matches[i].state)},
                       {"functions", functions},
                       {"nearest", matches[i].nearest},
                       {"inlined_in", matches[i].inlined_in},
                       {"sentence", match_sentence(list.entries[i], matches[i], index)}});
  }
  (*document)["drift"] = {{"list", list.path}, {"drifted", drift}, {"entries", entries}};
}

}  // namespace millrace::cli
