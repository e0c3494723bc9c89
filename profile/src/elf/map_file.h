// SPDX-License-Identifier: Apache-2.0
// What a linker's map file says beyond the ELF: memory regions, and the archive member that each
// input section came from. GNU ld's and lld's form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/profile/elf_index.h"

namespace millrace::profile {

struct MapFile {
  std::vector<MapRegion> regions;
  std::vector<InputSection> inputs;                      // sorted by address
  const InputSection* input_at(uint32_t address) const;  // null: none
};

inline constexpr size_t kMaxMapBytes = size_t{256} << 20;

// `sections`: what the ELF loads; input sections of others are left out. An empty string, or why
// this is no map file.
std::string parse_map(std::string_view text, const std::vector<Section>& sections, MapFile* out);

}  // namespace millrace::profile
