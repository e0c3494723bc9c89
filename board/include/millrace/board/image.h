// SPDX-License-Identifier: Apache-2.0
// Firmware images: ELF32 ARM, Intel HEX, raw binary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace millrace::board {

inline constexpr size_t kMaxImageBytes = size_t{64} << 20;  // of a file, and of what it loads
inline constexpr size_t kMaxImageSegments = 4096;

struct Segment {
  uint32_t address = 0;  // load address (ELF: p_paddr)
  std::vector<uint8_t> bytes;
};

struct Symbol {
  uint32_t address = 0;  // of a function: Thumb bit cleared
  uint32_t size = 0;
  std::string name;
  bool is_function = false;
};

// A part of the address space that an ELF speaks of: its SHF_ALLOC sections, or its PT_LOAD
// segments ("segment 3") if the section headers were stripped.
struct Section {
  std::string name;
  uint32_t run_address = 0;   // sh_addr (VMA)
  uint32_t load_address = 0;  // where its bytes are stored (LMA); 0 if not is_stored
  uint32_t size = 0;
  bool is_stored = false;  // false: zero-filled or left alone at start (.bss, NOLOAD)
  bool is_code = false;
};

struct Image {
  std::string path;
  enum class Kind { elf, hex, binary } kind = Kind::elf;
  std::vector<Segment> segments;   // sorted by address, not overlapping, none empty
  std::vector<Section> sections;   // sorted by run address; empty for hex and binary
  std::vector<Symbol> symbols;     // sorted by address; empty for hex and binary
  uint32_t entry = 0;              // as the file says; 0: none
  std::string build_id;            // hex digits of the GNU build ID; empty: none
  std::vector<std::string> notes;  // what was left out and why, one sentence each
};

struct ImageError {
  std::string message;      // one sentence: file, offset or line, remedy
  bool unreadable = false;  // the file is not there or cannot be read; its content was not judged
  bool bad_option = false;  // of Board::create(): BoardOptions has a wrong value, see the message
};

// Reads a regular file of 1 byte to kMaxImageBytes; the kind is found from its content: the ELF
// magic; a first line that is `:` and hex digits (HEX); anything else is a binary.
// `binary_address`: where a raw binary stands (0: 0x60000000, the start of flash). Returns true
// and fills *out, or false and *error; then *out is empty.
bool load_image(const std::string& path, uint32_t binary_address, Image* out, ImageError* error);

// The same for a file's bytes; `path` only names them in sentences.
bool parse_image(const std::string& path, std::span<const uint8_t> bytes, uint32_t binary_address,
                 Image* out, ImageError* error);

}  // namespace millrace::board
