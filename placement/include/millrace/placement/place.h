// SPDX-License-Identifier: Apache-2.0
// What to move to fast memory: from a program, a profile of it and a budget to a list, with the
// reason of each pick and of each that was nearly picked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/placement/boot.h"
#include "millrace/placement/list.h"
#include "millrace/placement/units.h"
#include "millrace/profile/samples.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

struct PlaceOptions {
  uint64_t budget = 0;  // bytes of fast memory
  std::string region;   // of the target; empty: its first fast region for code
  Granularity granularity = Granularity::function;
  std::vector<std::string> pin;    // names, as in a list: taken whatever they are worth
  std::vector<std::string> never;  // names: stay where they are
  bool pin_interrupts = false;     // handlers of the vector table and what they call directly
  uint32_t min_samples = 5;        // of a unit, to be believed
  BootOptions boot;
  std::vector<std::string> idle_functions;
  bool accept_mismatch = false;
};

enum class Why : uint8_t {
  chosen,
  pinned,
  boot,         // runs before or within the copy
  never,        // the user's word
  is_fast,      // stands in fast memory already
  resident,     // its lines stay in the cache: moving it would gain nothing
  too_little,   // not enough samples to tell
  too_large,    // larger than the budget that is left
  outweighed,   // others are worth more for these bytes
  unsampled,    // no sample
  not_movable,  // no section of its own
};
const char* name_of(Why why);

// One candidate: a unit, or all units of a file or library.
struct Candidate {
  std::vector<uint32_t> units;
  std::string name;  // readable
  std::string library, file;
  uint32_t bytes = 0;   // with alignment
  uint64_t weight = 0;  // samples or cycles that fell in it
  uint64_t stall = 0;   // of these waiting for instructions, measured or estimated
  double gain = 0;      // expected cycles or samples less, with the others chosen
  Why why = Why::unsampled;
  std::string reason;  // sentence
};

// Gain against bytes when candidates are taken in the order of what each adds.
struct CurvePoint {
  uint64_t bytes = 0;
  double gain = 0;  // of all weight, 0..1
  uint32_t candidate = 0;
};

struct Outcome {
  std::vector<uint32_t> candidates;  // chosen
  uint64_t bytes = 0;                // sections with alignment
  uint64_t veneers = 0;              // more bytes, for calls out of fast memory
  double gain = 0;  // share of busy weight that goes away, by the best model there is
};

struct Placement {
  Outcome chosen;
  Outcome density;        // the baseline: densest samples first
  Outcome everything;     // all that may move, whatever it takes
  std::string chosen_by;  // which method found it
  bool is_exact = false;
  std::vector<Candidate> candidates;  // by gain, the largest first
  std::vector<CurvePoint> curve;
  uint64_t budget = 0;
  std::string region, from;
  uint64_t busy = 0, stall = 0;        // weight of the profile
  bool is_traced = false;              // stalls are measured, not estimated
  bool rest_is_resident = false;       // what stays fits the instruction cache
  double gain_low = 0, gain_high = 0;  // 95 %, from the number of samples
  PlacementList list;
  BootClosure boot;
  std::vector<std::string> notes;
};

// Fails for a budget that is 0 or larger than the region, a target without fast memory, a name to
// pin or leave that is not there, samples of another program.
Failure place(ElfIndex* index, const profile::SampleSet& samples, const profile::Target& target,
              const PlaceOptions& options, Placement* out);

}  // namespace millrace::placement
