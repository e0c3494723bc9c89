// SPDX-License-Identifier: Apache-2.0
// What an ELF puts where. Loaded is what PT_LOAD segments store, at p_paddr: that is what objcopy
// writes into a HEX file, and what a debugger loads.
//
// A linker that has room for it maps the ELF's own headers too: the Teensy core's ELF begins with a
// PT_LOAD of the headers alone at 0x20000000, which is the segment of .bss. Such bytes are no
// program: a segment that begins inside the headers is loaded from its first section on, or not at
// all if it has none.
#include "image/elf_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "millrace/board/memory_map.h"

namespace millrace::board {
namespace {

constexpr size_t kMaxNotes = 16;

struct Loaded {
  uint32_t address;
  uint32_t number;  // of the program header
  std::span<const uint8_t> bytes;
};

void add_note(Image* out, std::string text) {
  if (out->notes.size() < kMaxNotes) out->notes.push_back(std::move(text));
}

// True if the section's bytes are those of the segment, at the same distance from its start.
bool holds(const ProgramHeader& program, const SectionHeader& section) {
  if (!section.has_bytes()) return false;
  return section.offset >= program.offset && section.size <= program.filesz &&
         section.offset - program.offset <= program.filesz - section.size &&
         section.addr - program.vaddr == section.offset - program.offset;
}

// How many bytes at the start of the segment are the ELF's own headers; filesz: all.
uint32_t header_bytes(const ElfFile& file, const ProgramHeader& program) {
  if (program.offset >= file.headers_end()) return 0;
  if (file.sections().empty()) {
    const bool only_headers = program.filesz <= file.headers_end() - program.offset;
    return only_headers ? program.filesz : 0;
  }
  uint32_t first = program.filesz;
  for (const SectionHeader& section : file.sections()) {
    if (section.in_memory() && holds(program, section)) {
      first = std::min(first, section.offset - program.offset);
    }
  }
  return first;
}

// What of the segment is loaded; nothing: a add_note says why.
std::optional<Loaded> loaded_part(const ElfFile& file, uint32_t number, Image* out) {
  const ProgramHeader& program = file.programs()[number];
  if (program.type != kPtLoad || program.filesz == 0) return std::nullopt;
  const uint32_t skipped = header_bytes(file, program);
  if (skipped == program.filesz) {
    add_note(out,
             fmt::format("segment {} at 0x{:08X} holds only the ELF's own headers, {} bytes: left "
                         "out",
                         number, program.paddr, program.filesz));
    return std::nullopt;
  }
  if (skipped > 0) {
    add_note(out,
             fmt::format("segment {} at 0x{:08X} begins with the ELF's own headers: its first {} "
                         "bytes were left out",
                         number, program.paddr, skipped));
  }
  const uint32_t address = program.paddr + skipped;
  if (memory_area(address) == nullptr) {
    add_note(out,
             fmt::format("segment {}, {} bytes at 0x{:08X}, lies in no memory of the board: left "
                         "out",
                         number, program.filesz - skipped, address));
    return std::nullopt;
  }
  return Loaded{address, number, file.bytes_of(program).subspan(skipped)};
}

std::string read_segments(const ElfFile& file, Image* out) {
  std::vector<Loaded> parts;
  uint64_t total = 0;
  for (uint32_t number = 0; number < file.programs().size(); ++number) {
    const std::optional<Loaded> part = loaded_part(file, number, out);
    if (!part) continue;
    parts.push_back(*part);
    total += part->bytes.size();
  }
  if (total > kMaxImageBytes) {
    return fmt::format("segments of {} bytes in all, more than {} MB (link it again)", total,
                       kMaxImageBytes >> 20);
  }
  if (parts.empty()) return "nothing in it is loaded (give the firmware's linked ELF)";
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Loaded& a, const Loaded& b) { return a.address < b.address; });
  const Loaded* before = nullptr;
  for (const Loaded& part : parts) {
    if (before != nullptr && part.address - before->address < before->bytes.size()) {
      return fmt::format(
          "segments {} and {} both store the byte at 0x{:08X} (give each section its own load "
          "address)",
          std::min(before->number, part.number), std::max(before->number, part.number),
          part.address);
    }
    out->segments.push_back({part.address, {part.bytes.begin(), part.bytes.end()}});
    before = &part;
  }
  return {};
}

void read_sections(const ElfFile& file, Image* out) {
  for (size_t i = 0; i < file.sections().size(); ++i) {
    const SectionHeader& section = file.sections()[i];
    if (!section.in_memory()) continue;
    Section made;
    made.name = file.section_name(i);
    made.run_address = section.addr;
    made.size = section.size;
    made.is_code = (section.flags & kShfExecinstr) != 0;
    for (const ProgramHeader& program : file.programs()) {
      if (program.type != kPtLoad || !holds(program, section)) continue;
      made.is_stored = true;
      made.load_address = program.paddr + (section.offset - program.offset);
      break;
    }
    out->sections.push_back(std::move(made));
  }
}

// For an ELF without section headers.
void read_sections_of_segments(const ElfFile& file, Image* out) {
  constexpr uint32_t kPfExecute = 1;
  for (size_t i = 0; i < file.programs().size(); ++i) {
    const ProgramHeader& program = file.programs()[i];
    if (program.type != kPtLoad) continue;
    const bool is_code = (program.flags & kPfExecute) != 0;
    const uint32_t stored = header_bytes(file, program) == 0 ? program.filesz : 0;
    if (stored > 0) {
      out->sections.push_back(
          {fmt::format("segment {}", i), program.vaddr, program.paddr, stored, true, is_code});
    }
    if (program.memsz > program.filesz) {
      out->sections.push_back({fmt::format("segment {}, zero", i), program.vaddr + program.filesz,
                               0, program.memsz - program.filesz, false, is_code});
    }
  }
}

}  // namespace

bool is_elf(std::span<const uint8_t> bytes) {
  static constexpr uint8_t kMagic[] = {0x7F, 'E', 'L', 'F'};
  return bytes.size() >= 4 && std::equal(std::begin(kMagic), std::end(kMagic), bytes.begin());
}

std::string parse_elf(const std::string& path, std::span<const uint8_t> bytes, Image* out) {
  out->kind = Image::Kind::elf;
  ElfFile file;
  std::string problem = file.read(bytes);
  if (!problem.empty()) return path + " " + problem;
  problem = read_segments(file, out);
  if (!problem.empty()) return path + ": " + problem;
  problem = read_symbols(file, out);
  if (!problem.empty()) return path + " " + problem;
  out->entry = file.entry();
  out->build_id = read_build_id(file);
  if (file.sections().empty()) {
    read_sections_of_segments(file, out);
  } else {
    read_sections(file, out);
  }
  std::stable_sort(
      out->sections.begin(), out->sections.end(),
      [](const Section& a, const Section& b) { return a.run_address < b.run_address; });
  return {};
}

}  // namespace millrace::board
