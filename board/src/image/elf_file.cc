// SPDX-License-Identifier: Apache-2.0
#include "image/elf_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/bytes.h"

namespace millrace::board {
namespace {

constexpr uint32_t kHeaderBytes = 52;
constexpr uint32_t kProgramBytes = 32;
constexpr uint32_t kSectionBytes = 40;
constexpr uint32_t kMaxPrograms = 512;
constexpr size_t kMaxNameBytes = 64;
constexpr uint16_t kEmArm = 40;
constexpr uint16_t kEtExec = 2;

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case 3:
      return "x86";
    case 8:
      return "MIPS";
    case 20:
    case 21:
      return "PowerPC";
    case kEmArm:
      return "ARM";
    case 62:
      return "x86-64";
    case 83:
      return "AVR";
    case 94:
      return "Xtensa";
    case 183:
      return "AArch64";
    case 243:
      return "RISC-V";
    default:
      return fmt::format("machine {}", machine);
  }
}

}  // namespace

uint16_t ElfFile::half(uint64_t offset) const {
  return static_cast<uint16_t>(load_le(&bytes_[offset], 2));
}

uint32_t ElfFile::word(uint64_t offset) const { return load_le(&bytes_[offset], 4); }

std::string ElfFile::check_kind() const {
  static constexpr const char* kRemedy = "give the firmware's ELF for the Teensy 4.1: 32-bit ARM";
  if (bytes_.size() < kHeaderBytes) {
    return fmt::format(
        "at offset 0x0: {} bytes are no whole ELF header of {} (the file is cut short: copy it "
        "again)",
        bytes_.size(), kHeaderBytes);
  }
  if (bytes_[5] == 2) return fmt::format("at offset 0x5: a big-endian ELF file ({})", kRemedy);
  if (bytes_[5] != 1) {
    return fmt::format("at offset 0x5: byte order {} is neither 1 nor 2 (copy the file again)",
                       bytes_[5]);
  }
  const std::string machine = machine_name(half(18));
  if (bytes_[4] == 2) {
    return fmt::format("at offset 0x4: a 64-bit ELF file for {} ({})", machine, kRemedy);
  }
  if (bytes_[4] != 1) {
    return fmt::format("at offset 0x4: class {} is neither 1 nor 2 (copy the file again)",
                       bytes_[4]);
  }
  if (half(18) != kEmArm) {
    return fmt::format("at offset 0x12: an ELF file for {} ({})", machine, kRemedy);
  }
  switch (half(16)) {
    case kEtExec:
      return {};
    case 1:
      return "at offset 0x10: an object file (give the linked ELF)";
    case 3:
      return "at offset 0x10: position-independent, so it has no address of its own (link it "
             "without -shared and -pie)";
    case 4:
      return "at offset 0x10: a core dump (give the ELF of the program)";
    default:
      return fmt::format("at offset 0x10: type {} is no executable (give the linked ELF)",
                         half(16));
  }
}

std::string ElfFile::read_programs() {
  const uint32_t table = word(28);
  const uint32_t count = half(44);
  headers_end_ = kHeaderBytes;
  if (count == 0) return "at offset 0x2C: no program headers (give the linked ELF)";
  if (half(42) != kProgramBytes) {
    return fmt::format("at offset 0x2A: program headers of {} bytes, not {} (link it again)",
                       half(42), kProgramBytes);
  }
  if (count > kMaxPrograms) {
    return fmt::format("at offset 0x2C: {} program headers, more than {} (link it again)", count,
                       kMaxPrograms);
  }
  if (!inside(table, uint64_t{count} * kProgramBytes)) {
    return fmt::format(
        "at offset 0x{:X}: {} program headers reach beyond the file's {} bytes (the file is cut "
        "short: copy it again)",
        table, count, bytes_.size());
  }
  if (table <= kHeaderBytes) {
    headers_end_ = std::max(headers_end_, table + count * kProgramBytes);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = table + uint64_t{i} * kProgramBytes;
    const ProgramHeader program = {word(at),      word(at + 4),  word(at + 8), word(at + 12),
                                   word(at + 16), word(at + 20), word(at + 24)};
    programs_.push_back(program);
    if (program.type == 0) continue;
    if (!inside(program.offset, program.filesz)) {
      return fmt::format(
          "at offset 0x{:X}: segment {} takes {} bytes from offset 0x{:X}, beyond the file's {} "
          "(the file is cut short: copy it again)",
          at, i, program.filesz, program.offset, bytes_.size());
    }
    if (program.type != kPtLoad) continue;
    if (program.filesz > program.memsz) {
      return fmt::format(
          "at offset 0x{:X}: segment {} stores {} bytes for {} of memory (link it again)", at, i,
          program.filesz, program.memsz);
    }
    constexpr uint64_t kSpace = uint64_t{1} << 32;
    if (uint64_t{program.paddr} + program.filesz > kSpace ||
        uint64_t{program.vaddr} + program.memsz > kSpace) {
      return fmt::format(
          "at offset 0x{:X}: segment {} reaches beyond the 32-bit address space (link it again)",
          at, i);
    }
  }
  return {};
}

std::string ElfFile::read_sections() {
  const uint32_t table = word(32);
  const uint32_t count = half(48);
  if (table == 0 || count == 0) return {};  // stripped by sstrip and the like; boots all the same
  if (half(46) != kSectionBytes) {
    return fmt::format("at offset 0x2E: section headers of {} bytes, not {} (link it again)",
                       half(46), kSectionBytes);
  }
  if (!inside(table, uint64_t{count} * kSectionBytes)) {
    return fmt::format(
        "at offset 0x{:X}: {} section headers reach beyond the file's {} bytes (the file is cut "
        "short: copy it again)",
        table, count, bytes_.size());
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = table + uint64_t{i} * kSectionBytes;
    const SectionHeader section = {word(at),      word(at + 4),  word(at + 8),  word(at + 12),
                                   word(at + 16), word(at + 20), word(at + 24), word(at + 36)};
    if (section.type != 0 && section.has_bytes() && !inside(section.offset, section.size)) {
      return fmt::format(
          "at offset 0x{:X}: section {} takes {} bytes from offset 0x{:X}, beyond the file's {} "
          "(the file is cut short: copy it again)",
          at, i, section.size, section.offset, bytes_.size());
    }
    sections_.push_back(section);
  }
  // Section 0 is all zero but where counts overflow; no range of it is used.
  sections_[0] = SectionHeader{};
  names_section_ = half(50);
  return {};
}

std::string ElfFile::read(std::span<const uint8_t> bytes) {
  bytes_ = bytes;
  std::string problem = check_kind();
  if (!problem.empty()) return problem;
  entry_ = word(24);
  problem = read_programs();
  return problem.empty() ? read_sections() : problem;
}

std::string ElfFile::section_name(size_t index) const {
  std::string name;
  if (names_section_ < sections_.size() && sections_[names_section_].type == kShtStrtab) {
    const std::span<const uint8_t> names = bytes_of(sections_[names_section_]);
    for (size_t i = sections_[index].name; i < names.size() && names[i] != 0; ++i) {
      if (name.size() == kMaxNameBytes) break;
      name += names[i] > ' ' && names[i] <= '~' ? static_cast<char>(names[i]) : '?';
    }
  }
  return name.empty() ? fmt::format("section {}", index) : name;
}

}  // namespace millrace::board
