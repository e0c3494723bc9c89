// SPDX-License-Identifier: Apache-2.0
// Reads everything once, into sorted arrays; a look-up is a few binary searches. Names of inlined
// functions are looked up when first asked for: of some 100,000 inlined calls in a program a
// profile touches a few thousand.
#include "millrace/profile/elf_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "elf/dwarf_constants.h"
#include "elf/dwarf_frames.h"
#include "elf/live_code.h"
#include "elf/map_file.h"
#include "millrace/link/bytes.h"

namespace millrace::profile {

struct ElfIndex::Impl {
  std::string path;
  std::vector<uint8_t> bytes;
  ElfFile file;
  std::vector<Section> sections;
  std::vector<Segment> segments;
  SymbolTable symbols;
  std::unique_ptr<DwarfUnits> units;
  DwarfFunctions dwarf;
  LineTables lines;
  LiveCode live;
  FrameTable frames;
  MapFile map;
  std::vector<std::string> notes;
  bool has_debug_info = false;

  std::vector<std::string> names;
  std::unordered_map<std::string, uint32_t> name_ids;
  std::unordered_map<uint64_t, uint32_t> name_of_origin;
  std::unordered_map<uint32_t, uint32_t> name_of_function;
  mutable std::unordered_map<std::string, uint32_t> by_name;  // built when first asked for

  std::string read_elf();
  void read_dwarf();
  void add_functions_without_symbols();
  void describe_functions();
  void apply_map();
  uint32_t name_id(std::string name);
  uint32_t inline_name(uint64_t origin);
  uint32_t function_name(uint32_t function);
  SourceLine line_at(uint32_t pc) const;
  const LiveRange* live_range_at(uint32_t pc) const;
};

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return "";
  const size_t before = path.rfind('/', slash - 1);
  return path.substr(before == std::string::npos ? 0 : before + 1,
                     slash - (before == std::string::npos ? 0 : before + 1));
}

// Inlined calls looked at for one address; a large function has a thousand.
constexpr size_t kMaxInlineSteps = 65536;

bool holds(const AddressRange& range, uint32_t pc) { return pc >= range.low && pc < range.high; }

}  // namespace

std::string ElfIndex::Impl::read_elf() {
  std::string problem = file.read(bytes);
  if (!problem.empty()) return problem;
  sections = file.sections();
  segments = file.segments();
  if (sections.empty()) return "no section of it occupies memory (give the linked ELF)";
  problem = read_symbols(file, sections, &symbols);
  if (!problem.empty()) return problem;
  if (!symbols.is_present) {
    notes.push_back(
        "it has no symbol table (stripped): only addresses, sections and memories can "
        "be told apart; give the ELF as it was linked");
  }
  return {};
}

void ElfIndex::Impl::read_dwarf() {
  if (file.has_compressed(".debug_")) {
    notes.push_back(
        "its debug sections are compressed and were left out (run objcopy "
        "--decompress-debug-sections)");
  }
  const DwarfSections dwarf_sections(file);
  units = std::make_unique<DwarfUnits>(dwarf_sections);
  const auto note = [this](const std::string& problem) {
    if (!problem.empty()) notes.push_back(problem + "; debug information behind it was left out");
  };
  note(units->read());
  note(read_functions(*units, &dwarf));
  note(read_lines(*units, &lines));
  note(frames.read(dwarf_sections, file.machine() == Machine::arm ? 14 : 1));
  has_debug_info = !dwarf.functions.empty() || !lines.sequences.empty();
  if (!has_debug_info && symbols.is_present) {
    notes.push_back(
        "it has no debug information: no source files, lines and inlined calls (build "
        "with -g)");
  }
  live = find_live_code(sections, symbols, *units, dwarf, lines);
  const CodeRange* first = find_range(symbols.ranges, 0);
  const bool is_sized = first != nullptr && !symbols.functions[first->function].size_is_estimated;
  frames.keep_at_tombstone(is_sized ? symbols.functions[first->function].size : 0);
}

// Programs whose local symbols, or all, were stripped while the debug information was kept.
void ElfIndex::Impl::add_functions_without_symbols() {
  std::vector<Function> added;
  for (const LiveRange& range : live.ranges) {
    if (find_range(symbols.ranges, range.low) != nullptr) continue;
    const DwarfName name = name_of_die(*units, dwarf.functions[range.function].die);
    Function function;
    function.start = range.low;
    function.size = range.high - range.low;
    function.section = find_section(sections, range.low);
    function.name = std::string(name.linkage_name.empty() ? name.name : name.linkage_name);
    if (function.name.empty()) function.name = fmt::format("code_{:08x}", range.low);
    added.push_back(std::move(function));
  }
  if (added.empty()) return;
  for (Function& function : added) symbols.functions.push_back(std::move(function));
  arrange_functions(sections, &symbols);
}

