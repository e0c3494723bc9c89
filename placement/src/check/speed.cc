// SPDX-License-Identifier: Apache-2.0
// What a placement costs and leaves on the table: bytes, veneers, ways back into slow memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "check/checker.h"

namespace millrace::placement {

using profile::CallEdge;
using profile::counted;
using profile::EdgeKind;
using profile::Function;
using profile::FunctionKind;
using profile::grouped;
using profile::kNone;
using profile::printable;

// Of a region that is for data too only the code counts.
uint64_t Checker::bytes_in_region(const ElfIndex& index) const {
  uint64_t out = 0;
  for (const profile::Section& section : index.sections()) {
    if (!is_placed(section.address) || section.is_thread_local) continue;
    if (!region_->is_data || section.is_code) out += section.size;
  }
  return out;
}

// With the alignment behind each.
uint64_t Checker::bytes_of_others() const {
  constexpr uint64_t kMostAlignment = 32;
  uint64_t out = 0, at = 0;  // functions may stand in each other
  for (const uint32_t i : others_) {
    const Function& one = index_.functions()[i];
    uint64_t end = uint64_t{one.start} + one.size;
    if (i + 1 < index_.functions().size()) {
      const uint64_t next = index_.functions()[i + 1].start;
      if (next > end && next - end < kMostAlignment) end = next;
    }
    const uint64_t start = std::max<uint64_t>(at, one.start);
    if (end > start) out += end - start;
    at = std::max(at, end);
  }
  return out;
}

void Checker::budget() {
  CheckResult result;
  result.name = "budget";
  FastUse& use = out_.fast;
  use.budget = options_.budget;
  if (region_ == nullptr) {
    result.summary = "the target has no fast memory for code";
    out_.checks.push_back(std::move(result));
    return;
  }
  use.region = region_->name;
  use.bytes = bytes_in_region(index_);
  uint64_t at = 0;  // functions may stand in each other
  for (const Function& one : index_.functions()) {
    if (!is_placed(one.start)) continue;
    const uint64_t end = uint64_t{one.start} + one.size;
    const uint64_t start = std::max<uint64_t>(at, one.start);
    if (end <= start) continue;
    (one.kind == FunctionKind::veneer ? use.veneers : use.functions) += end - start;
    at = end;
  }
  for (const profile::DataObject& one : index_.objects()) {
    if (is_placed(one.address) && !region_->is_data) use.data += one.size;
  }
  use.bytes = std::max(use.bytes, use.functions + use.veneers);
  use.data = std::min(use.data, use.bytes - use.functions - use.veneers);
  use.padding = use.bytes - use.functions - use.veneers - use.data;
  if (options_.before != nullptr) use.before = bytes_in_region(*options_.before);
  use.others = std::min(bytes_of_others(), use.bytes);
  const uint64_t not_counted = use.before + use.others;
  const uint64_t allowed = options_.budget + not_counted;
  result.summary = fmt::format(
      "{} bytes in {}: {} of functions, {} of veneers, {} of data, {} of "
      "alignment and pools",
      grouped(use.bytes), use.region, grouped(use.functions), grouped(use.veneers),
      grouped(use.data), grouped(use.padding));
  if (use.others > 0) {
    result.summary += fmt::format("; {} are not of the list and not counted", grouped(use.others));
  }
  if (options_.budget == 0) {
    result.status = CheckStatus::skipped;
    result.summary += "; no budget was given";
    out_.checks.push_back(std::move(result));
    return;
  }
  if (use.bytes > allowed) {
    result.findings.push_back(
        {CheckStatus::failed,
         fmt::format("{} bytes stand in {}, {} more than the budget of {}{} (take entries off the "
                     "list)",
                     grouped(use.bytes), use.region, grouped(use.bytes - allowed),
                     grouped(options_.budget),
                     not_counted > 0 ? fmt::format(" and the {} that stand there without the list",
                                                   grouped(not_counted))
                                     : ""),
         "", 0});
  }
  finish(std::move(result));
}

void Checker::veneers() {
  CheckResult result;
  result.name = "veneers";
  struct Use {
    size_t sites = 0, hot = 0;
    uint32_t to = kNone, hottest = kNone;
    double share = 0;
  };
  std::map<uint32_t, Use> uses;
  for (const CallEdge& edge : graph_.edges()) {
    if (edge.veneer == kNone || edge.kind == EdgeKind::address) continue;
    Use& use = uses[edge.veneer];
    ++use.sites;
    use.to = edge.to;
    use.share = std::max(use.share, share(edge.veneer));
    if (!is_hot(edge.from) || !is_hot(edge.to)) continue;
    ++use.hot;
    if (use.hottest == kNone || share(edge.from) > share(use.hottest)) use.hottest = edge.from;
  }
  size_t hot = 0;
  for (const auto& [veneer, use] : uses) {
    const bool is_warm = use.hot > 0 || is_hot(veneer);
    if (options_.profile != nullptr && !is_warm) continue;
    hot += is_warm ? 1 : 0;
    if (result.findings.size() == kMaxFindings) break;
    const Function& one = index_.functions()[veneer];
    std::string text =
        fmt::format("{} is reached by a veneer in {}, from {} {}", name(use.to),
                    place_of(one.start), use.sites, use.sites == 1 ? "place" : "places");
    if (use.hottest != kNone) text += fmt::format(", most of all from {}", name(use.hottest));
    result.findings.push_back({is_warm ? CheckStatus::warned : CheckStatus::passed, text, one.name,
                               one.start, std::max(use.share, is_warm ? share(use.to) : 0)});
  }
  result.summary = uses.empty() ? "none" : counted(uses.size(), "veneer");
  if (options_.profile != nullptr && !uses.empty()) {
    result.summary += fmt::format(", {} of them between hot functions", hot);
  } else if (!uses.empty()) {
    result.summary += "; which ones are hot, --samples would say";
  }
  if (!graph_.is_known()) {
    result.summary = "calls are followed in Thumb code only";
    out_.checks.push_back(std::move(result));
    return;
  }
  finish(std::move(result));
}

void Checker::calls_out() {
  CheckResult result;
  result.name = "calls out";
  if (!graph_.is_known() || region_ == nullptr) {
    result.summary = "calls are followed in Thumb code only, and out of fast memory";
    out_.checks.push_back(std::move(result));
    return;
  }
  struct Use {
    size_t sites = 0;
    uint32_t from = kNone;
  };
  std::map<uint32_t, Use> callees;
  for (const CallEdge& edge : graph_.edges()) {
    if (edge.kind == EdgeKind::address || !is_placed_function(edge.from)) continue;
    const profile::TargetRegion* at = target_.region_at(index_.functions()[edge.to].start);
    if (at != nullptr && at->is_fast) continue;
    Use& use = callees[edge.to];
    ++use.sites;
    if (use.from == kNone || share(edge.from) > share(use.from)) use.from = edge.from;
  }
  size_t hot = 0;
  for (const auto& [to, use] : callees) {
    const bool is_warm = is_hot(to) && is_hot(use.from);
    hot += is_warm ? 1 : 0;
    if ((options_.profile != nullptr && !is_warm) || result.findings.size() == kMaxFindings) {
      continue;
    }
    result.findings.push_back(
        {is_warm ? CheckStatus::warned : CheckStatus::passed,
         fmt::format("{} in {} is called from {} in {}", name(to),
                     place_of(index_.functions()[to].start), name(use.from), region_->name),
         index_.functions()[to].name, index_.functions()[to].start, share(to)});
  }
  result.summary = callees.empty()
                       ? fmt::format("code in {} calls nothing outside fast memory", region_->name)
                       : fmt::format("code in {} calls {} in slow memory", region_->name,
                                     counted(callees.size(), "function"));
  if (options_.profile != nullptr && !callees.empty()) {
    result.summary += fmt::format(", {} of them hot", hot);
  }
  finish(std::move(result));
}

// Switch tables, strings and constant tables do not follow their function.
void Checker::constants() {
  CheckResult result;
  result.name = "constants";
  if (!graph_.is_known() || region_ == nullptr || options_.list == nullptr || options_.is_evicted) {
    result.summary = "no list of what is placed was given, or no Thumb code";
    out_.checks.push_back(std::move(result));
    return;
  }
  size_t functions = 0;
  for (const uint32_t function : wanted_) {
    if (!is_placed_function(function)) continue;
    std::map<std::string, uint32_t> sections;
    for (const uint32_t value : profile::constants_made(index_, function)) {
      const uint32_t home = index_.section_at(value);
      if (home == kNone) continue;
      const profile::Section& section = index_.sections()[home];
      const profile::TargetRegion* at = target_.region_at(value);
      if (section.is_code || section.is_writable || !section.is_stored) continue;
      if (at == nullptr || at->is_fast) continue;
      sections.emplace(section.name, value);
    }
    if (sections.empty()) continue;
    ++functions;
    if (result.findings.size() == kMaxFindings) continue;
    const auto& [section, address] = *sections.begin();
    result.findings.push_back({is_hot(function) ? CheckStatus::warned : CheckStatus::passed,
                               fmt::format("{} uses constants in {} ({})", name(function),
                                           place_of(address), printable(section, 60)),
                               index_.functions()[function].name, address, share(function)});
  }
  result.summary = functions == 0
                       ? "functions of the list use no constants in slow memory"
                       : fmt::format("{} of the list use{} constants in slow memory",
                                     counted(functions, "function"), functions == 1 ? "s" : "");
  finish(std::move(result));
}

}  // namespace millrace::placement
