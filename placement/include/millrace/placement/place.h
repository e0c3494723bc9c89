// SPDX-License-Identifier: Apache-2.0
// What to move to fast memory: from a program, a profile of it and a budget to a list, with the
// reason of each pick and of each that was nearly picked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/placement/boot.h"
#include "millrace/placement/list.h"
#include "millrace/placement/units.h"
#include "millrace/profile/attribution.h"
#include "millrace/profile/samples.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

struct PlaceOptions {
  uint64_t budget = 0;  // bytes of fast memory
  std::string region;   // of the target; empty: its first fast region for code
  Granularity granularity = Granularity::function;
  std::vector<std::string> pin;    // lines of a list: taken whatever they are worth
  std::vector<std::string> never;  // lines of a list: stay where they are
  bool pin_interrupts = false;     // handlers of the vector table and what they call directly
  uint32_t min_samples = 3;        // of a unit, to be believed
  BootOptions boot;
  profile::ProfileOptions profile;
};

enum class Why : uint8_t {
  chosen,
  pinned,
  boot,         // runs before or within the copy
  never,        // the user's word
  resident,     // its lines stay in the cache: moving it would gain nothing
  too_little,   // not enough samples to tell
  too_large,    // larger than the budget
  outweighed,   // others are worth more for these bytes
  unsampled,    // no sample
  not_movable,  // it has no name that a list could give
};
const char* name_of(Why why);

// A unit, or all code of a file or library.
struct Candidate {
  std::vector<uint32_t> units;
  std::string name;  // readable
  std::string library, file;
  uint32_t bytes = 0;   // with alignment
  uint64_t weight = 0;  // samples or cycles that fell in it
  double stall = 0;     // of these waiting for instructions, measured or estimated
  double gain = 0;      // less weight when it moves: of a chosen one alone, else in addition
  uint32_t lines = 0;   // cache lines executed
  double pressure = 0;  // mean number of lines in their sets
  Why why = Why::unsampled;
  std::string reason;          // why, in words
  std::vector<Entry> entries;  // what a list says of it
};

struct CurvePoint {
  uint64_t bytes = 0;
  double gain = 0;  // share of the busy weight that goes away
};

struct Outcome {
  std::vector<uint32_t> candidates;  // indices, chosen
  uint64_t bytes = 0;                // of sections, with alignment
  uint64_t veneer_bytes = 0;         // more, for calls out of fast memory
  double gain = 0;                   // share of the busy weight that goes away
  uint64_t total_bytes() const { return bytes + veneer_bytes; }
};

struct Placement {
  Outcome chosen;
  Outcome density;         // the baseline: most samples a byte first
  Outcome everything;      // all candidates with samples that may move, whatever they take
  std::string method;      // what found `chosen`
  bool is_proved = false;  // the knapsack behind it was solved exactly
  std::vector<Candidate> candidates;  // all but those without samples; by gain, chosen first
  uint64_t unsampled = 0;             // candidates without samples
  std::vector<CurvePoint> curve;      // in the order of what each adds, beyond the budget
  uint64_t budget = 0;
  std::string region;
  profile::Profile profile;
  double stall = 0;                         // of profile.busy(): waiting for instructions
  bool is_measured = false;                 // stalls come from a trace
  bool is_simulated = false;                // gains come from the trace's order
  bool rest_is_resident = false;            // what stays fits the instruction cache
  uint64_t lines_left = 0, lines_over = 0;  // of what stays; of these more than their sets hold
  profile::Interval gain_interval;          // of chosen.gain, 95 %, from the number of samples
  PlacementList list;
  PlacementList by_attribute, by_script;  // of it: what an attribute in the source moves, the rest
  std::vector<Entry> flash_order;         // of what stays: the order in which it is best linked
  BootClosure boot;
  std::vector<std::string> notes;
  // By the profile's cycles per event, if they are known.
  std::optional<double> cycles_after(const Outcome& outcome) const;
};

// `trace`: the bytes that `samples` were read from if they are a trace, else empty. Fails for a
// budget of 0 or larger than the region, a target without fast memory for code, a name to pin or
// leave that is not in the program, pins larger than the budget, samples of another program.
Failure place(ElfIndex* index, const profile::SampleSet& samples, std::span<const uint8_t> trace,
              const profile::Target& target, const PlaceOptions& options, Placement* out);

}  // namespace millrace::placement
