// SPDX-License-Identifier: Apache-2.0
// The inverse of place(): which code to push out of fast memory so that room comes back, for
// programs whose linker script puts all code there (Teensyduino).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/placement/place.h"

namespace millrace::placement {

struct EvictOptions {
  uint64_t bytes = 0;              // to win back; 0: what gives a bank back (FlexRAM), and a little
  std::string region;              // empty: the target's first fast region for code
  std::vector<std::string> never;  // lines of a list: stay in fast memory
  profile::ProfileOptions profile;
};

struct Evicted {
  uint32_t unit = 0;  // the first of them: clones go along
  std::string name;   // readable
  std::string library, file;
  uint32_t line = 0;
  uint32_t bytes = 0;
  uint64_t weight = 0;
  uint32_t lines = 0;  // cache lines executed
  // An attribute can be written; false: of the toolchain's archives, inline, a template, made by
  // the compiler, or the file is not here.
  bool has_source = true;
  Entry entry;
};

struct Eviction {
  std::string region, to;     // memories
  uint64_t wanted = 0;        // bytes
  uint64_t bytes = 0;         // won, less veneer_bytes; at least `wanted` if is_enough
  uint64_t veneer_bytes = 0;  // come in, for what stays to reach what goes
  bool is_enough = false;
  uint64_t weight = 0;     // of what goes: it will run from flash
  double share = 0;        // of the busy weight
  bool fits_cache = true;  // the lines that were executed of what goes fit the cache
  bool is_proved = false;  // no other choice of at least as many bytes has less weight
  uint32_t banks_before = 0, banks_after = 0;  // of the region; 0: no banks
  uint32_t bank_bytes = 0;
  std::vector<Evicted> evicted;      // fewest first: largest
  uint64_t kept_for_interrupts = 0;  // functions that were left out because handlers call them
  uint64_t kept_for_controller = 0;  // others, that run while the slow memory cannot be read
  std::vector<std::string> drivers;  // of these, readable: those that drive its controller
  PlacementList list;
  profile::Profile profile;
  std::vector<std::string> notes;
};

// Functions without a sample go first, the largest ones, so that few need an attribute; then those
// that cost least; what no attribute can move behind what one can. Handlers of the vector table,
// those that are installed while the program runs, what they call, code that drives the controller
// of the slow memory, all that it calls, and sections that the source put there on purpose
// (.fastrun) stay. Failures as of place(), but for the budget's.
Failure evict(ElfIndex* index, const profile::SampleSet& samples, const profile::Target& target,
              const EvictOptions& options, Eviction* out);

}  // namespace millrace::placement
