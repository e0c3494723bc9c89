// SPDX-License-Identifier: Apache-2.0
// What a program would take with other code in fast memory: its trace, run through a model of the
// instruction cache and of what is behind it, before anything is rebuilt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/placement/list.h"
#include "millrace/placement/units.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

struct PredictOptions {
  // A function that runs once an event: the trace counts from its first to its last call. Empty:
  // the whole trace.
  std::string event;
  uint64_t events = 0;  // in the whole trace; 0: counted by `event`, else the trace is one event
  uint32_t seeds = 4;   // runs with other pseudo-random replacements
};

// Cycles an event.
struct Cycles {
  double busy = 0;     // awake
  double fetch = 0;    // of these, waiting for instructions
  double misses = 0;   // of the instruction cache
  double veneers = 0;  // calls through a veneer
};

struct Prediction {
  uint64_t events = 0;
  uint64_t visits = 0;      // blocks of the trace that were run
  bool is_partial = false;  // the trace has more than were run
  Cycles recorded;          // as the trace has it
  Cycles model;             // the same placement by the model, before it is scaled to the trace
  Cycles predicted;
  double low = 0, high = 0;  // of predicted.busy
  bool is_usable = false;    // the model repeats the trace to kUsableError; else nothing is claimed
  uint64_t moved_bytes = 0;  // code that the list moves
  uint64_t lines_before = 0, lines_after = 0;  // distinct cached lines that the trace executes
  uint32_t core_khz = 0;
  std::vector<std::string> notes;
};

// How far `predicted.busy` was off where it was checked: docs/placement.md has the runs.
inline constexpr double kValidatedError = 0.05;
// A model that is further off on the trace as it is says nothing of another placement.
inline constexpr double kUsableError = 0.2;

// Fails: a trace that is damaged, of another program or without an event; a target without an
// instruction cache; an `event` that is no function (usage).
Failure predict(ElfIndex* index, const profile::Target& target, std::span<const uint8_t> trace,
                const PlacementList& list, const PredictOptions& options, Prediction* out);

}  // namespace millrace::placement
