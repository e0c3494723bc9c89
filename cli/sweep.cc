// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/fault_text.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Result;
using host::RunEnd;
using host::RunResult;

namespace {

constexpr uint32_t kMinFrames = 16;

double per_second(uint64_t count, int64_t ns) {
  return ns <= 0 ? 0 : static_cast<double>(count) * 1e9 / static_cast<double>(ns);
}

SweepRun summary_of(const RunResult& result) {
  SweepRun run;
  run.bytes_per_s = result.bytes_per_s;
  run.frames_per_s = per_second(result.frames, result.duration_ns);
  run.reads_per_s = per_second(result.reads.reads, result.duration_ns);
  run.faults = result.in_totals.faults;
  run.failed = result.failed();
  run.end = result.end;
  run.verdict = result.verdict;
  for (size_t i = 0; i < result.faults.size() && i < 3; ++i) {
    run.first_faults.push_back(fault_sentence(result.faults[i]));
  }
  return run;
}

bool ends_sweep(RunEnd end) {
  return end == RunEnd::interrupted || end == RunEnd::gone || end == RunEnd::no_answer ||
         end == RunEnd::refused;
}

// False: the sweep is over.
bool run_cell(host::Endpoint& endpoint, const SweepPlan& plan, const Runner& runner,
              const host::RunHooks& hooks, SweepCell& cell, SweepResult& sweep) {
  host::RunSettings settings = plan.settings;
  settings.frame_size = cell.frame_size;
  settings.frame_count = cell.frame_count;
  settings.window_frames = cell.window_frames;
  const Result<RunResult> result = runner(endpoint, settings, hooks);
  if (!result) {
    sweep.error = result.error();
    sweep.code = worse(sweep.code, exit_code(result.error()));
    return false;
  }
  if (!sweep.first) sweep.first = result.value();
  if (!sweep.port) sweep.port = result->port;
  if (cut_short(result.value())) {
    sweep.interrupted = fmt::format("{} B, ack {}: {}", grouped(cell.frame_size),
                                    ack_name(cell.window_frames), result->verdict.sentence);
  } else {
    cell.runs.push_back(summary_of(result.value()));
  }
  sweep.code = worse(sweep.code, exit_code(result.value()));
  return !ends_sweep(result->end);
}

}  // namespace

size_t SweepCell::failed() const {
  return static_cast<size_t>(
      std::count_if(runs.begin(), runs.end(), [](const SweepRun& run) { return run.failed; }));
}

Statistics SweepCell::rate() const {
  std::vector<double> rates;
  for (const SweepRun& run : runs) {
    if (!run.failed) rates.push_back(run.bytes_per_s);
  }
  return statistics_of(std::move(rates));
}

std::string SweepCell::mark() const {
  if (runs.empty()) return "";
  const Statistics passed = rate();
  if (passed.count == 0) return "-";
  return megabytes_per_s(passed.mean) + (failed() == 0 ? "" : "*");
}

const SweepRun* SweepCell::telling_run() const {
  if (runs.empty()) return nullptr;
  for (const SweepRun& run : runs) {
    if (run.failed) return &run;
  }
  return &runs.back();
}

uint32_t frames_of(const SweepPlan& plan, uint32_t frame_size, uint16_t window_frames) {
  uint64_t frames = std::max<uint64_t>(plan.bytes / frame_size, kMinFrames);
  if (window_frames != 0) frames = std::min<uint64_t>(frames, plan.ack_frames);
  return static_cast<uint32_t>(std::min<uint64_t>(frames, UINT32_MAX));
}

SweepResult run_sweep(host::Endpoint& endpoint, const SweepPlan& plan, const Runner& runner,
                      const host::RunHooks& hooks,
                      const std::function<void(const std::string&)>& label) {
  SweepResult sweep;
  sweep.windows = plan.windows;
  for (const uint32_t size : plan.frame_sizes) {
    for (const uint16_t window : plan.windows) {
      sweep.cells.push_back({size, window, frames_of(plan, size, window), {}});
    }
  }
  for (uint32_t repeat = 0; repeat < plan.repeat; ++repeat) {
    for (SweepCell& cell : sweep.cells) {
      label(fmt::format("{} B, ack {}, {} of {}", grouped(cell.frame_size),
                        ack_name(cell.window_frames), repeat + 1, plan.repeat));
      if (!run_cell(endpoint, plan, runner, hooks, cell, sweep)) return sweep;
    }
  }
  return sweep;
}

}  // namespace millrace::cli
