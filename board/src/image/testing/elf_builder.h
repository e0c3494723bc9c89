// SPDX-License-Identifier: Apache-2.0
// Small ELF files for tests: header, program headers, contents, section headers at the end.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/bytes.h"

namespace millrace::board::testing {

inline void put16(std::vector<uint8_t>* bytes, size_t offset, uint32_t value) {
  store_le(&(*bytes)[offset], 2, value);
}
inline void put32(std::vector<uint8_t>* bytes, size_t offset, uint32_t value) {
  store_le(&(*bytes)[offset], 4, value);
}
inline void append32(std::vector<uint8_t>* bytes, uint32_t value) {
  bytes->resize(bytes->size() + 4);
  put32(bytes, bytes->size() - 4, value);
}

class ElfBuilder {
 public:
  static constexpr uint32_t kAlloc = 2, kExecute = 4;  // sh_flags
  static constexpr uint32_t kNotype = 0, kObject = 1, kFunc = 2, kSection = 3, kFile = 4;
  static constexpr uint32_t kAbsolute = 0xFFF1, kUndefined = 0;
  static constexpr uint32_t kHeaderBytes = 52, kProgramBytes = 32, kSectionBytes = 40;

  explicit ElfBuilder(uint32_t entry) : entry_(entry) {}

  // A section of its own segment. Sections are numbered from 1.
  ElfBuilder& section(const std::string& name, uint32_t vaddr, uint32_t paddr,
                      std::vector<uint8_t> bytes, uint32_t flags = kAlloc) {
    segments_.push_back({vaddr, paddr, static_cast<uint32_t>(bytes.size()), 0, sections_.size()});
    sections_.push_back({name, 1, flags, vaddr, std::move(bytes), 0});
    return *this;
  }
  ElfBuilder& zeroes(const std::string& name, uint32_t vaddr, uint32_t size) {
    segments_.push_back({vaddr, vaddr, 0, size, kNone});
    sections_.push_back({name, 8, kAlloc, vaddr, {}, size});
    return *this;
  }
  // A segment of the ELF's own headers, as of a linker that has room for them.
  ElfBuilder& headers_at(uint32_t address, uint32_t zero_bytes = 0) {
    segments_.push_back({address, address, 0, zero_bytes, kHeaders});
    return *this;
  }
  ElfBuilder& symbol(const std::string& name, uint32_t value, uint32_t size, uint32_t type,
                     uint32_t section) {
    symbols_.push_back({name, value, size, type, section});
    return *this;
  }
  // A section outside memory: notes, debug information.
  ElfBuilder& other(const std::string& name, uint32_t type, std::vector<uint8_t> bytes) {
    sections_.push_back({name, type, 0, 0, std::move(bytes), 0});
    return *this;
  }
  ElfBuilder& without_section_headers() {
    section_headers_ = false;
    return *this;
  }

  // Offset of a program header, for tests that damage it.
  static uint32_t program(uint32_t number) { return kHeaderBytes + number * kProgramBytes; }
  // Offset of the section headers in what build() returned.
  static uint32_t sections_at(const std::vector<uint8_t>& file) { return load_le(&file[32], 4); }
  static uint32_t section_header(const std::vector<uint8_t>& file, uint32_t number) {
    return sections_at(file) + number * kSectionBytes;
  }