void ElfIndex::Impl::describe_functions() {
  for (Function& function : symbols.functions) {
    const auto range =
        std::lower_bound(live.ranges.begin(), live.ranges.end(), function.start,
                         [](const LiveRange& one, uint32_t start) { return one.low < start; });
    uint32_t file_number = kNone;
    if (range != live.ranges.end() && range->low == function.start) {
      const DwarfName name = name_of_die(*units, dwarf.functions[range->function].die);
      const std::string_view wanted = name.linkage_name.empty() ? name.name : name.linkage_name;
      // The name that the source gives it, not an alias.
      const auto alias = std::find(function.aliases.begin(), function.aliases.end(), wanted);
      if (function.name != wanted && alias != function.aliases.end()) {
        std::swap(function.name, *alias);
      }
      function.has_debug_info = true;
      function.line = name.line;
      if (name.unit != nullptr) file_number = lines.file(name.unit->line_offset, name.file);
    }
    if (file_number == kNone) file_number = line_at(function.start).file;
    if (file_number != kNone) {
      function.file = lines.files[file_number];
      function.library = folder_of(function.file);
    }
  }
}

void ElfIndex::Impl::apply_map() {
  for (Function& function : symbols.functions) {
    const InputSection* input = map.input_at(function.start);
    if (input == nullptr) continue;
    function.library = input->library;
    if (function.file.empty()) function.file = input->object;
  }
  for (DataObject& object : symbols.objects) {
    const InputSection* input = map.input_at(object.address);
    if (input == nullptr) continue;
    object.library = input->library;
    if (object.file.empty()) object.file = input->object;
  }
}

uint32_t ElfIndex::Impl::name_id(std::string name) {
  const auto [it, is_new] = name_ids.emplace(std::move(name), static_cast<uint32_t>(names.size()));
  if (is_new) names.push_back(it->first);
  return it->second;
}

uint32_t ElfIndex::Impl::inline_name(uint64_t origin) {
  const auto found = name_of_origin.find(origin);
  if (found != name_of_origin.end()) return found->second;
  const DwarfName name = name_of_die(*units, origin);
  const std::string_view text = name.linkage_name.empty() ? name.name : name.linkage_name;
  const uint32_t id = name_id(text.empty() ? "(inlined)" : readable_name(std::string(text)));
  name_of_origin.emplace(origin, id);
  return id;
}

uint32_t ElfIndex::Impl::function_name(uint32_t function) {
  const auto found = name_of_function.find(function);
  if (found != name_of_function.end()) return found->second;
  const uint32_t id = name_id(readable_name(symbols.functions[function].name));
  name_of_function.emplace(function, id);
  return id;
}

SourceLine ElfIndex::Impl::line_at(uint32_t pc) const {
  auto it = std::upper_bound(live.sequences.begin(), live.sequences.end(), pc,
                             [](uint32_t a, const LineSequence& one) { return a < one.low; });
  if (it == live.sequences.begin()) return {};
  --it;
  if (pc >= it->high) return {};
  const auto first = lines.rows.begin() + it->first_row;
  const auto row = std::upper_bound(first, first + it->rows, pc,
                                    [](uint32_t a, const LineRow& one) { return a < one.address; });
  if (row == first) return {};
  return {(row - 1)->file, (row - 1)->line};
}

const LiveRange* ElfIndex::Impl::live_range_at(uint32_t pc) const {
  auto it = std::upper_bound(live.ranges.begin(), live.ranges.end(), pc,
                             [](uint32_t a, const LiveRange& one) { return a < one.low; });
  if (it == live.ranges.begin()) return nullptr;
  --it;
  return pc < it->high ? &*it : nullptr;
}

ElfIndex::ElfIndex() : impl_(std::make_unique<Impl>()) {}
ElfIndex::~ElfIndex() = default;
ElfIndex::ElfIndex(ElfIndex&&) noexcept = default;
ElfIndex& ElfIndex::operator=(ElfIndex&&) noexcept = default;

