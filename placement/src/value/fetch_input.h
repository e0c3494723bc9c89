// SPDX-License-Identifier: Apache-2.0
// Where code was fetched from slow memory through the instruction cache, and how long it was waited
// for: measured by a trace, or estimated from samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "millrace/placement/units.h"
#include "millrace/profile/attribution.h"

namespace millrace::placement {

// An address that was executed.
struct Spot {
  uint32_t pc = 0;
  uint32_t unit = profile::kNone;  // kNone: no unit's
  double stall = 0;                // weight that waited for its line
  double weight = 0;               // all
  double chance = 1;               // that its line runs; less than 1: it has no sample
};

struct UnitUse {
  uint64_t weight = 0;    // samples or cycles, wherever it stands
  double stall = 0;       // of these, waiting for instructions
  uint64_t handlers = 0;  // of weight, while an exception was active
};

struct FetchInput {
  std::vector<Spot> spots;       // of cached memory that is not fast; sorted by pc
  std::vector<UnitUse> by_unit;  // by unit
  double stall = 0;              // all spots
  double unseen_lines = 0;       // that run, without a sample, by estimate, and are no spots
  bool is_measured = false;      // stalls come from a trace
  bool is_counted = false;       // weights are counts of samples, as uncertain as counts are
};

// `trace`: the bytes that the samples of `profile` were read from, if they are a trace; else empty.
FetchInput read_fetches(const profile::Profile& profile, const Units& units, const ElfIndex& index,
                        std::span<const uint8_t> trace);

// Index of the unit that holds an address; kNone: none does.
uint32_t unit_at(const Units& units, uint32_t address);

}  // namespace millrace::placement
