// SPDX-License-Identifier: Apache-2.0
// A list names functions; a linker takes sections. Between the two stand globs that catch more or
// less than was meant, clones, functions that were inlined at another optimisation level, an
// earlier rule that took the section first, and nobody says a word. So what is checked is the
// linked program, symbol by symbol.
#include "check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_set>

#include "millrace/profile/memory_report.h"

namespace millrace::placement {

using profile::counted;
using profile::Function;
using profile::FunctionKind;
using profile::grouped;
using profile::kNone;
using profile::printable;
using profile::readable_name;

const char* name_of(CheckStatus status) {
  static constexpr const char* kNames[] = {"skipped", "ok", "warning", "FAILED"};
  return kNames[static_cast<size_t>(status)];
}

CheckStatus CheckReport::worst() const {
  CheckStatus out = CheckStatus::skipped;
  for (const CheckResult& one : checks) out = std::max(out, one.status);
  return out;
}

Failure check(ElfIndex* index, const profile::Target& target, const CheckOptions& options,
              CheckReport* out) {
  *out = CheckReport();
  return Checker(index, target, options, out).run();
}

Failure Checker::run() {
  if (options_.list != nullptr) {
    if (Failure failure = require_symbols(index_)) return failure;
  }
  Failure failure = choose_region();
  if (failure) return failure;
  graph_ = profile::CallGraph::build(index_);
  if (options_.profile != nullptr) {
    for (const profile::FunctionRow& row : options_.profile->functions) {
      if (row.function != kNone) shares_[row.function] = options_.profile->share(row.weight);
    }
  }
  if (!index_.has_symbols()) {
    out_.notes.emplace_back("no symbols: only sections and overlaps were checked");
  }
  landed();
  extra();
  budget();
  veneers();
  calls_out();
  constants();
  overlaps();
  return boot();
}

Failure Checker::choose_region() {
  if (!options_.region.empty()) {
    region_ = target_.region(options_.region);
    if (region_ == nullptr || !region_->is_fast) {
      std::vector<std::string> names;
      for (const profile::TargetRegion& one : target_.regions) {
        if (one.is_fast) names.push_back(one.name);
      }
      return Error{Error::Kind::usage,
                   fmt::format("--region: {} is no fast memory of target {} (it has {})",
                               printable(options_.region), target_.name,
                               names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))};
    }
    return {};
  }
  for (const profile::TargetRegion& one : target_.regions) {
    if (one.is_fast && one.is_code && region_ == nullptr) region_ = &one;
  }
  if (region_ == nullptr && (options_.list != nullptr || options_.budget > 0)) {
    return Error{Error::Kind::usage,
                 fmt::format("target {} has no fast memory for code (name another with --target)",
                             target_.name)};
  }
  if (region_ != nullptr && options_.budget > region_->size) {
    return Error{Error::Kind::usage,
                 fmt::format("--budget: {} are more than the {} of {} (give at most {}, or another "
                             "--region)",
                             counted(options_.budget, "byte"), grouped(region_->size),
                             region_->name, region_->size)};
  }
  return {};
}

bool Checker::is_placed(uint32_t address) const {
  return region_ != nullptr && address >= region_->start && address < region_->end();
}

std::string Checker::place_of(uint32_t address) const {
  const profile::TargetRegion* at = target_.region_at(address);
  return fmt::format("{} at 0x{:08X}", at == nullptr ? "no memory of the target" : at->name,
                     address);
}

std::string Checker::name(uint32_t function) const {
  return printable(readable_name(index_.functions()[function].name), 80);
}

double Checker::share(uint32_t function) const {
  const auto found = shares_.find(function);
  return found == shares_.end() ? 0 : found->second;
}

void Checker::finish(CheckResult result) {
  for (const CheckFinding& one : result.findings) {
    result.status = std::max(result.status, one.status);
  }
  result.status = std::max(result.status, CheckStatus::passed);
  std::stable_sort(result.findings.begin(), result.findings.end(),
                   [](const CheckFinding& a, const CheckFinding& b) {
                     return a.status != b.status ? a.status > b.status : a.share > b.share;
                   });
  out_.checks.push_back(std::move(result));
}