Failure ElfIndex::parse(const std::string& path, std::vector<uint8_t> bytes,
                        const std::string& map_path, const std::string& map, ElfIndex* out) {
  *out = ElfIndex();
  Impl& impl = *out->impl_;
  impl.path = path;
  impl.bytes = std::move(bytes);
  const std::string problem = impl.read_elf();
  if (!problem.empty()) {
    return Error{Error::Kind::malformed, fmt::format("{}: {}", printable(path), problem)};
  }
  impl.read_dwarf();
  impl.add_functions_without_symbols();
  impl.describe_functions();
  if (!map_path.empty()) {
    const std::string wrong = parse_map(map, impl.sections, &impl.map);
    if (!wrong.empty()) {
      return Error{Error::Kind::malformed, fmt::format("{}: {}", printable(map_path), wrong)};
    }
    impl.apply_map();
  }
  return {};
}

Failure ElfIndex::read(const std::string& path, const IndexOptions& options, ElfIndex* out) {
  std::vector<uint8_t> bytes, map;
  Failure failure = read_file(path, kMaxElfBytes, &bytes);
  if (!failure && !options.map_path.empty()) {
    failure = read_file(options.map_path, kMaxMapBytes, &map);
  }
  if (failure) return failure;
  return parse(path, std::move(bytes), options.map_path, std::string(map.begin(), map.end()), out);
}

const std::string& ElfIndex::path() const { return impl_->path; }
Machine ElfIndex::machine() const { return impl_->file.machine(); }
const std::vector<Section>& ElfIndex::sections() const { return impl_->sections; }
const std::vector<Segment>& ElfIndex::segments() const { return impl_->segments; }
const std::vector<Function>& ElfIndex::functions() const { return impl_->symbols.functions; }
const std::vector<DataObject>& ElfIndex::objects() const { return impl_->symbols.objects; }
const std::vector<std::string>& ElfIndex::files() const { return impl_->lines.files; }
const std::vector<std::string>& ElfIndex::names() const { return impl_->names; }
const std::vector<MapRegion>& ElfIndex::map_regions() const { return impl_->map.regions; }
const std::vector<InputSection>& ElfIndex::input_sections() const { return impl_->map.inputs; }
const InputSection* ElfIndex::input_section_at(uint32_t address) const {
  return impl_->map.input_at(address);
}
bool ElfIndex::has_symbols() const { return impl_->symbols.is_present; }
uint32_t ElfIndex::entry() const { return impl_->file.entry(); }
bool ElfIndex::has_mapping_symbols() const { return !impl_->symbols.mapping.empty(); }

bool ElfIndex::is_data_at(uint32_t address) const {
  const std::vector<MappingSymbol>& all = impl_->symbols.mapping;
  auto it = std::upper_bound(all.begin(), all.end(), address,
                             [](uint32_t a, const MappingSymbol& one) { return a < one.address; });
  if (it == all.begin() || !(it - 1)->is_data) return false;
  const uint32_t section = section_at(address);
  return section != kNone && (it - 1)->address >= sections()[section].address;
}
bool ElfIndex::has_debug_info() const { return impl_->has_debug_info; }
const std::vector<std::string>& ElfIndex::notes() const { return impl_->notes; }
Identity ElfIndex::build_id() const { return impl_->file.build_id(); }
Identity ElfIndex::image_hash() const { return impl_->file.image_hash(); }

std::optional<uint32_t> ElfIndex::symbol(const std::string& name) const {
  const auto it = impl_->symbols.values.find(name);
  if (it == impl_->symbols.values.end()) return std::nullopt;
  return it->second;
}

bool ElfIndex::is_same_program(const Identity& identity) const {
  switch (identity.kind) {
    case IdentityKind::build_id:
      return build_id() == identity;
    case IdentityKind::image_hash:
      return image_hash() == identity;
    default:
      return true;
  }
}

uint32_t ElfIndex::section_at(uint32_t pc) const { return find_section(impl_->sections, pc); }

uint32_t ElfIndex::function_at(uint32_t pc) const {
  const CodeRange* range = find_range(impl_->symbols.ranges, pc);
  return range == nullptr ? kNone : range->function;
}

uint32_t ElfIndex::function_named(const std::string& name) const {
  auto& by_name = impl_->by_name;
  if (by_name.empty()) {
    const std::vector<Function>& all = functions();
    for (uint32_t i = 0; i < all.size(); ++i) {
      by_name.emplace(all[i].name, i);
      for (const std::string& alias : all[i].aliases) by_name.emplace(alias, i);
      const std::string readable = readable_name(all[i].name);
      by_name.emplace(readable, i);
      by_name.emplace(without_parameters(readable), i);
    }
  }
  const auto it = by_name.find(name);
  return it == by_name.end() ? kNone : it->second;
}

