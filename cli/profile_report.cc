// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/print.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using profile::CacheUse;
using profile::FunctionRow;
using profile::NamedRow;
using profile::Profile;
using profile::WeightUnit;

namespace {

constexpr KeyRow row(12);
constexpr size_t kFunctionWidth = 40;
constexpr size_t kFileWidth = 28;
constexpr size_t kSmallTable = 8;  // memories, libraries

std::string interval(const Profile& profile, uint64_t weight) {
  const auto range = profile.interval(weight);
  if (!range) return "exact";
  return fmt::format("{:.1f}-{:.1f}", range->low * 100, range->high * 100);
}

std::string cycles(const Profile& profile, uint64_t weight) {
  const auto count = profile.cycles_of(weight);
  return count ? grouped(static_cast<uint64_t>(std::llround(*count))) : "-";
}

std::string stall(const Profile& profile, const profile::Weight& weight) {
  if (!profile.has_stall || weight.weight == 0) return "-";
  return percent(static_cast<double>(weight.stall) / static_cast<double>(weight.weight));
}

std::vector<std::string> figures(const Profile& profile, const profile::Weight& weight) {
  std::vector<std::string> out = {percent(profile.share(weight.weight)),
                                  interval(profile, weight.weight)};
  if (profile.cycles_per_event) out.push_back(cycles(profile, weight.weight));
  if (profile.has_stall) out.push_back(stall(profile, weight));
  return out;
}

std::vector<std::string> headings(const Profile& profile, std::vector<std::string> first) {
  first.insert(first.end(), {"busy %", "95 %"});
  if (profile.cycles_per_event) first.emplace_back("cycles/event");
  if (profile.has_stall) first.emplace_back("stall %");
  return first;
}

std::string named_table(const Profile& profile, const std::string& what,
                        const std::vector<NamedRow>& rows, size_t top, bool is_path) {
  if (rows.empty()) return "";
  Table table(headings(profile, {"<" + what}));
  for (size_t i = 0; i < std::min(top, rows.size()); ++i) {
    std::vector<std::string> cells = {is_path ? cut_path(rows[i].name, 50)
                                              : cut_middle(rows[i].name, 50)};
    const std::vector<std::string> more = figures(profile, rows[i]);
    cells.insert(cells.end(), more.begin(), more.end());
    table.add(cells);
  }
  std::string out = '\n' + table.text();
  if (rows.size() > top) out += fmt::format("and {} more\n", rows.size() - top);
  return out;
}

Table function_table(const Profile& profile, size_t top, bool is_full) {
  std::vector<std::string> names = {"<function", "<memory", "bytes", "lines"};
  if (is_full) names.insert(names.begin() + 1, {"<file", "<library"});
  Table table(headings(profile, names));
  for (size_t i = 0; i < std::min(top, profile.functions.size()); ++i) {
    const FunctionRow& one = profile.functions[i];
    std::vector<std::string> cells = {is_full ? one.name : short_name(one.name, kFunctionWidth),
                                      one.memory, grouped(one.size), grouped(one.lines_executed)};
    if (is_full) cells.insert(cells.begin() + 1, {one.file, one.library});
    const std::vector<std::string> more = figures(profile, one);
    cells.insert(cells.end(), more.begin(), more.end());
    table.add(cells);
  }
  return table;
}

std::string place(const std::string& file, uint32_t line) {
  return file.empty() ? "?" : fmt::format("{}:{}", cut_path(file, kFileWidth), line);
}

std::string line_table(const Profile& profile, size_t top) {
  if (profile.lines.empty()) return "";
  Table table(headings(profile, {"<line", "<in"}));
  for (size_t i = 0; i < std::min(top, profile.lines.size()); ++i) {
    const profile::SourceLineRow& one = profile.lines[i];
    std::vector<std::string> cells = {place(one.file, one.line), short_name(one.function, 30)};
    const std::vector<std::string> more = figures(profile, one);
    cells.insert(cells.end(), more.begin(), more.end());
    table.add(cells);
  }
  return '\n' + table.text();
}

std::string inline_table(const Profile& profile, size_t top) {
  if (profile.inlines.empty()) return "";
  Table table({"<inlined function", "places", "itself %", "with what it inlines %"});
  for (size_t i = 0; i < std::min(top, profile.inlines.size()); ++i) {
    const profile::InlineRow& one = profile.inlines[i];
    table.add({short_name(one.name, 50), grouped(one.places), percent(profile.share(one.self)),
               percent(profile.share(one.total))});
  }
  return '\n' + table.text();
}

std::string caller_table(const Profile& profile, size_t top) {
  if (!profile.has_callers) return "";
  std::string out;
  const profile::CallerQuality& q = profile.caller_quality;
  const uint64_t all = q.known + q.saved + q.no_unwind + q.exception;
  if (all > 0) {
    const auto of = [&](uint64_t part) {
      return percent(static_cast<double>(part) / static_cast<double>(all));
    };
    out += '\n' +
           wrap(fmt::format("Callers: the link register holds the caller in {} % of the samples; "
                            "elsewhere it was saved and reused ({} %), there is no unwind "
                            "information ({} %), or the function was entered by an exception "
                            "({} %).",
                            of(q.known), of(q.saved), of(q.no_unwind), of(q.exception)),
                kWidth, 0) +
           '\n';
  }
  if (profile.callers.empty()) return out;
  Table table({"<function", "<called from", "<at", "busy %"});
  for (size_t i = 0; i < std::min(top, profile.callers.size()); ++i) {
    const profile::CallerRow& one = profile.callers[i];
    table.add({short_name(one.callee, 28), short_name(one.caller, 28), place(one.file, one.line),
               percent(profile.share(one.weight))});
  }
  return out + '\n' + table.text();
}

std::string cache_rows(const Profile& profile) {
  if (!profile.cache) return "";
  const CacheUse& use = *profile.cache;
  if (use.lines == 0) return row("I-cache", "nothing was sampled in memory that it serves");
  std::string text =
      fmt::format("{} distinct lines of {} bytes seen in cached memory, {} fit; ",
                  grouped(use.lines), use.cache.line_bytes, grouped(use.cache.lines()));
  if (use.fits()) {
    text += "no set holds more than its " + plural(use.cache.ways, "way");
  } else {
    const double over = static_cast<double>(use.weight_over) / static_cast<double>(use.weight);
    uint32_t sets = 0;
    for (size_t n = use.cache.ways + 1; n < use.sets_by_lines.size(); ++n) {
      sets += use.sets_by_lines[n];
    }
    text += fmt::format(
        "{} of {} sets have more lines than their {} ways: {} lines too many, {} % "
        "of the time in cached memory",
        grouped(sets), grouped(use.cache.sets), use.cache.ways, grouped(use.lines_over),
        percent(over));
  }
  if (profile.unit == WeightUnit::samples) text += " (lines without a sample are not seen)";
  return row("I-cache", text);
}

}  // namespace

