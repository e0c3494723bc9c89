// SPDX-License-Identifier: Apache-2.0
// The headers of an ELF32 file for ARM, little-endian, linked to fixed addresses (System V gABI
// chapter 4; ELF for the Arm Architecture, IHI 0044). After read() every range that a header names
// lies inside the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace millrace::board {

inline constexpr uint32_t kPtLoad = 1;
inline constexpr uint32_t kShtSymtab = 2;
inline constexpr uint32_t kShtStrtab = 3;
inline constexpr uint32_t kShtNote = 7;
inline constexpr uint32_t kShtNobits = 8;
inline constexpr uint32_t kShfAlloc = 2;
inline constexpr uint32_t kShfExecinstr = 4;

struct ProgramHeader {
  uint32_t type, offset, vaddr, paddr, filesz, memsz, flags;
};

struct SectionHeader {
  uint32_t name, type, flags, addr, offset, size, link, entsize;
  bool in_memory() const { return (flags & kShfAlloc) != 0 && size > 0; }
  bool has_bytes() const { return type != kShtNobits; }
};

class ElfFile {
 public:
  // `bytes` must outlive this. Returns an empty string, or what is wrong: `at offset 0x12: ...`.
  std::string read(std::span<const uint8_t> bytes);

  uint32_t entry() const { return entry_; }
  const std::vector<ProgramHeader>& programs() const { return programs_; }
  const std::vector<SectionHeader>& sections() const { return sections_; }
  // Of a range that read() has checked.
  std::span<const uint8_t> bytes_of(const ProgramHeader& program) const {
    return bytes_.subspan(program.offset, program.filesz);
  }
  std::span<const uint8_t> bytes_of(const SectionHeader& section) const {
    return bytes_.subspan(section.offset, section.has_bytes() ? section.size : 0);
  }
  // Printable, at most 64 characters; "section 5" if the file has no name for it.
  std::string section_name(size_t index) const;
  // Where the ELF's own headers at the start of the file end.
  uint32_t headers_end() const { return headers_end_; }

 private:
  uint16_t half(uint64_t offset) const;
  uint32_t word(uint64_t offset) const;
  bool inside(uint64_t offset, uint64_t size) const {
    return size <= bytes_.size() && offset <= bytes_.size() - size;
  }
  std::string check_kind() const;
  std::string read_programs();
  std::string read_sections();

  std::span<const uint8_t> bytes_;
  uint32_t entry_ = 0;
  uint32_t names_section_ = 0;
  uint32_t headers_end_ = 0;
  std::vector<ProgramHeader> programs_;
  std::vector<SectionHeader> sections_;
};

}  // namespace millrace::board
