// SPDX-License-Identifier: Apache-2.0
// Where a program copies a section: the instructions that know where it is stored.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "code/boot_walk.h"

namespace millrace::profile {

struct KnownConstant {
  uint32_t function = kNone;
  size_t instruction = 0;  // in its code
  uint32_t value = 0;
};

// What the functions make, sorted by value.
std::vector<KnownConstant> constants_of(const ElfIndex& index, CodeStore* code,
                                        const std::vector<uint32_t>& functions);

// Where words of certain values stand in what the file stores.
using WordPlaces = std::unordered_map<uint32_t, std::vector<uint32_t>>;
WordPlaces find_words(const ElfIndex& index, const std::vector<uint32_t>& values);

struct CopySite {
  uint32_t function = kNone;
  std::vector<size_t> instructions;  // ascending
  uint32_t table = 0;
};

// `reached`: functions, the nearest to the entry first; the site is in the first of them that
// qualifies. A function qualifies that makes the section's load address, or the address of a table
// in the file that holds it (`words` has its places). One that also knows where the section runs
// comes before others.
std::optional<CopySite> find_copy(const ElfIndex& index, const Section& section,
                                  const std::vector<uint32_t>& reached,
                                  const std::vector<KnownConstant>& constants,
                                  const WordPlaces& words);

// The copy that begins at `site`: the loop or the call behind it.
CopyRegion copy_region(const ElfIndex& index, const CallGraph& graph, uint32_t function,
                       const std::vector<Instruction>& code, size_t site);

}  // namespace millrace::profile
