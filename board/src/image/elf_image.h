// SPDX-License-Identifier: Apache-2.0
// An ELF file as an image: what is loaded (p_paddr), where it runs, symbols, build ID.
#pragma once

#include <span>
#include <string>

#include "image/elf_file.h"
#include "millrace/board/image.h"

namespace millrace::board {

bool is_elf(std::span<const uint8_t> bytes);

// Returns an empty string and fills *out, or one sentence.
std::string parse_elf(const std::string& path, std::span<const uint8_t> bytes, Image* out);

// Parts of parse_elf(): empty, or what is wrong, without the path.
std::string read_symbols(const ElfFile& file, Image* out);
std::string read_build_id(const ElfFile& file);  // hex digits; empty: none

}  // namespace millrace::board
