// SPDX-License-Identifier: Apache-2.0
// Names of functions, labels and objects, and the build ID. Left out: undefined and absolute
// values (a size is no address), what is in no memory (debug sections), section and file symbols,
// and the mapping symbols $a, $t, $d (ELF for the Arm Architecture 5.5.5).
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/bytes.h"
#include "image/elf_image.h"

namespace millrace::board {
namespace {

constexpr uint32_t kSymbolBytes = 16;
constexpr uint32_t kSttNotype = 0;
constexpr uint32_t kSttObject = 1;
constexpr uint32_t kSttFunc = 2;
constexpr uint32_t kShnUndef = 0;
constexpr uint32_t kShnAbs = 0xFFF1;
constexpr uint32_t kPtNote = 4;
constexpr uint32_t kNoteBuildId = 3;
constexpr uint32_t kMaxBuildIdBytes = 64;

bool is_mapping_symbol(std::string_view name) {
  return name.size() >= 2 && name[0] == '$' && (name.size() == 2 || name[2] == '.');
}

bool is_wanted(const ElfFile& file, uint32_t type, uint32_t section) {
  if (type != kSttNotype && type != kSttObject && type != kSttFunc) return false;
  if (section == kShnUndef) return false;
  if (section == kShnAbs) return type != kSttNotype;
  return section < file.sections().size() && file.sections()[section].in_memory();
}

std::string read_table(const ElfFile& file, const SectionHeader& table, Image* out) {
  if (table.entsize != kSymbolBytes || table.link >= file.sections().size() ||
      file.sections()[table.link].type != kShtStrtab) {
    return fmt::format(
        "at offset 0x{:X}: the symbol table has no valid entry size or string table "
        "(link it again)",
        table.offset);
  }
  const std::span<const uint8_t> symbols = file.bytes_of(table);
  const std::span<const uint8_t> names = file.bytes_of(file.sections()[table.link]);
  uint64_t name_bytes = 0;
  for (size_t at = 0; symbols.size() - at >= kSymbolBytes; at += kSymbolBytes) {
    const uint32_t name = load_le(&symbols[at], 4);
    const uint32_t type = symbols[at + 12] & 0xFu;
    if (!is_wanted(file, type, load_le(&symbols[at + 14], 2)) || name == 0) continue;
    const auto begin = names.begin() + static_cast<ptrdiff_t>(std::min<size_t>(name, names.size()));
    const auto end = std::find(begin, names.end(), uint8_t{0});
    if (end == names.end()) {
      return fmt::format(
          "at offset 0x{:X}: a symbol's name lies outside the string table (link it "
          "again)",
          table.offset + at);
    }
    // Names may share their bytes, so that a small file could ask for much memory.
    name_bytes += static_cast<uint64_t>(end - begin);
    if (name_bytes > kMaxImageBytes) {
      return fmt::format(
          "at offset 0x{:X}: the names of the symbols take more than {} MB (strip "
          "it)",
          table.offset + at, kMaxImageBytes >> 20);
    }
    Symbol symbol;
    symbol.name.assign(begin, end);
    if (symbol.name.empty() || is_mapping_symbol(symbol.name)) continue;
    symbol.is_function = type == kSttFunc;
    symbol.address = load_le(&symbols[at + 4], 4);
    if (symbol.is_function) symbol.address &= ~1u;
    symbol.size = load_le(&symbols[at + 8], 4);
    out->symbols.push_back(std::move(symbol));
  }
  return {};
}

std::string build_id_in(std::span<const uint8_t> notes) {
  constexpr size_t kHead = 12;
  while (notes.size() >= kHead + 4) {
    const uint64_t name_size = (uint64_t{load_le(&notes[0], 4)} + 3) & ~uint64_t{3};
    const uint64_t size = load_le(&notes[4], 4);
    const uint64_t padded = (size + 3) & ~uint64_t{3};
    if (name_size > notes.size() - kHead || size > notes.size() - kHead - name_size) return {};
    static constexpr uint8_t kGnu[] = {'G', 'N', 'U', 0};
    const bool is_gnu =
        name_size == 4 && std::equal(std::begin(kGnu), std::end(kGnu), &notes[kHead]);
    if (is_gnu && load_le(&notes[8], 4) == kNoteBuildId && size <= kMaxBuildIdBytes) {
      std::string out;
      for (const uint8_t byte : notes.subspan(kHead + name_size, size)) {
        out += fmt::format("{:02x}", byte);
      }
      return out;
    }
    notes = notes.subspan(std::min<uint64_t>(kHead + name_size + padded, notes.size()));
  }
  return {};
}

}  // namespace

std::string read_symbols(const ElfFile& file, Image* out) {
  for (const SectionHeader& section : file.sections()) {
    if (section.type != kShtSymtab) continue;
    std::string problem = read_table(file, section, out);
    if (!problem.empty()) return problem;
    break;  // the gABI allows one
  }
  std::sort(out->symbols.begin(), out->symbols.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.address, a.name, a.size) < std::tie(b.address, b.name, b.size);
  });
  return {};
}

std::string read_build_id(const ElfFile& file) {
  for (const SectionHeader& section : file.sections()) {
    if (section.type != kShtNote) continue;
    std::string id = build_id_in(file.bytes_of(section));
    if (!id.empty()) return id;
  }
  for (const ProgramHeader& program : file.programs()) {
    if (program.type != kPtNote) continue;
    std::string id = build_id_in(file.bytes_of(program));
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace millrace::board
