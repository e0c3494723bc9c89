// SPDX-License-Identifier: Apache-2.0
// Frame sizes x acknowledgements x repeats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/link_options.h"
#include "cli/statistics.h"
#include "cli/table.h"

namespace millrace::cli {

struct SweepPlan {
  std::vector<uint32_t> frame_sizes = {128, 256, 512, 1024, 2048, 4096};
  std::vector<uint16_t> windows = {0, 1};  // none, each
  uint32_t repeat = 3;
  uint64_t bytes = uint64_t{16} << 20;  // of a run that is not acknowledged
  uint32_t ack_frames = 4096;           // most frames of a run that is
  host::RunSettings settings;           // everything else
};

// What is kept of a run: a sweep's memory does not depend on how much a run found.
struct SweepRun {
  double bytes_per_s = 0;
  double frames_per_s = 0;
  double reads_per_s = 0;
  uint64_t faults = 0;
  bool failed = false;
  host::RunEnd end = host::RunEnd::complete;
  host::Verdict verdict;
  std::vector<std::string> first_faults;  // at most 3 sentences
};

struct SweepCell {
  uint32_t frame_size = 0;
  uint16_t window_frames = 0;
  uint32_t frame_count = 0;  // of each run
  std::vector<SweepRun> runs;

  size_t failed() const;
  // Of the runs that passed, bytes a second.
  Statistics rate() const;
  // `36.9`, `36.9*` if a run failed, `-` if none passed, empty if none was made.
  std::string mark() const;
  // Of the first run that failed, or else of the last; null without runs.
  const SweepRun* telling_run() const;
};

struct SweepResult {
  std::vector<SweepCell> cells;  // by frame size, then acknowledgement, as planned
  std::vector<uint16_t> windows;
  std::optional<host::PortIdentity> port;  // as the first run saw it
  std::optional<host::RunResult> first;
  std::optional<host::Error> error;  // what ended the sweep
  // The run that the user ended, in words. It had no fault until then, so it neither passed nor
  // failed and stands in no cell. Empty: none.
  std::string interrupted;
  int code = 0;
};

// Frames of a run in the cell of this frame size and window.
uint32_t frames_of(const SweepPlan& plan, uint32_t frame_size, uint16_t window_frames);

// Repeats are the outer loop: what drifts during a sweep then spreads over all cells. Ends early
// when interrupted, when the device went away, does not answer or refuses, or with an error.
// `label` is told what comes next.
SweepResult run_sweep(host::Endpoint& endpoint, const SweepPlan& plan, const Runner& runner,
                      const host::RunHooks& hooks,
                      const std::function<void(const std::string&)>& label);

Table sweep_table(const SweepResult& sweep);    // frame sizes down, acknowledgements across
Table sweep_details(const SweepResult& sweep);  // a row a cell
Table sweep_csv(const SweepResult& sweep);      // the same in full precision, plain numbers
// The faults and verdicts of cells that failed; empty if none did.
std::string sweep_failures(const SweepResult& sweep);
Json to_json(const SweepResult& sweep);

}  // namespace millrace::cli