  std::vector<uint8_t> build() const {
    std::vector<Part> parts = sections_;
    if (!symbols_.empty()) add_symbols(&parts);
    std::string names(1, '\0');
    parts.push_back({".shstrtab", 3, 0, 0, {}, 0});
    for (const Part& part : parts) names += part.name + '\0';
    parts.back().bytes.assign(names.begin(), names.end());

    const auto count = static_cast<uint32_t>(segments_.size());
    const uint32_t headers = program(count);
    std::vector<uint8_t> out(headers);
    std::vector<uint32_t> offsets;
    for (const Part& part : parts) {
      out.resize((out.size() + 3) / 4 * 4);
      offsets.push_back(static_cast<uint32_t>(out.size()));
      out.insert(out.end(), part.bytes.begin(), part.bytes.end());
    }
    for (uint32_t i = 0; i < count; ++i) put_program(&out, i, headers, offsets);
    out.resize((out.size() + 3) / 4 * 4);
    put_header(&out, count, section_headers_ ? static_cast<uint32_t>(parts.size()) + 1 : 0);
    if (section_headers_) put_sections(&out, parts, offsets);
    return out;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX, kHeaders = SIZE_MAX - 1;
  struct Part {
    std::string name;
    uint32_t type, flags, address;
    std::vector<uint8_t> bytes;
    uint32_t zero_bytes;
  };
  struct LoadSegment {
    uint32_t vaddr, paddr, size, zero_bytes;
    size_t part;
  };
  struct NamedValue {
    std::string name;
    uint32_t value, size, type, section;
  };

  void add_symbols(std::vector<Part>* parts) const {
    Part table = {".symtab", 2, 0, 0, std::vector<uint8_t>(16), 0};
    std::string names(1, '\0');
    for (const NamedValue& symbol : symbols_) {
      append32(&table.bytes, symbol.name.empty() ? 0 : static_cast<uint32_t>(names.size()));
      append32(&table.bytes, symbol.value);
      append32(&table.bytes, symbol.size);
      append32(&table.bytes, symbol.type | 0x10 | symbol.section << 16);  // STB_GLOBAL
      names += symbol.name + '\0';
    }
    parts->push_back(std::move(table));
    parts->push_back({".strtab", 3, 0, 0, {names.begin(), names.end()}, 0});
  }

  void put_program(std::vector<uint8_t>* out, uint32_t number, uint32_t headers,
                   const std::vector<uint32_t>& offsets) const {
    const LoadSegment& segment = segments_[number];
    const uint32_t at = program(number);
    const uint32_t stored = segment.part == kHeaders ? headers : segment.size;
    put32(out, at, 1);  // PT_LOAD
    put32(out, at + 4, segment.part < offsets.size() ? offsets[segment.part] : 0);
    put32(out, at + 8, segment.vaddr);
    put32(out, at + 12, segment.paddr);
    put32(out, at + 16, stored);
    put32(out, at + 20, stored + segment.zero_bytes);
    put32(out, at + 24, 7);
    put32(out, at + 28, 4);
  }

  void put_header(std::vector<uint8_t>* out, uint32_t programs, uint32_t sections) const {
    static constexpr uint8_t kIdent[] = {0x7F, 'E', 'L', 'F', 1, 1, 1};
    std::copy(std::begin(kIdent), std::end(kIdent), out->begin());
    put16(out, 16, 2);   // ET_EXEC
    put16(out, 18, 40);  // EM_ARM
    put32(out, 20, 1);
    put32(out, 24, entry_);
    put32(out, 28, kHeaderBytes);
    put32(out, 32, sections == 0 ? 0 : static_cast<uint32_t>(out->size()));
    put32(out, 36, 0x05000400);
    put16(out, 40, kHeaderBytes);
    put16(out, 42, kProgramBytes);
    put16(out, 44, programs);
    put16(out, 46, kSectionBytes);
    put16(out, 48, sections);
    put16(out, 50, sections == 0 ? 0 : sections - 1);
  }

  static void put_sections(std::vector<uint8_t>* out, const std::vector<Part>& parts,
                           const std::vector<uint32_t>& offsets) {
    out->resize(out->size() + kSectionBytes);
    uint32_t name = 1;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      const bool is_table = part.type == 2;
      append32(out, name);
      append32(out, part.type);
      append32(out, part.flags);
      append32(out, part.address);
      append32(out, offsets[i]);
      append32(out, part.type == 8 ? part.zero_bytes : static_cast<uint32_t>(part.bytes.size()));
      append32(out, is_table ? static_cast<uint32_t>(i) + 2 : 0);  // sh_link: the string table
      append32(out, 0);
      append32(out, 4);
      append32(out, is_table ? 16 : 0);
      name += static_cast<uint32_t>(part.name.size()) + 1;
    }
  }

  uint32_t entry_;
  bool section_headers_ = true;
  std::vector<Part> sections_;
  std::vector<LoadSegment> segments_;
  std::vector<NamedValue> symbols_;
};

}  // namespace millrace::board::testing