std::string profile_report(const Profile& profile, size_t top) {
  const bool is_sampled = profile.unit == WeightUnit::samples;
  std::string out = row("ELF", fmt::format("{}, target {} ({})", profile.elf_path,
                                           profile.target.name, profile.target.about));
  std::string source =
      fmt::format("{} {} from {} ({})", grouped(profile.total), is_sampled ? "samples" : "cycles",
                  profile.samples_path, profile.samples_format);
  if (profile.core_khz != 0) {
    source += fmt::format(", core at {:.4g} MHz", static_cast<double>(profile.core_khz) / 1000);
  }
  if (is_sampled && profile.interval_cycles != 0) {
    source += fmt::format(", one every {} cycles", grouped(profile.interval_cycles));
  }
  if (profile.lost > 0) source += fmt::format(", {} lost", grouped(profile.lost));
  if (profile.overruns > 0) {
    source += fmt::format(", {} not taken (interrupts locked out)", grouped(profile.overruns));
  }
  out += row("samples", source);
  std::string busy = "nothing but idle";
  if (profile.busy() > 0) {
    const auto total = static_cast<double>(profile.total);
    const double share = static_cast<double>(profile.busy()) / total;
    busy = percent(share) + " %";
    if (is_sampled) {
      const profile::Interval range =
          profile::wilson_interval(static_cast<double>(profile.busy()), total);
      busy += fmt::format(" ({} to {})", percent(range.low), percent(range.high));
    }
    busy += " of the run";
    if (profile.cycles_per_event) {
      busy += fmt::format(", {} cycles per event",
                          grouped(static_cast<uint64_t>(std::llround(*profile.cycles_per_event))));
    }
    if (profile.has_stall) {
      busy += fmt::format("; {} % of it waited for memory", percent(profile.share(profile.stall)));
    }
  }
  out += row("busy", busy);
  if (profile.handler_share > 0) {
    out += row("sampler", fmt::format("took {:.2f} % of the run", profile.handler_share * 100));
  }
  out += cache_rows(profile);
  for (const std::string& note : profile.notes) out += row("note", note);
  out += named_table(profile, "memory", profile.memories, kSmallTable, false);
  out += named_table(profile, "library or folder", profile.libraries, std::min(top, kSmallTable),
                     false);
  out += named_table(profile, "file", profile.files, top, true);
  out += '\n' + function_table(profile, top, false).text();
  if (profile.functions.size() > top) {
    out += fmt::format("and {} more\n", profile.functions.size() - top);
  }
  out += line_table(profile, top);
  out += inline_table(profile, top);
  out += caller_table(profile, top);
  if (profile.has_exceptions && profile.exceptions.size() > 1) {
    out += named_table(profile, "exception", profile.exceptions, top, false);
  }
  return out;
}