void Checker::landed() {
  CheckResult result;
  result.name = "landed";
  if (options_.list == nullptr) {
    result.summary = "no list was given";
    out_.checks.push_back(std::move(result));
    return;
  }
  const std::vector<Match> matches = match_list(*options_.list, &index_);
  size_t entries = 0, pieces = 0;
  for (size_t i = 0; i < matches.size(); ++i) {
    const Match& match = matches[i];
    bool is_whole = !match.functions.empty() || !match.objects.empty();
    const auto missed = [&](const std::string& what, const std::string& symbol, uint32_t address) {
      is_whole = false;
      const std::string wanted =
          options_.is_evicted
              ? "still, and should have left (does its declaration have the attribute?)"
              : fmt::format("not in {}", region_->name);
      result.findings.push_back({CheckStatus::failed,
                                 fmt::format("{} is in {}{}{}", what, place_of(address),
                                             options_.is_evicted ? " " : ", ", wanted),
                                 symbol, address});
    };
    for (const uint32_t function : match.functions) {
      wanted_.insert(function);
      ++pieces;
      const Function& one = index_.functions()[function];
      if (is_placed(one.start) != options_.is_evicted) continue;
      const std::string& asked = options_.list->entries[i].name;
      const bool is_alias = std::any_of(one.aliases.begin(), one.aliases.end(),
                                        [&](const std::string& alias) { return alias == asked; });
      missed(name(function) +
                 (is_alias ? fmt::format(", which {} is a name for,", printable(asked, 80)) : ""),
             one.name, one.start);
      if (!options_.is_evicted) result.findings.back().text += why_not_taken(function);
      result.findings.back().share = share(function);
    }
    for (const uint32_t object : match.objects) {
      ++pieces;
      const profile::DataObject& one = index_.objects()[object];
      const profile::TargetRegion* at = target_.region_at(one.address);
      if ((at != nullptr && at->is_fast) != options_.is_evicted) continue;
      missed(printable(one.name, 80), one.name, one.address);
    }
    entries += is_whole ? 1 : 0;
  }
  result.summary = fmt::format("{} of {} entries{}, {} with their clones", grouped(entries),
                               grouped(matches.size()), options_.is_evicted ? " have left" : "",
                               counted(pieces, "symbol"));
  if (!result.findings.empty() && !options_.is_evicted && index_.input_sections().empty()) {
    result.summary += "; --map FILE may say why the rest did not land";
  }
  finish(std::move(result));
  drift(matches);
}

// A pattern by name finds no function that has no section of its own.
std::string Checker::why_not_taken(uint32_t function) const {
  const uint32_t start = index_.functions()[function].start;
  const profile::InputSection* input = index_.input_section_at(start);
  if (input == nullptr || input->name != ".text") return {};
  return fmt::format(
      " (it has no section of its own in {}: compile with -ffunction-sections, or list "
      "@object {})",
      printable(input->object, 60), printable(input->object, 60));
}

void Checker::drift(const std::vector<Match>& matches) {
  CheckResult result;
  result.name = "drift";
  size_t clones = 0, unknown = 0;
  for (size_t i = 0; i < matches.size(); ++i) {
    const Entry& entry = options_.list->entries[i];
    clones += matches[i].state == MatchState::by_clone ? 1 : 0;
    if (matches[i].is_file_unknown && matches[i].state == MatchState::missing) {
      result.findings.push_back(
          {CheckStatus::warned, match_sentence(entry, matches[i], index_), entry.name, 0});
      continue;
    }
    unknown += matches[i].is_file_unknown ? 1 : 0;
    if (!is_drift(matches[i].state)) continue;
    // What is ambiguous or elsewhere is there, so it was looked at above.
    const bool is_there = !matches[i].functions.empty() || !matches[i].objects.empty();
    result.findings.push_back(
        {is_there || options_.allow_missing ? CheckStatus::warned : CheckStatus::failed,
         match_sentence(entry, matches[i], index_), entry.name, 0});
  }
  result.summary = result.findings.empty()
                       ? fmt::format("every name of the list is known{}",
                                     clones > 0 ? fmt::format(", {} by clones only", clones) : "")
                       : fmt::format("{} of {} entries are not what they were",
                                     grouped(result.findings.size()), grouped(matches.size()));
  if (unknown > 0) {
    result.summary += fmt::format("; file= of {} not checked without --map", grouped(unknown));
  }
  finish(std::move(result));
}

void Checker::extra() {
  CheckResult result;
  result.name = "extra";
  if (options_.list == nullptr || options_.is_evicted) {
    result.summary = options_.is_evicted ? "the list is of what leaves" : "no list was given";
    out_.checks.push_back(std::move(result));
    return;
  }
  std::unordered_set<std::string> allowed(options_.allow.begin(), options_.allow.end());
  if (options_.before != nullptr) {
    for (const Function& one : options_.before->functions()) {
      if (is_placed(one.start)) allowed.insert(one.name);
    }
  }
  const bool is_source_known = options_.before != nullptr || !index_.input_sections().empty();
  size_t known = 0, own = 0;
  for (uint32_t i = 0; i < index_.functions().size(); ++i) {
    const Function& one = index_.functions()[i];
    if (!is_placed(one.start) || one.kind == FunctionKind::veneer || wanted_.contains(i)) continue;
    const bool is_allowed =
        allowed.contains(one.name) || allowed.contains(readable_name(one.name)) ||
        std::any_of(one.aliases.begin(), one.aliases.end(),
                    [&](const std::string& alias) { return allowed.contains(alias); });
    if (is_allowed) {
      ++known;
      continue;
    }
    const std::string text = fmt::format("{} ({}) is in {} and not on the list", name(i),
                                         counted(one.size, "byte"), region_->name);
    const std::string section = options_.before == nullptr ? own_section(i) : "";
    if (!section.empty()) {
      ++own;
      others_.insert(i);
      result.findings.push_back(
          {CheckStatus::passed,
           fmt::format("{}: its source put it there, in section {}", text, printable(section, 60)),
           one.name, one.start, share(i)});
      continue;
    }
    if (!is_source_known) others_.insert(i);
    result.findings.push_back({is_source_known ? CheckStatus::failed : CheckStatus::warned, text,
                               one.name, one.start, share(i)});
  }
  const size_t unasked = result.findings.size() - own;
  result.summary =
      unasked == 0
          ? "nothing stands there that was not asked for"
          : fmt::format("{} that the list does not ask for ({})", counted(unasked, "function"),
                        is_source_known
                            ? "list them, or give --allow NAME, or the program without "
                              "the list as --before ELF"
                            : "--before ELF, the program without the list, or --map FILE "
                              "would say whether they stood there anyway");
  if (own > 0) result.summary += fmt::format("; {} put there by the source", grouped(own));
  if (known > 0) result.summary += fmt::format("; {} allowed or there before", grouped(known));
  finish(std::move(result));
}