Location ElfIndex::locate(uint32_t pc) {
  Impl& impl = *impl_;
  Location out;
  out.section = section_at(pc);
  out.function = function_at(pc);
  if (out.function == kNone) return out;
  SourceLine at = impl.line_at(pc);
  const LiveRange* range = impl.live_range_at(pc);
  // Innermost last while walking down; the frames want it first.
  std::vector<const InlineNode*> chain;
  uint64_t table = UINT64_MAX;
  if (range != nullptr) {
    const DwarfFunction& function = impl.dwarf.functions[range->function];
    table = impl.units->units()[function.unit].line_offset;
    size_t steps = 0;
    for (uint32_t i = function.first_inline; i < function.end_inline && steps < kMaxInlineSteps;
         ++steps) {
      const InlineNode& node = impl.dwarf.inlines[i];
      const auto first = impl.dwarf.ranges.begin() + node.first_range;
      const bool inside = std::any_of(first, first + node.ranges,
                                      [pc](const AddressRange& one) { return holds(one, pc); });
      if (inside) chain.push_back(&node);
      i = inside ? i + 1 : std::max(node.subtree_end, i + 1);
    }
  }
  for (size_t i = chain.size(); i > 0; --i) {
    out.frames.push_back({impl.inline_name(chain[i - 1]->origin), at});
    at = {impl.lines.file(table, chain[i - 1]->call_file), chain[i - 1]->call_line};
  }
  out.frames.push_back({impl.function_name(out.function), at});
  return out;
}

LinkRegister ElfIndex::link_register_at(uint32_t pc) const { return impl_->frames.at(pc); }

std::span<const uint8_t> ElfIndex::bytes_at(uint32_t address, uint32_t size) const {
  const uint32_t index = section_at(address);
  if (index == kNone) return {};
  const Section& section = impl_->sections[index];
  const uint32_t offset = address - section.address;
  if (!section.is_stored || size > section.size - offset) return {};
  const std::span<const uint8_t> all = impl_->file.bytes_of(impl_->file.headers()[section.number]);
  if (uint64_t{offset} + size > all.size()) return {};
  return all.subspan(offset, size);
}

bool ElfIndex::is_wait_before(uint32_t end) const {
  const auto half = [this](uint32_t address) -> uint32_t {
    const std::span<const uint8_t> bytes = bytes_at(address, 2);
    return bytes.empty() ? 0 : link::load_le16(bytes.data());
  };
  if (machine() == Machine::riscv)
    return end >= 4 && half(end - 4) == 0x73 && half(end - 2) == 0x1050;
  if (end >= 2 && (half(end - 2) == 0xBF30 || half(end - 2) == 0xBF20)) return true;
  if (end < 4 || half(end - 4) != 0xF3AF) return false;
  return half(end - 2) == 0x8003 || half(end - 2) == 0x8002;
}

bool ElfIndex::is_waiting(uint32_t pc) const {
  constexpr uint32_t kLookBack = 16;
  const auto half = [this](uint32_t address) -> uint32_t {
    const std::span<const uint8_t> bytes = bytes_at(address, 2);
    return bytes.empty() ? 0 : link::load_le16(bytes.data());
  };
  const auto word = [&half](uint32_t address) { return half(address) << 16 | half(address + 2); };
  if (machine() == Machine::riscv) {
    constexpr uint32_t kWfi = 0x00731050;  // 0x10500073, halfwords swapped as word() does
    return word(pc) == kWfi || word(pc - 4) == kWfi;
  }
  const auto is_wait = [&](uint32_t at) {
    return half(at) == 0xBF30 || half(at) == 0xBF20;  // WFI, WFE
  };
  const auto is_wide_wait = [&](uint32_t at) {
    return word(at) == 0xF3AF8003 || word(at) == 0xF3AF8002;
  };
  if (is_wait(pc) || is_wide_wait(pc)) return true;
  for (uint32_t at = pc; pc - at < kLookBack && at >= 2;) {
    if (is_wait(at - 2) || (at >= 4 && is_wide_wait(at - 4))) return true;
    const uint32_t narrow = half(at - 2);
    const uint32_t wide = at >= 4 ? word(at - 4) : 0;
    if (narrow == 0xBF00 || (narrow & 0xFFE8u) == 0xB660) {  // NOP, CPSIE, CPSID
      at -= 2;
    } else if ((wide & 0xFFFFFFC0u) == 0xF3BF8F40) {  // DSB, DMB, ISB
      at -= 4;
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace millrace::profile
