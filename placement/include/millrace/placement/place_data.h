// SPDX-License-Identifier: Apache-2.0
// Which data objects to move to fast memory for data: constants in flash, variables in cached RAM.
// Beside place(), which does it for code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/placement/boot.h"
#include "millrace/placement/list.h"
#include "millrace/placement/place.h"
#include "millrace/placement/units.h"
#include "millrace/profile/attribution.h"
#include "millrace/profile/samples.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

struct DataOptions {
  uint64_t budget = 0;             // bytes of fast memory
  std::string region;              // of the target; empty: its first fast region for data
  std::vector<std::string> pin;    // lines of a list: taken, whatever they are worth or seem to be
  std::vector<std::string> never;  // lines of a list: stay where they are
  std::vector<std::string> dma;    // the same: a DMA master uses them
  uint32_t min_samples = 3;        // of the functions that use an object, to be believed
  BootOptions boot;
  profile::ProfileOptions profile;
};

enum class DataWhy : uint8_t {
  chosen,
  pinned,
  dma,          // the user, its section or its name says that DMA uses it
  may_be_dma,   // code that drives devices refers to it, and it is aligned like a buffer of DMA
  boot,         // used before the copy that would fill it
  stack,        // a stack or a heap
  kept,         // its section was asked for by the source: what relies on that is not known
  never,        // the user's word
  too_little,   // not enough samples
  too_large,    // larger than the budget
  outweighed,   // others are worth more for these bytes
  not_movable,  // no name that a list could give
};
const char* name_of(DataWhy why);

struct DataCandidate {
  uint32_t unit = 0;
  UnitKind kind = UnitKind::constants;
  std::string name;  // readable
  std::string library, file, section, memory;
  std::string source;  // of the object file's code: a path, where one is known
  uint32_t address = 0;
  uint32_t size = 0;
  uint32_t align = 1;      // at most: as far as address and section tell
  double stall = 0;        // cycles waited for it; of samples 0
  double stall_alone = 0;  // of these, for lines of the cache that hold nothing else
  double use = 0;          // weight of the code that refers to it, its part of it
  uint32_t users = 0;      // functions that refer to it
  std::string user;        // the busiest of them
  DataWhy why = DataWhy::outweighed;
  std::string reason;  // why, in words
  Entry entry;
  // What selection counts: stall if it was measured, else use.
  double worth(bool is_measured) const { return is_measured ? stall : use; }
};

struct DataPlacement {
  std::string target, region, path;  // path: of the program
  std::string samples_path;
  uint64_t budget = 0;
  bool is_measured = false;  // stalls come from a trace, else `use` is an estimate of where to look
  bool region_is_dma = false;  // DMA masters reach the region (target file)
  profile::WeightUnit unit = profile::WeightUnit::samples;
  uint64_t busy = 0;
  double stall = 0;                       // measured: all waiting for data, wherever it is
  double stall_elsewhere = 0;             // of this, for what is no object: stacks, heap, devices
  std::vector<DataCandidate> candidates;  // with worth or a verdict by rule; the chosen first
  uint64_t unused = 0;                    // others in slow memory: nothing waits for them
  uint64_t already_fast = 0;              // objects in fast memory
  uint64_t chosen = 0;                    // count
  uint64_t bytes = 0;          // of the chosen in the order of the list, padding included
  double gain = 0;             // measured: share of busy that goes away; else 0
  uint64_t density_bytes = 0;  // the baseline: most worth a byte first
  double density_worth = 0, chosen_worth = 0;
  bool is_proved = false;         // no other selection of these is worth more
  std::vector<CurvePoint> curve;  // measured only: by worth a byte, beyond the budget too
  PlacementList list;             // of `@data`; by alignment, the largest first
  std::vector<std::string> notes;
};

// `trace`: as of place(). Failures: as of place().
Failure place_data(ElfIndex* index, const profile::SampleSet& samples,
                   std::span<const uint8_t> trace, const profile::Target& target,
                   const DataOptions& options, DataPlacement* out);

// How many of `budget` bytes are best given to data when code is worth `code` for its bytes.
uint64_t best_data_share(const std::vector<CurvePoint>& code, const std::vector<CurvePoint>& data,
                         uint64_t budget);

}  // namespace millrace::placement