std::string Checker::own_section(uint32_t function) const {
  const profile::InputSection* input = index_.input_section_at(index_.functions()[function].start);
  if (input == nullptr || input->name == ".text" || input->name.rfind(".text.", 0) == 0) return {};
  return input->name;
}

void Checker::overlaps() {
  CheckResult result;
  result.name = "overlaps";
  const profile::MemoryReport report = profile::report_memory(index_, target_, nullptr);
  for (const profile::Overlap& one : report.overlaps) {
    result.findings.push_back(
        {CheckStatus::failed,
         fmt::format("sections {} and {} {} {} bytes from 0x{:08X}", printable(one.first, 60),
                     printable(one.second, 60),
                     one.is_stored ? "are stored on the same" : "stand on the same",
                     grouped(one.bytes), one.start),
         one.first, one.start});
  }
  for (const std::string& one : report.problems) {
    result.findings.push_back({CheckStatus::failed, one, "", 0});
  }
  for (const std::string& one : report.shared) {
    result.findings.push_back({CheckStatus::warned, one, "", 0});
  }
  result.summary = result.findings.empty()
                       ? "no two sections share addresses, where they run or are stored"
                       : counted(result.findings.size(), "finding");
  finish(std::move(result));
}

Failure Checker::boot() {
  CheckResult result;
  result.name = "boot";
  profile::BootReport report;
  Failure failure = profile::analyse_boot(index_, graph_, options_.boot, &report);
  if (failure && failure->kind == Error::Kind::usage) return failure;
  if (failure) {
    result.findings.push_back({CheckStatus::warned, failure->message, "", 0});
    result.summary = "not known";
    finish(std::move(result));
    return {};
  }
  for (const std::string& one : report.problems) {
    result.findings.push_back({CheckStatus::failed, one, "", 0});
  }
  size_t found = 0, before = 0;
  for (const profile::CopiedSection& one : report.sections) {
    const std::string section = printable(index_.sections()[one.section].name, 60);
    if (!one.copy_is_found) {
      result.findings.push_back(
          {CheckStatus::warned,
           fmt::format(
               "nothing that the entry calls knows where {} is stored: whether it is copied "
               "in time is not known (name what copies it with --copy-end)",
               section),
           "", 0});
      continue;
    }
    ++found;
    before = std::max(before, one.before.size());
    const size_t shown = std::min(one.unsafe.size(), kMaxFindings);
    for (const profile::BootStep& step : std::span(one.unsafe).first(shown)) {
      result.findings.push_back(
          {CheckStatus::failed,
           fmt::format("{} runs before it is copied, with {}: {} (leave it where it is stored)",
                       name(step.function), section, profile::boot_path(index_, one, step)),
           index_.functions()[step.function].name, index_.functions()[step.function].start});
    }
    if (one.unsafe.size() > shown) {
      result.findings.push_back(
          {CheckStatus::failed,
           fmt::format("{} more functions run before they are copied, with {}",
                       one.unsafe.size() - shown, section),
           "", 0});
    }
    for (const profile::BootUnknown& unknown : one.unknown) {
      const std::string from = fmt::format("{} at 0x{:08X}", name(unknown.function), unknown.site);
      result.findings.push_back(
          {CheckStatus::passed,
           unknown.target == kNone
               ? fmt::format("unknown: {} calls an address that only the run decides", from)
               : fmt::format("unknown: {} takes the address of {}, which is copied", from,
                             name(unknown.target)),
           index_.functions()[unknown.function].name, unknown.site});
    }
  }
  out_.notes.insert(out_.notes.end(), report.notes.begin(), report.notes.end());
  if (!report.notes.empty() && report.sections.empty()) {
    result.summary = "not known";
    out_.checks.push_back(std::move(result));
    return {};
  }
  result.summary =
      report.sections.empty()
          ? "no code is copied"
          : fmt::format("{} of {} copies of code found; {} before, from {} on", found,
                        report.sections.size(),
                        before == 1 ? "1 function runs" : grouped(before) + " functions run",
                        name(report.entry));
  finish(std::move(result));
  return {};
}

}  // namespace millrace::placement
