// SPDX-License-Identifier: Apache-2.0
// Firmware images: ELF32 ARM, Intel HEX, raw binary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::board {

struct Segment {
  uint32_t address = 0;  // load address (ELF: p_paddr)
  std::vector<uint8_t> bytes;
};

struct Symbol {
  uint32_t address = 0;  // Thumb bit cleared
  uint32_t size = 0;
  std::string name;
  bool is_function = false;
};

struct Image {
  std::string path;
  enum class Kind { elf, hex, binary } kind = Kind::elf;
  std::vector<Segment> segments;   // sorted by address, not overlapping
  std::vector<Symbol> symbols;     // sorted by address; empty for hex and binary
  uint32_t entry = 0;              // as the file says; 0: none
  std::vector<std::string> notes;  // what was left out and why, one sentence each
};

struct ImageError {
  std::string message;  // one sentence: file, offset, remedy
};

// Reads a file; the kind is found from its content. `binary_address`: where a raw binary stands
// (0: 0x60000000, the start of flash). Returns true and fills *out, or false and *error.
bool load_image(const std::string& path, uint32_t binary_address, Image* out, ImageError* error);

}  // namespace millrace::board
