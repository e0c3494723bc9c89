// SPDX-License-Identifier: Apache-2.0
// Whether a linked program is what a placement list asked for, and whether it can start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/placement/list.h"
#include "millrace/profile/attribution.h"
#include "millrace/profile/boot_copy.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

// In the order of what is worse.
enum class CheckStatus : uint8_t {
  skipped,  // there is nothing to check, or what it needs was not given
  passed,
  warned,  // slower or less certain than it could be
  failed,
};
const char* name_of(CheckStatus status);  // "skipped", "ok", "warning", "FAILED"

struct CheckFinding {
  CheckStatus status = CheckStatus::failed;  // passed: only told
  std::string text;                          // one sentence
  std::string symbol;                        // what it is about, if one thing
  uint32_t address = 0;
  double share = 0;  // of the profile's busy weight; 0: unknown
};

struct CheckResult {
  std::string name;  // "landed", "extra", ...
  CheckStatus status = CheckStatus::skipped;
  std::string summary;                 // half a sentence
  std::vector<CheckFinding> findings;  // the worst first
};

struct FastUse {
  std::string region;
  uint64_t bytes = 0;      // of sections that run there
  uint64_t functions = 0;  // bytes
  uint64_t veneers = 0;
  uint64_t data = 0;     // tables and objects
  uint64_t padding = 0;  // alignment, literal pools that no symbol covers
  uint64_t before = 0;   // bytes of the program before; 0: not given
  uint64_t others = 0;   // without it: bytes of functions that are there without the list
  uint64_t budget = 0;   // 0: none
};

struct CheckReport {
  std::vector<CheckResult> checks;
  FastUse fast;
  std::vector<std::string> notes;
  CheckStatus worst() const;
};

struct CheckOptions {
  const PlacementList* list = nullptr;  // null: nothing was asked for
  bool is_evicted = false;              // the list is of evict(): what it means must be elsewhere
  uint64_t budget = 0;                  // of the region; 0: none
  std::string region;                   // empty: the first fast one that is meant for code
  // The program without the list: what stood there may stand there, and is not in the budget. Null:
  // not given. Then what its source put there (the map says that of an input section that is no
  // .text) is not in the budget either; nor is, without a map, what the list does not mean.
  ElfIndex* before = nullptr;
  const profile::Profile* profile = nullptr;  // what is hot; null: not known
  std::vector<std::string> allow;             // symbols that may stand there unasked
  bool allow_missing = false;                 // entries without a function are no failure
  double hot_share = 0.001;                   // of busy weight, from which a function is hot
  profile::BootOptions boot;
};

// Fails (usage) for a region that is not there or not fast, and names of `boot` that are no
// functions.
Failure check(ElfIndex* index, const profile::Target& target, const CheckOptions& options,
              CheckReport* out);

}  // namespace millrace::placement
