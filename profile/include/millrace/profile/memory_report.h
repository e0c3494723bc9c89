// SPDX-License-Identifier: Apache-2.0
// What of a program stands where, what is left, and what stands on top of something else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/profile/attribution.h"
#include "millrace/profile/elf_index.h"
#include "millrace/profile/target.h"

namespace millrace::profile {

struct RegionUse {
  std::string name;
  uint32_t start = 0;
  uint64_t size = 0;      // of this program: a bank split or the map file may make it smaller
  uint64_t run = 0;       // bytes of sections that run or are used there
  uint64_t stored = 0;    // bytes of sections that are stored there, for here or for elsewhere
  uint64_t occupied = 0;  // bytes that either needs, each once
  uint64_t free() const { return occupied < size ? size - occupied : 0; }
  bool is_fast = false, is_cached = false;
};

struct BankUse {
  TargetBanks banks;
  uint32_t needed = 0;    // banks for what the first region holds
  uint32_t assigned = 0;  // banks that it has
  bool is_from_symbol = false;
  uint64_t to_win_back = 0;   // bytes to take out of it, for one bank less; 0: it has none
  uint64_t left_in_last = 0;  // bytes that still fit without another bank
};

// A piece of the program: a function, an object, or what of a section has no symbol.
struct MemoryItem {
  std::string name, section, region, library, file;
  uint32_t address = 0;
  uint64_t bytes = 0;
  bool is_code = false;
  uint64_t weight = 0;  // of a profile, if one was given
};

struct Overlap {
  std::string first, second;
  uint32_t start = 0;
  uint64_t bytes = 0;
  bool is_stored = false;  // of load addresses
};

struct MemoryReport {
  Target target;
  std::vector<RegionUse> regions;
  std::optional<BankUse> banks;
  std::vector<MemoryItem> items;      // the largest first
  std::vector<Overlap> overlaps;      // sections on top of each other: always an error
  std::vector<std::string> problems;  // a region that is too full, sections outside every region
  std::vector<std::string> shared;    // regions of the map file that share addresses
  std::vector<std::string> notes;
};

// `profile`: null, or one of this program; its weights go to the items.
MemoryReport report_memory(const ElfIndex& index, const Target& target, const Profile* profile);

}  // namespace millrace::profile