std::string profile_csv(const Profile& profile) {
  return function_table(profile, profile.functions.size(), true).csv();
}

std::string profile_markdown(const Profile& profile, size_t top) {
  return function_table(profile, top, false).markdown();
}

std::string diff_report(const profile::ProfileDiff& diff, size_t top) {
  std::string out = "\nAgainst the older profile (* beyond sampling noise):\n";
  out +=
      row("busy", fmt::format("{} % -> {} %", percent(diff.busy_before), percent(diff.busy_after)));
  const bool has_cycles = diff.cycles_before && diff.cycles_after;
  if (has_cycles) {
    out += row("cycles",
               fmt::format("{} -> {} per event",
                           grouped(static_cast<uint64_t>(std::llround(*diff.cycles_before))),
                           grouped(static_cast<uint64_t>(std::llround(*diff.cycles_after)))));
  }
  Table table(
      {"<function", "<memory", has_cycles ? "cycles before" : "% before", "after", "change", "<"});
  for (size_t i = 0; i < std::min(top, diff.functions.size()); ++i) {
    const profile::DiffRow& one = diff.functions[i];
    const std::string before = one.memory_before.empty() ? "-" : one.memory_before;
    const std::string after = one.memory_after.empty() ? "-" : one.memory_after;
    const std::string memory = before == after ? before : fmt::format("{} -> {}", before, after);
    const auto figure = [&](double share, const std::optional<double>& count) {
      return has_cycles ? grouped(static_cast<uint64_t>(std::llround(*count))) : percent(share);
    };
    table.add({short_name(one.name, kFunctionWidth), memory,
               figure(one.share_before, one.cycles_before),
               figure(one.share_after, one.cycles_after),
               has_cycles ? fmt::format("{:+.0f}", one.change())
                          : fmt::format("{:+.1f}", one.change() * 100),
               one.is_significant ? "*" : ""});
  }
  return out + '\n' + table.text();
}

}  // namespace millrace::cli
