// SPDX-License-Identifier: Apache-2.0
// The whole loop on firmware of this project: build, measure on the virtual board, profile, place,
// predict, rebuild, check, measure again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "millrace/host/result.h"
#include "millrace/placement/check.h"
#include "millrace/placement/predict.h"

namespace millrace::cli {

struct TuneSettings {
  std::string folder;  // of a CMake build of the firmware, or within one
  std::string query;   // for the board: `host=xhci-laptop&...`, or empty
  std::string program = "usb_echo_heavy_ecm";
  std::string event = "millrace::firmware::EchoStack::echo";  // runs once for each datagram
  std::string work = "out/tune";                              // where builds, traces and lists go
  uint64_t budget = 0;
  unsigned rounds = 4;
  double least_gain = 0.01;  // of cycles an event; a round that promises less is not made
  uint32_t in_flight = 64, bytes = 32, step_ms = 100;
  // Ranks by samples of the image's own sampler, as on a board that is no virtual one, and not by
  // the trace.
  bool by_samples = false;
};

struct TuneRound {
  unsigned number = 0;  // 0: stock
  std::string image, list, trace;
  size_t entries = 0;
  uint64_t fast_bytes = 0;
  std::optional<placement::Prediction> predicted;  // none for stock; see is_usable
  double predicted_per_s = 0;                      // 0: it is not usable
  std::string samples;                             // their file, with by_samples
  // With by_samples: what the list that the trace gives for the same bytes would take.
  std::optional<placement::Prediction> predicted_by_trace;
  double cycles = 0;      // an event, measured
  double rate_per_s = 0;  // echoes
  placement::CheckReport check;
};

struct TuneResult {
  std::vector<TuneRound> rounds;
  size_t best = 0;                     // index
  std::string stopped;                 // why it ended: half a sentence
  std::optional<host::Error> trouble;  // ended it; the rounds are those that were measured before
};

struct TuneHooks {
  std::function<void(const std::string& text)> on_step;  // "round 1: building"
  std::function<void(const TuneRound& round)> on_round;
  std::function<void(const std::string& lines)> on_output;  // of a program that failed
};

// Errors: usage (folder, program, budget), protocol (a build failed, firmware without echoes),
// interrupted; behind the first round they are in the result.
host::Result<TuneResult> tune(const TuneSettings& settings, const TuneHooks& hooks);

}  // namespace millrace::cli
