// SPDX-License-Identifier: Apache-2.0
// What a program runs on: memories, shared banks, instruction cache. Data files,
// spec/target_file.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/profile/elf_index.h"
#include "millrace/profile/error.h"

namespace millrace::profile {

struct TargetRegion {
  std::string name;
  uint32_t start = 0;
  uint64_t size = 0;
  bool is_fast = false;    // as fast as the core, needs no cache
  bool is_cached = false;  // code in it is fetched through the instruction cache
  bool is_code = false;    // meant for code
  bool is_data = false;    // meant for data
  bool is_dma = false;     // bus masters other than the core reach it
  uint64_t end() const { return start + size; }
};

// Memory that is dealt out between regions in banks of one size (FlexRAM).
struct TargetBanks {
  uint32_t count = 0;
  uint32_t bytes = 0;
  std::vector<std::string> regions;  // the first gets what it uses, the last the rest
  std::string symbol;                // the linker script's number of banks of the first region
};

struct TargetCache {
  uint32_t line_bytes = 0, sets = 0, ways = 0;
  uint32_t lines() const { return sets * ways; }
};

// Registers of the device that reads a memory. While code drives it, as to write a flash, nothing
// can be fetched from that memory.
struct TargetController {
  std::string region;
  uint32_t start = 0;
  uint64_t size = 0;
  uint64_t end() const { return start + size; }
};

struct Target {
  std::string name;
  std::string about;
  std::vector<TargetRegion> regions;
  std::vector<TargetController> controllers;
  std::optional<TargetBanks> banks;
  std::optional<TargetCache> cache;
  // All of these hold for an ELF that is taken for this target; none: never chosen by itself.
  std::vector<std::string> when_symbols, when_sections;
  std::vector<uint32_t> when_addresses;

  // Null if no region holds the address.
  const TargetRegion* region_at(uint32_t address) const;
  const TargetRegion* region(const std::string& name) const;
};

inline constexpr size_t kMaxTargetBytes = size_t{1} << 16;

// `path` names the file in sentences.
Failure parse_target(const std::string& path, std::string_view text, Target* out);

// Those that come with the program, in the order in which they are tried.
const std::vector<Target>& builtin_targets();
std::string builtin_target_text(const std::string& name);  // empty: there is none

// `name`: a built-in target, a file, or empty: chosen from the ELF, `generic` if none fits.
Failure find_target(const std::string& name, const ElfIndex& index, Target* out);

}  // namespace millrace::profile
