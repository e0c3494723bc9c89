// SPDX-License-Identifier: Apache-2.0
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/soak.h"
#include "cli/values.h"

namespace millrace::cli {

namespace {

const char* status_name(SoakStatus status) {
  switch (status) {
    case SoakStatus::passed:
      return "passed";
    case SoakStatus::failed:
      return "failed";
    case SoakStatus::not_run:
      return "not_run";
    case SoakStatus::interrupted:
      return "interrupted";
  }
  return "";
}

}  // namespace

Table soak_table(const SoakResult& soak) {
  Table table({"<phase", "<result", "runs", "failed", "verified", "MB/s", "<first failure"});
  for (const SoakPhase& phase : soak.phases) {
    const double rate = phase.duration_ns <= 0 ? 0
                                               : static_cast<double>(phase.bytes) * 1e9 /
                                                     static_cast<double>(phase.duration_ns);
    const bool ran = phase.status != SoakStatus::not_run;
    table.add({phase.name, ran ? status_name(phase.status) : "not run",
               ran ? std::to_string(phase.runs) : "", ran ? std::to_string(phase.failed_runs) : "",
               ran ? human_bytes(phase.bytes) : "", rate > 0 ? megabytes_per_s(rate) : "",
               phase.telling_run});
  }
  return table;
}

std::string soak_notes(const SoakResult& soak) {
  std::string out;
  for (const SoakPhase& phase : soak.phases) {
    if (phase.status == SoakStatus::failed && phase.verdict) {
      out += wrap(printable(phase.name + ": " + phase.verdict->sentence), 100, 4) + '\n';
    }
    for (const std::string& note : phase.notes) {
      out += wrap(printable(phase.name + ": " + note), 100, 4) + '\n';
    }
  }
  return out;
}

Json to_json(const SoakResult& soak) {
  Json phases = Json::array();
  for (const SoakPhase& phase : soak.phases) {
    Json one = {{"name", phase.name},
                {"status", status_name(phase.status)},
                {"runs", phase.runs},
                {"failed", phase.failed_runs},
                {"bytes", phase.bytes},
                {"duration_ns", phase.duration_ns},
                {"first_failure", phase.telling_run},
                {"notes", phase.notes}};
    if (phase.verdict) one["verdict"] = to_json(*phase.verdict);
    phases.push_back(one);
  }
  return phases;
}

}  // namespace millrace::cli
