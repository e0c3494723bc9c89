// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/link/bytes.h"

namespace millrace::profile {
namespace {

using link::load_le16;
using link::load_le32;

constexpr uint32_t kHeaderBytes = 52, kProgramBytes = 32, kSectionBytes = 40;
constexpr uint32_t kPtLoad = 1, kShtNobits = 8, kShtNote = 7;
constexpr uint32_t kShfWrite = 1, kShfAlloc = 2, kShfExecinstr = 4, kShfTls = 0x400;
constexpr size_t kMaxNameBytes = 256;

std::string machine_name(uint32_t machine) {
  switch (machine) {
    case 3:
      return "x86";
    case 8:
      return "MIPS";
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

std::string ElfFile::check_kind() {
  static constexpr const char* kRemedy = "give the ELF of the firmware: 32-bit ARM or RISC-V";
  static constexpr uint8_t kMagic[] = {0x7F, 'E', 'L', 'F'};
  if (bytes_.size() < sizeof kMagic ||
      !std::equal(std::begin(kMagic), std::end(kMagic), bytes_.begin())) {
    return fmt::format("at offset 0x0: no ELF file ({})", kRemedy);
  }
  if (bytes_.size() < kHeaderBytes) {
    return fmt::format("at offset 0x0: {} bytes are no whole ELF header of {} (copy it again)",
                       bytes_.size(), kHeaderBytes);
  }
  if (bytes_[5] == 2) return fmt::format("at offset 0x5: a big-endian ELF file ({})", kRemedy);
  const uint32_t machine = load_le16(&bytes_[18]);
  if (bytes_[4] != 1 || bytes_[5] != 1) {
    return fmt::format("at offset 0x4: a {} ELF file for {} ({})",
                       bytes_[4] == 2 ? "64-bit" : "damaged", machine_name(machine), kRemedy);
  }
  if (machine != 40 && machine != 243) {
    return fmt::format("at offset 0x12: an ELF file for {} ({})", machine_name(machine), kRemedy);
  }
  machine_ = machine == 40 ? Machine::arm : Machine::riscv;
  entry_ = load_le32(&bytes_[24]);
  switch (load_le16(&bytes_[16])) {
    case 2:
      return {};
    case 1:
      return "at offset 0x10: an object file (give the linked ELF)";
    case 3:
      return "at offset 0x10: position-independent, so it has no addresses of its own (link it "
             "without -shared and -pie)";
    default:
      return fmt::format("at offset 0x10: type {} is no program (give the linked ELF)",
                         load_le16(&bytes_[16]));
  }
}

std::string ElfFile::read_segments() {
  const uint32_t table = load_le32(&bytes_[28]);
  const uint32_t count = load_le16(&bytes_[44]);
  if (count == 0) return {};
  if (load_le16(&bytes_[42]) != kProgramBytes || !inside(table, uint64_t{count} * kProgramBytes)) {
    return fmt::format(
        "at offset 0x1C: the program headers reach beyond the file's {} bytes (it "
        "is cut off: copy it again)",
        bytes_.size());
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t* at = &bytes_[table + size_t{i} * kProgramBytes];
    if (load_le32(at) != kPtLoad) continue;
    Segment segment;
    segment.offset = load_le32(at + 4);
    segment.address = load_le32(at + 8);
    segment.load_address = load_le32(at + 12);
    segment.stored_bytes = load_le32(at + 16);
    segment.memory_bytes = load_le32(at + 20);
    if (!inside(segment.offset, segment.stored_bytes)) {
      return fmt::format(
          "at offset 0x{:X}: segment {} lies outside the file's {} bytes (it is cut "
          "off: copy it again)",
          at - bytes_.data(), i, bytes_.size());
    }
    segments_.push_back(segment);
  }
  return {};
}

std::string ElfFile::read_sections() {
  const uint32_t table = load_le32(&bytes_[32]);
  const uint32_t count = load_le16(&bytes_[48]);
  if (table == 0 || count == 0) {
    return "at offset 0x20: no section headers (give the ELF as it was linked, not stripped of "
           "them)";
  }
  if (load_le16(&bytes_[46]) != kSectionBytes || !inside(table, uint64_t{count} * kSectionBytes)) {
    return fmt::format(
        "at offset 0x20: the section headers reach beyond the file's {} bytes (it "
        "is cut off: copy it again)",
        bytes_.size());
  }
  std::vector<uint32_t> names;
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t* at = &bytes_[table + size_t{i} * kSectionBytes];
    names.push_back(load_le32(at));
    ElfHeaderSection section;
    if (i > 0) {
      section.type = load_le32(at + 4);
      section.flags = load_le32(at + 8);
      section.address = load_le32(at + 12);
      section.offset = load_le32(at + 16);
      section.size = load_le32(at + 20);
      section.link = load_le32(at + 24);
      section.align = load_le32(at + 32);
      section.entry = load_le32(at + 36);
    }
    if (section.type != 0 && section.type != kShtNobits && !inside(section.offset, section.size)) {
      return fmt::format(
          "at offset 0x{:X}: section {} lies outside the file's {} bytes (it is cut "
          "off: copy it again)",
          at - bytes_.data(), i, bytes_.size());
    }
    headers_.push_back(std::move(section));
  }
  const uint32_t names_section = load_le16(&bytes_[50]);
  if (names_section >= headers_.size()) return {};
  const std::span<const uint8_t> strings = bytes_of(headers_[names_section]);
  for (uint32_t i = 0; i < count; ++i) {
    for (size_t at = names[i]; at < strings.size() && strings[at] != 0; ++at) {
      if (headers_[i].name.size() == kMaxNameBytes) break;
      const uint8_t c = strings[at];
      headers_[i].name += c > ' ' && c <= '~' ? static_cast<char>(c) : '?';
    }
  }
  return {};
}

std::string ElfFile::read(std::span<const uint8_t> bytes) {
  bytes_ = bytes;
  std::string problem = check_kind();
  if (problem.empty()) problem = read_segments();
  return problem.empty() ? read_sections() : problem;
}

std::span<const uint8_t> ElfFile::bytes_of(const ElfHeaderSection& section) const {
  if (section.type == 0 || section.type == kShtNobits) return {};
  return bytes_.subspan(section.offset, section.size);
}

std::span<const uint8_t> ElfFile::bytes_of(std::string_view name) const {
  for (const ElfHeaderSection& section : headers_) {
    if (section.name == name && !section.is_compressed()) return bytes_of(section);
  }
  return {};
}

bool ElfFile::has_compressed(std::string_view prefix) const {
  return std::any_of(headers_.begin(), headers_.end(), [&](const ElfHeaderSection& section) {
    return section.is_compressed() && section.name.starts_with(prefix);
  });
}

std::vector<Section> ElfFile::sections() const {
  std::vector<Section> out;
  for (size_t i = 0; i < headers_.size(); ++i) {
    const ElfHeaderSection& header = headers_[i];
    if ((header.flags & kShfAlloc) == 0 || header.size == 0 || header.type == 0) continue;
    Section section;
    section.name = header.name.empty() ? fmt::format("section {}", i) : header.name;
    section.address = header.address;
    section.load_address = header.address;
    // A range that wraps would be below its own start.
    section.size = std::min(header.size, UINT32_MAX - header.address);
    section.align = std::max<uint32_t>(header.align, 1);
    section.number = static_cast<uint32_t>(i);
    section.is_stored = header.type != kShtNobits;
    section.is_code = (header.flags & kShfExecinstr) != 0;
    section.is_writable = (header.flags & kShfWrite) != 0;
    section.is_thread_local = (header.flags & kShfTls) != 0;
    for (const Segment& segment : segments_) {
      if (section.is_stored && header.offset >= segment.offset &&
          header.offset - segment.offset < segment.stored_bytes) {
        section.load_address = segment.load_address + (header.offset - segment.offset);
        break;
      }
    }
    out.push_back(std::move(section));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Section& a, const Section& b) { return a.address < b.address; });
  return out;
}

Identity ElfFile::build_id() const {
  constexpr size_t kHead = 12, kMaxBytes = 32;
  static constexpr uint8_t kGnu[] = {'G', 'N', 'U', 0};
  for (const ElfHeaderSection& section : headers_) {
    if (section.type != kShtNote) continue;
    std::span<const uint8_t> notes = bytes_of(section);
    while (notes.size() >= kHead) {
      const uint64_t name = (uint64_t{load_le32(&notes[0])} + 3) & ~uint64_t{3};
      const uint64_t size = load_le32(&notes[4]);
      if (name > notes.size() - kHead || size > notes.size() - kHead - name) break;
      if (name == sizeof kGnu && std::equal(std::begin(kGnu), std::end(kGnu), &notes[kHead]) &&
          load_le32(&notes[8]) == 3 && size > 0) {
        const auto first = notes.begin() + static_cast<ptrdiff_t>(kHead + name);
        return {IdentityKind::build_id,
                {first, first + static_cast<ptrdiff_t>(std::min<uint64_t>(size, kMaxBytes))}};
      }
      const uint64_t next = kHead + name + ((size + 3) & ~uint64_t{3});
      notes = notes.subspan(static_cast<size_t>(std::min<uint64_t>(next, notes.size())));
    }
  }
  return {};
}

Identity ElfFile::image_hash() const {
  uint64_t hash = 0xCBF29CE484222325ull;
  const auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * 0x100000001B3ull; };
  const auto add32 = [&add](uint32_t value) {
    for (unsigned i = 0; i < 4; ++i) add(static_cast<uint8_t>(value >> 8 * i));
  };
  std::vector<Segment> stored;
  for (const Segment& segment : segments_) {
    if (segment.stored_bytes > 0) stored.push_back(segment);
  }
  std::stable_sort(stored.begin(), stored.end(), [](const Segment& a, const Segment& b) {
    return a.load_address < b.load_address;
  });
  for (const Segment& segment : stored) {
    add32(segment.load_address);
    add32(segment.stored_bytes);
    for (const uint8_t byte : bytes_.subspan(segment.offset, segment.stored_bytes)) add(byte);
  }
  Identity out{IdentityKind::image_hash, std::vector<uint8_t>(8)};
  link::store_le64(out.bytes.data(), hash);
  return out;
}

}  // namespace millrace::profile
