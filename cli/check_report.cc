// SPDX-License-Identifier: Apache-2.0
#include "cli/check_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using placement::CheckFinding;
using placement::CheckReport;
using placement::CheckResult;
using placement::CheckStatus;

namespace {

constexpr size_t kMaxTold = 3;  // findings that are only told, unless all are asked for
constexpr size_t kNameWidth = 11, kStatusWidth = 9;

const char* status_word(CheckStatus status) {
  static constexpr const char* kWords[] = {"skipped", "passed", "warned", "failed"};
  return kWords[static_cast<size_t>(status)];
}

}  // namespace

std::string check_report(const CheckReport& report, size_t top) {
  std::string out;
  for (const CheckResult& one : report.checks) {
    out += wrap(fmt::format("{:<{}}{:<{}}{}", one.name, kNameWidth, name_of(one.status),
                            kStatusWidth, printable(one.summary)),
                kWidth, kNameWidth + kStatusWidth) +
           '\n';
    size_t shown = 0, told = 0;
    for (const CheckFinding& finding : one.findings) {
      const bool is_told = finding.status == CheckStatus::passed;
      if (shown == top || (is_told && told == kMaxTold && top < one.findings.size())) break;
      ++shown;
      told += is_told ? 1 : 0;
      std::string text = finding.text;
      if (finding.share > 0) text += fmt::format(" [{:.1f} %]", 100 * finding.share);
      out += wrap(fmt::format("  - {}", text), kWidth, 4) + '\n';
    }
    if (one.findings.size() > shown) {
      out += fmt::format("    and {} more (--top {})\n", one.findings.size() - shown,
                         one.findings.size());
    }
  }
  for (const std::string& one : report.notes) {
    out += wrap(fmt::format("{:<{}}{}", "note", kNameWidth, printable(one)), kWidth, kNameWidth) +
           '\n';
  }
  return out;
}

void add_check_json(Json* document, const CheckReport& report) {
  Json checks = Json::array();
  for (const CheckResult& one : report.checks) {
    Json findings = Json::array();
    for (const CheckFinding& finding : one.findings) {
      findings.push_back({{"status", status_word(finding.status)},
                          {"text", finding.text},
                          {"symbol", finding.symbol},
                          {"address", finding.address},
                          {"share", finding.share}});
    }
    checks.push_back({{"name", one.name},
                      {"status", status_word(one.status)},
                      {"summary", one.summary},
                      {"findings", findings}});
  }
  const placement::FastUse& use = report.fast;
  Json fast = {{"region", use.region},       {"bytes", use.bytes},
               {"functions", use.functions}, {"veneers", use.veneers},
               {"data", use.data},           {"padding", use.padding},
               {"bytes_before", use.before}, {"bytes_of_others", use.others},
               {"budget", use.budget}};
  (*document)["check"] = {{"status", status_word(report.worst())},
                          {"fast", fast},
                          {"checks", checks},
                          {"notes", report.notes}};
}

}  // namespace millrace::cli
