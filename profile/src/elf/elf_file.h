// SPDX-License-Identifier: Apache-2.0
// The headers of a linked ELF32 program, little-endian, ARM or RISC-V (System V gABI chapter 4).
// After read() every range that a header names lies inside the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/profile/elf_index.h"

namespace millrace::profile {

struct ElfHeaderSection {
  std::string name;
  uint32_t type = 0, flags = 0, address = 0, offset = 0, size = 0, link = 0, align = 0, entry = 0;
  bool is_compressed() const { return (flags & 0x800u) != 0; }
};

class ElfFile {
 public:
  // `bytes` must outlive this. An empty string, or what is wrong: `at offset 0x12: ...`.
  std::string read(std::span<const uint8_t> bytes);

  Machine machine() const { return machine_; }
  uint32_t entry() const { return entry_; }  // e_entry
  const std::vector<ElfHeaderSection>& headers() const { return headers_; }
  const std::vector<Segment>& segments() const { return segments_; }
  // Of a section in the file; empty for .bss and the like.
  std::span<const uint8_t> bytes_of(const ElfHeaderSection& section) const;
  // The section of that name; empty if there is none or its bytes are compressed.
  std::span<const uint8_t> bytes_of(std::string_view name) const;
  bool has_compressed(std::string_view prefix) const;
  // The SHF_ALLOC sections in the order of their addresses.
  std::vector<Section> sections() const;
  Identity build_id() const;
  Identity image_hash() const;

 private:
  std::string check_kind();
  std::string read_segments();
  std::string read_sections();
  bool inside(uint64_t offset, uint64_t size) const {
    return size <= bytes_.size() && offset <= bytes_.size() - size;
  }

  std::span<const uint8_t> bytes_;
  Machine machine_ = Machine::arm;
  uint32_t entry_ = 0;
  std::vector<ElfHeaderSection> headers_;
  std::vector<Segment> segments_;
};

}  // namespace millrace::profile
