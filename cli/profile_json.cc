// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "cli/profile_report.h"

namespace millrace::cli {

using profile::Profile;

namespace {

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

// The members that every row has.
Json figures(const Profile& profile, const profile::Weight& weight) {
  Json out = {{"weight", weight.weight},
              {"share", profile.share(weight.weight)},
              {"share_interval", nullptr},
              {"cycles_per_event", optional(profile.cycles_of(weight.weight))},
              {"stall", nullptr}};
  const auto range = profile.interval(weight.weight);
  if (range) out["share_interval"] = {range->low, range->high};
  if (profile.has_stall) out["stall"] = weight.stall;
  return out;
}

Json named(const Profile& profile, const std::vector<profile::NamedRow>& rows) {
  Json out = Json::array();
  for (const profile::NamedRow& one : rows) {
    Json row = {{"name", one.name}};
    row.update(figures(profile, one));
    out.push_back(std::move(row));
  }
  return out;
}

Json functions(const Profile& profile) {
  Json out = Json::array();
  for (const profile::FunctionRow& one : profile.functions) {
    Json row = {{"name", one.name},
                {"file", one.file},
                {"line", one.line},
                {"library", one.library},
                {"memory", one.memory},
                {"address", one.start},
                {"bytes", one.size},
                {"lines_executed", one.lines_executed},
                {"weight_in_handlers", one.in_handlers}};
    row.update(figures(profile, one));
    out.push_back(std::move(row));
  }
  return out;
}

Json cache_json(const Profile& profile) {
  if (!profile.cache) return nullptr;
  const profile::CacheUse& use = *profile.cache;
  return {{"line_bytes", use.cache.line_bytes},
          {"sets", use.cache.sets},
          {"ways", use.cache.ways},
          {"lines_executed", use.lines},
          {"lines_over", use.lines_over},
          {"sets_by_lines", use.sets_by_lines},
          {"weight", use.weight},
          {"weight_over", use.weight_over},
          {"fits", use.fits()}};
}

}  // namespace

void add_profile_json(Json* document, const Profile& profile) {
  Json out = {{"elf", profile.elf_path},
              {"samples", profile.samples_path},
              {"format", profile.samples_format},
              {"target", profile.target.name},
              {"unit", profile.unit == profile::WeightUnit::samples ? "samples" : "cycles"},
              {"total", profile.total},
              {"idle", profile.idle},
              {"busy", profile.busy()},
              {"busy_interval", nullptr},
              {"outside", profile.outside},
              {"lost", profile.lost},
              {"overruns", profile.overruns},
              {"core_khz", profile.core_khz},
              {"interval_cycles", profile.interval_cycles},
              {"events", profile.events},
              {"handler_share", profile.handler_share},
              {"cycles_per_event", optional(profile.cycles_per_event)},
              {"stall", profile.has_stall ? Json(profile.stall) : Json(nullptr)},
              {"lines_executed", profile.lines_executed}};
  if (profile.unit == profile::WeightUnit::samples && profile.total > 0) {
    const profile::Interval range = profile::wilson_interval(static_cast<double>(profile.busy()),
                                                             static_cast<double>(profile.total));
    out["busy_interval"] = {range.low, range.high};
  }
  out["cache"] = cache_json(profile);
  out["memories"] = named(profile, profile.memories);
  out["sections"] = named(profile, profile.sections);
  out["libraries"] = named(profile, profile.libraries);
  out["files"] = named(profile, profile.files);
  out["exceptions"] = named(profile, profile.exceptions);
  out["functions"] = functions(profile);
  Json lines = Json::array();
  for (const profile::SourceLineRow& one : profile.lines) {
    Json row = {{"file", one.file}, {"line", one.line}, {"function", one.function}};
    row.update(figures(profile, one));
    lines.push_back(std::move(row));
  }
  out["lines"] = std::move(lines);
  Json inlines = Json::array();
  for (const profile::InlineRow& one : profile.inlines) {
    inlines.push_back({{"name", one.name},
                       {"self", one.self},
                       {"total", one.total},
                       {"places", one.places},
                       {"self_share", profile.share(one.self)},
                       {"total_share", profile.share(one.total)}});
  }
  out["inlined"] = std::move(inlines);
  Json callers = Json::array();
  for (const profile::CallerRow& one : profile.callers) {
    Json row = {
        {"callee", one.callee}, {"caller", one.caller}, {"file", one.file}, {"line", one.line}};
    row.update(figures(profile, one));
    callers.push_back(std::move(row));
  }
  const profile::CallerQuality& quality = profile.caller_quality;
  out["callers"] = std::move(callers);
  out["caller_quality"] = {{"known", quality.known},
                           {"saved", quality.saved},
                           {"no_unwind", quality.no_unwind},
                           {"exception", quality.exception}};
  out["notes"] = profile.notes;
  (*document)["profile"] = std::move(out);
}

void add_diff_json(Json* document, const profile::ProfileDiff& diff) {
  Json rows = Json::array();
  for (const profile::DiffRow& one : diff.functions) {
    rows.push_back({{"name", one.name},
                    {"file", one.file},
                    {"memory_before", one.memory_before},
                    {"memory_after", one.memory_after},
                    {"share_before", one.share_before},
                    {"share_after", one.share_after},
                    {"cycles_before", optional(one.cycles_before)},
                    {"cycles_after", optional(one.cycles_after)},
                    {"is_significant", one.is_significant}});
  }
  (*document)["diff"] = {{"busy_before", diff.busy_before},
                         {"busy_after", diff.busy_after},
                         {"cycles_before", optional(diff.cycles_before)},
                         {"cycles_after", optional(diff.cycles_after)},
                         {"functions", std::move(rows)}};
}

}  // namespace millrace::cli
