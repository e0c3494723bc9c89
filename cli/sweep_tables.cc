// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/run_report.h"
#include "cli/sweep.h"
#include "cli/values.h"

namespace millrace::cli {

namespace {

std::string failed_of(const SweepCell& cell) {
  if (cell.runs.empty()) return "";
  const size_t percent = 100 * cell.failed() / cell.runs.size();
  return fmt::format("{}/{} ({} %)", cell.failed(), cell.runs.size(), percent);
}

double mean_of(const SweepCell& cell, double SweepRun::*member) {
  double sum = 0;
  size_t count = 0;
  for (const SweepRun& run : cell.runs) {
    if (run.failed) continue;
    sum += run.*member;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace

Table sweep_table(const SweepResult& sweep) {
  std::vector<std::string> headings = {"frame B"};
  for (const uint16_t window : sweep.windows) {
    headings.push_back(fmt::format("ack {} MB/s", ack_name(window)));
  }
  Table table(headings);
  for (size_t i = 0; i < sweep.cells.size(); i += sweep.windows.size()) {
    std::vector<std::string> row = {std::to_string(sweep.cells[i].frame_size)};
    for (size_t j = 0; j < sweep.windows.size(); ++j) row.push_back(sweep.cells[i + j].mark());
    table.add(row);
  }
  return table;
}

Table sweep_details(const SweepResult& sweep) {
  Table table({"frame B", "<ack", "frames", "MB/s", "+- SD", "min", "frames/s", "reads/s", "failed",
               "<verdict"});
  for (const SweepCell& cell : sweep.cells) {
    if (cell.runs.empty()) continue;
    const Statistics rate = cell.rate();
    const bool any = rate.count != 0;
    table.add({std::to_string(cell.frame_size), ack_name(cell.window_frames),
               grouped(cell.frame_count), cell.mark(),
               rate.count > 1 ? megabytes_per_s(rate.deviation) : "-",
               any ? megabytes_per_s(rate.min) : "-", whole(mean_of(cell, &SweepRun::frames_per_s)),
               whole(mean_of(cell, &SweepRun::reads_per_s)), failed_of(cell),
               verdict_name(cell.telling_run()->verdict.kind)});
  }
  return table;
}

Table sweep_csv(const SweepResult& sweep) {
  Table table({"frame_size", "ack", "frame_count", "runs", "failed", "mean_bytes_per_s",
               "deviation_bytes_per_s", "min_bytes_per_s", "max_bytes_per_s", "frames_per_s",
               "reads_per_s", "verdict"});
  for (const SweepCell& cell : sweep.cells) {
    if (cell.runs.empty()) continue;
    const Statistics rate = cell.rate();
    const auto number = [&](double value) {
      return rate.count == 0 ? std::string() : fmt::format("{:.0f}", value);
    };
    table.add({std::to_string(cell.frame_size), ack_name(cell.window_frames),
               std::to_string(cell.frame_count), std::to_string(cell.runs.size()),
               std::to_string(cell.failed()), number(rate.mean),
               rate.count > 1 ? number(rate.deviation) : std::string(), number(rate.min),
               number(rate.max), number(mean_of(cell, &SweepRun::frames_per_s)),
               number(mean_of(cell, &SweepRun::reads_per_s)),
               verdict_name(cell.telling_run()->verdict.kind)});
  }
  return table;
}

std::string sweep_failures(const SweepResult& sweep) {
  std::string out;
  for (const SweepCell& cell : sweep.cells) {
    const SweepRun* run = cell.telling_run();
    if (run == nullptr || !run->failed) continue;
    out += wrap(fmt::format("{} B, ack {}: {}", grouped(cell.frame_size),
                            ack_name(cell.window_frames), printable(run->verdict.sentence)),
                100, 4) +
           '\n';
    for (const std::string& fault : run->first_faults) {
      out += wrap("    " + printable(fault), 100, 6) + '\n';
    }
  }
  return out;
}

Json to_json(const SweepResult& sweep) {
  Json cells = Json::array();
  for (const SweepCell& cell : sweep.cells) {
    Json runs = Json::array();
    for (const SweepRun& run : cell.runs) {
      runs.push_back({{"bytes_per_s", run.bytes_per_s},
                      {"frames_per_s", run.frames_per_s},
                      {"reads_per_s", run.reads_per_s},
                      {"failed", run.failed},
                      {"end", end_name(run.end)},
                      {"faults", run.faults},
                      {"first_faults", run.first_faults},
                      {"verdict", to_json(run.verdict)}});
    }
    const double failure_rate = cell.runs.empty() ? 0
                                                  : static_cast<double>(cell.failed()) /
                                                        static_cast<double>(cell.runs.size());
    cells.push_back({{"frame_size", cell.frame_size},
                     {"ack", ack_name(cell.window_frames)},
                     {"window_frames", cell.window_frames},
                     {"frame_count", cell.frame_count},
                     {"failed", cell.failed()},
                     {"failure_rate", failure_rate},
                     {"bytes_per_s", to_json(cell.rate())},
                     {"runs", runs}});
  }
  return cells;
}

}  // namespace millrace::cli
