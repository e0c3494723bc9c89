// SPDX-License-Identifier: Apache-2.0
// The symbol table is the authority on which functions the program has; DWARF also describes those
// that the linker threw away, at address 0, where a Cortex-M7 has its ITCM (docs/profile.md).
//
// What is a function, in the order of trust: STT_FUNC with a size; STT_FUNC without one (assembler)
// up to the next function or global label; a label without a type (assembler that forgot .type) in
// code that nothing else covers. Local labels never end a function: they are jump targets inside
// hand-written loops. Mapping symbols ($t, $a, $d, $x) are none of these. Symbols of one address
// are one function with aliases.
#include "elf/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "millrace/link/bytes.h"

namespace millrace::profile {
namespace {

using link::load_le16;
using link::load_le32;

constexpr uint32_t kSymbolBytes = 16;
constexpr uint32_t kShtSymtab = 2, kShtStrtab = 3;
constexpr uint32_t kNotype = 0, kObject = 1, kFunc = 2, kFile = 4, kIfunc = 10;
constexpr uint32_t kLocal = 0, kWeak = 2;
constexpr uint32_t kShnUndef = 0, kShnAbs = 0xFFF1;
constexpr size_t kMaxSymbolBytes = 8192;
constexpr size_t kMaxNamesBytes = size_t{256} << 20;
constexpr size_t kMaxSymbols = size_t{4} << 20;
constexpr size_t kMaxAliases = 64;

struct RawSymbol {
  uint32_t address = 0, size = 0, type = 0, binding = 0, section = kNone;
  std::string_view name, file;
  // Which name of an address is the function's: typed ones, then global, weak, local ones.
  std::tuple<int, int> rank() const {
    return {type == kFunc ? 0 : 1, binding == kLocal ? 2 : binding == kWeak ? 1 : 0};
  }
};

bool is_mapping_symbol(std::string_view name) {
  return name.size() >= 2 && name[0] == '$' && std::strchr("tadx", name[1]) != nullptr &&
         (name.size() == 2 || name[2] == '.' || name.starts_with("$xrv"));
}

bool is_veneer(std::string_view name) {
  return (name.starts_with("__") && (name.ends_with("_veneer") || name.ends_with("_from_thumb") ||
                                     name.ends_with("_from_arm"))) ||
         (name.starts_with("__") && name.find("Thunk_") != std::string_view::npos);
}

// Index of each section header among the SHF_ALLOC sections.
std::vector<uint32_t> section_indices(const ElfFile& file, const std::vector<Section>& sections) {
  std::vector<uint32_t> out(file.headers().size(), kNone);
  for (size_t i = 0; i < sections.size(); ++i) out[sections[i].number] = static_cast<uint32_t>(i);
  return out;
}

void add_function(const RawSymbol& symbol, const std::vector<RawSymbol>& same,
                  const std::vector<Section>& sections, SymbolTable* out) {
  Function function;
  function.start = symbol.address;
  function.section = symbol.section;
  function.name = std::string(symbol.name);
  function.is_local = symbol.binding == kLocal;
  function.is_weak = symbol.binding == kWeak;
  function.kind = is_veneer(symbol.name)   ? FunctionKind::veneer
                  : symbol.type == kNotype ? FunctionKind::assembler
                                           : FunctionKind::function;
  if (function.is_local) function.file = std::string(symbol.file);
  for (const RawSymbol& one : same) {
    function.size = std::max(function.size, one.size);
    if (one.name != symbol.name && function.aliases.size() < kMaxAliases) {
      function.aliases.emplace_back(one.name);
    }
  }
  function.size_is_estimated = function.size == 0;
  const uint64_t limit = sections[symbol.section].end() - function.start;
  function.size = static_cast<uint32_t>(std::min<uint64_t>(function.size, limit));
  out->functions.push_back(std::move(function));
}

// Where an unsized function must end: the next symbol that starts one, or the section's end.
void estimate_sizes(const std::vector<Section>& sections, std::vector<Function>* functions) {
  for (size_t i = 0; i < functions->size(); ++i) {
    Function& function = (*functions)[i];
    if (!function.size_is_estimated) continue;
    uint64_t end = sections[function.section].end();
    if (i + 1 < functions->size() && (*functions)[i + 1].section == function.section) {
      end = std::min<uint64_t>(end, (*functions)[i + 1].start);
    }
    function.size = static_cast<uint32_t>(end - function.start);
  }
}

// Functions may stand inside others (a second entry point): the one that starts last has the
// address.
std::vector<CodeRange> flatten(const std::vector<Function>& functions) {
  std::vector<CodeRange> out;
  std::vector<uint32_t> open;  // those that reach beyond the current address
  uint32_t at = 0;
  const auto end_of = [&](uint32_t i) { return functions[i].start + functions[i].size; };
  const auto emit_until = [&](uint32_t limit) {
    while (!open.empty() && at < limit) {
      const uint32_t top = open.back();
      const uint32_t end = std::min(limit, end_of(top));
      if (end > at) {
        out.push_back({at, end, top});
        at = end;
      }
      if (end_of(top) <= limit) {
        open.pop_back();
      } else {
        break;
      }
    }
  };
  for (uint32_t i = 0; i < functions.size(); ++i) {
    emit_until(functions[i].start);
    while (!open.empty() && end_of(open.back()) <= functions[i].start) open.pop_back();
    at = functions[i].start;
    if (functions[i].size > 0) open.push_back(i);
  }
  emit_until(UINT32_MAX);
  return out;
}

}  // namespace

void arrange_functions(const std::vector<Section>& sections, SymbolTable* table) {
  std::stable_sort(table->functions.begin(), table->functions.end(),
                   [](const Function& a, const Function& b) { return a.start < b.start; });
  estimate_sizes(sections, &table->functions);
  table->ranges = flatten(table->functions);
}

const CodeRange* find_range(const std::vector<CodeRange>& ranges, uint32_t address) {
  auto it = std::upper_bound(ranges.begin(), ranges.end(), address,
                             [](uint32_t a, const CodeRange& range) { return a < range.start; });
  if (it == ranges.begin()) return nullptr;
  --it;
  return address < it->end ? &*it : nullptr;
}

uint32_t find_section(const std::vector<Section>& sections, uint32_t address) {
  auto it = std::upper_bound(sections.begin(), sections.end(), address,
                             [](uint32_t a, const Section& s) { return a < s.address; });
  for (int back = 0; back < 32 && it != sections.begin(); ++back) {
    --it;
    if (address < it->end()) return static_cast<uint32_t>(it - sections.begin());
  }
  return kNone;
}

std::string read_symbols(const ElfFile& file, const std::vector<Section>& sections,
                         SymbolTable* out) {
  const ElfHeaderSection* table = nullptr;
  for (const ElfHeaderSection& section : file.headers()) {
    if (section.type == kShtSymtab) table = &section;
  }
  if (table == nullptr) return {};
  if (table->entry != kSymbolBytes || table->link >= file.headers().size() ||
      file.headers()[table->link].type != kShtStrtab) {
    return fmt::format(
        "at offset 0x{:X}: the symbol table has no valid entry size or string table "
        "(link it again)",
        table->offset);
  }
  out->is_present = true;
  const std::span<const uint8_t> symbols = file.bytes_of(*table);
  const std::span<const uint8_t> names = file.bytes_of(file.headers()[table->link]);
  if (symbols.size() / kSymbolBytes > kMaxSymbols) {
    return fmt::format("more than {} symbols (strip what is not needed)", kMaxSymbols);
  }
  const std::vector<uint32_t> indices = section_indices(file, sections);
  const bool is_arm = file.machine() == Machine::arm;

  std::vector<RawSymbol> code, labels;
  std::string_view current_file;
  size_t name_bytes = 0;
  for (size_t at = 0; symbols.size() - at >= kSymbolBytes; at += kSymbolBytes) {
    RawSymbol symbol;
    const uint32_t name = load_le32(&symbols[at]);
    symbol.address = load_le32(&symbols[at + 4]);
    symbol.size = load_le32(&symbols[at + 8]);
    symbol.type = symbols[at + 12] & 0xFu;
    symbol.binding = symbols[at + 12] >> 4;
    const uint32_t section = load_le16(&symbols[at + 14]);
    if (name >= names.size()) continue;
    const size_t most = std::min(names.size() - name, kMaxSymbolBytes);
    const auto* text = reinterpret_cast<const char*>(&names[name]);
    symbol.name = {text, strnlen(text, most)};
    // Names may share their bytes, so that a small file could ask for much memory.
    name_bytes += symbol.name.size();
    if (name_bytes > kMaxNamesBytes) return "the names of its symbols take more than 256 MB";
    if (symbol.type == kFile) {
      current_file = symbol.name;
      continue;
    }
    if (section == kShnUndef || symbol.name.empty()) continue;
    if (is_mapping_symbol(symbol.name)) {
      if (section < indices.size() && indices[section] != kNone) {
        out->mapping.push_back({symbol.address & ~1u, symbol.name[1] == 'd'});
      }
      continue;
    }
    if (symbol.type == kNotype || section == kShnAbs) {
      out->values.emplace(symbol.name, symbol.address);
    }
    symbol.section = section < indices.size() ? indices[section] : kNone;
    if (symbol.section == kNone) continue;
    symbol.file = current_file;
    const Section& home = sections[symbol.section];
    const bool is_function = symbol.type == kFunc || symbol.type == kIfunc;
    if (is_function) symbol.type = kFunc;
    if (is_arm && is_function) symbol.address &= ~1u;
    if (symbol.address < home.address || symbol.address >= home.end()) continue;
    if (is_function && home.is_code) {
      code.push_back(symbol);
    } else if (symbol.type == kNotype && home.is_code && symbol.address % 2 == 0) {
      labels.push_back(symbol);
    } else if (symbol.type == kObject) {
      DataObject object;
      object.address = symbol.address;
      object.size =
          static_cast<uint32_t>(std::min<uint64_t>(symbol.size, home.end() - symbol.address));
      object.section = symbol.section;
      object.is_local = symbol.binding == kLocal;
      object.name = std::string(symbol.name);
      if (object.is_local) object.file = std::string(symbol.file);
      out->objects.push_back(std::move(object));
    }
  }

  const auto by_address = [](const RawSymbol& a, const RawSymbol& b) {
    return std::make_tuple(a.address, a.rank(), a.name) <
           std::make_tuple(b.address, b.rank(), b.name);
  };
  std::sort(code.begin(), code.end(), by_address);
  std::sort(labels.begin(), labels.end(), by_address);
  // Labels that no sized function covers.
  size_t next = 0;
  uint64_t covered = 0;
  bool open = false;  // an unsized function or label stands before, in this section
  uint32_t open_section = kNone;
  std::vector<RawSymbol> all = code;
  for (const RawSymbol& label : labels) {
    for (; next < code.size() && code[next].address <= label.address; ++next) {
      covered = std::max(covered, uint64_t{code[next].address} + code[next].size);
      open = code[next].size == 0;
      open_section = code[next].section;
    }
    const bool starts_at_function = next > 0 && code[next - 1].address == label.address;
    if (starts_at_function) {
      all.push_back(label);  // an alias
      continue;
    }
    if (label.address < covered) continue;
    if (open && open_section == label.section && label.binding == kLocal) continue;
    all.push_back(label);
    open = true;
    open_section = label.section;
  }
  std::sort(all.begin(), all.end(), by_address);
  for (size_t i = 0; i < all.size();) {
    size_t end = i + 1;
    while (end < all.size() && all[end].address == all[i].address) ++end;
    add_function(
        all[i],
        {all.begin() + static_cast<ptrdiff_t>(i), all.begin() + static_cast<ptrdiff_t>(end)},
        sections, out);
    i = end;
  }
  arrange_functions(sections, out);
  std::stable_sort(
      out->mapping.begin(), out->mapping.end(),
      [](const MappingSymbol& a, const MappingSymbol& b) { return a.address < b.address; });
  std::stable_sort(out->objects.begin(), out->objects.end(),
                   [](const DataObject& a, const DataObject& b) { return a.address < b.address; });
  return {};
}

}  // namespace millrace::profile
