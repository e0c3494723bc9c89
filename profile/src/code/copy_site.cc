// SPDX-License-Identifier: Apache-2.0
// No list of start-up codes: whoever copies a section has to know where it is stored. That address
// is a constant of the code (Teensyduino, STM32, Zephyr, ours), or a word of a table whose address
// is one (CMSIS 5 and later, MCUXpresso, Pico SDK). Sections that lie behind each other in both
// places may be copied in one go, so the address of the first of them will do.
#include "code/copy_site.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "millrace/link/bytes.h"

namespace millrace::profile {
namespace {

constexpr uint32_t kMaxTableBytes = 1024;
constexpr uint32_t kMaxGap = 64;  // of alignment between sections that are copied in one go
constexpr size_t kMovtDistance = 12;
// Sections of a damaged file may share their bytes: together they can be thousands of times larger.
constexpr uint64_t kMaxSearchedBytes = uint64_t{64} << 20;
constexpr size_t kMaxPlaces = 1024;

bool is_completed(const std::vector<Instruction>& code, size_t i) {
  for (size_t k = i + 1; k < std::min(code.size(), i + 1 + kMovtDistance); ++k) {
    const Flow& flow = code[k].flow;
    if (flow.constant == ConstantKind::high && flow.reg == code[i].flow.reg) return true;
  }
  return false;
}

auto with_value(const std::vector<KnownConstant>& constants, uint32_t value) {
  const auto less = [](const KnownConstant& a, const KnownConstant& b) {
    return a.value < b.value;
  };
  return std::equal_range(constants.begin(), constants.end(), KnownConstant{kNone, 0, value}, less);
}

// The section and those directly in front of it, in both places.
std::vector<const Section*> run_of(const ElfIndex& index, const Section& section) {
  std::vector<const Section*> out{&section};
  const std::vector<Section>& all = index.sections();
  for (size_t i = all.size(); i > 0; --i) {
    const Section& one = all[i - 1];
    const Section& first = *out.back();
    if (!one.is_stored || one.end() > first.address || one.load_address == one.address) continue;
    const uint64_t gap = first.address - one.end();
    const uint64_t load_end = uint64_t{one.load_address} + one.size;
    if (gap <= kMaxGap && load_end <= first.load_address && first.load_address - load_end == gap) {
      out.push_back(&one);
    }
  }
  return out;
}

// Sites by function, of the first function of `reached` that has any.
std::optional<CopySite> nearest(const std::unordered_map<uint32_t, std::vector<size_t>>& sites,
                                const std::vector<uint32_t>& reached) {
  for (const uint32_t function : reached) {
    const auto found = sites.find(function);
    if (found == sites.end()) continue;
    CopySite out;
    out.function = function;
    out.instructions = found->second;
    std::sort(out.instructions.begin(), out.instructions.end());
    return out;
  }
  return std::nullopt;
}

bool is_copy_name(const std::string& name) {
  for (const char* part : {"cpy", "copy", "move", "data_init", "load"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::vector<KnownConstant> constants_of(const ElfIndex& index, CodeStore* code,
                                        const std::vector<uint32_t>& functions) {
  std::vector<KnownConstant> out;
  for (const uint32_t function : functions) {
    const std::vector<Instruction>& all = code->of(function);
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].flow.constant == ConstantKind::low && is_completed(all, i)) continue;
      const std::optional<Constant> one = constant_of(index, all, i);
      if (one) out.push_back({function, i, one->value});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const KnownConstant& a, const KnownConstant& b) {
    return a.value < b.value;
  });
  return out;
}

WordPlaces find_words(const ElfIndex& index, const std::vector<uint32_t>& values) {
  WordPlaces out;
  for (const uint32_t value : values) out[value];
  uint64_t searched = 0;
  for (const Section& section : index.sections()) {
    searched += section.is_stored ? section.size : 0;
    if (!section.is_stored || searched > kMaxSearchedBytes) continue;
    const std::span<const uint8_t> bytes = index.bytes_at(section.address, section.size);
    for (size_t at = (4 - section.address % 4) % 4; at + 4 <= bytes.size(); at += 4) {
      const auto found = out.find(link::load_le32(&bytes[at]));
      if (found == out.end() || found->second.size() == kMaxPlaces) continue;
      const uint32_t place = section.address + static_cast<uint32_t>(at);
      // Behind many sections that lie in this one it is not found again.
      if (index.section_at(place) != kNone) found->second.push_back(place);
    }
  }
  return out;
}

std::optional<CopySite> find_copy(const ElfIndex& index, const Section& section,
                                  const std::vector<uint32_t>& reached,
                                  const std::vector<KnownConstant>& constants,
                                  const WordPlaces& words) {
  std::unordered_map<uint32_t, std::vector<size_t>> weak, strong;
  for (const Section* one : run_of(index, section)) {
    std::unordered_set<uint32_t> knowing;  // functions that know where it runs
    for (const auto value : {one->address, static_cast<uint32_t>(section.end())}) {
      const auto [low, high] = with_value(constants, value);
      for (auto it = low; it != high; ++it) knowing.insert(it->function);
    }
    const auto [low, high] = with_value(constants, one->load_address);
    for (auto it = low; it != high; ++it) {
      (knowing.contains(it->function) ? strong : weak)[it->function].push_back(it->instruction);
    }
    if (!strong.empty()) break;
  }
  if (auto site = nearest(strong, reached)) return site;
  // A table: the load address stands in the file, and code makes the address of what is before it.
  const auto places = words.find(section.load_address);
  if (places == words.end()) return nearest(weak, reached);
  for (const uint32_t word : places->second) {
    std::unordered_map<uint32_t, std::vector<size_t>> tables;
    const uint32_t home = index.section_at(word);
    const uint32_t start =
        std::max(index.sections()[home].address, word - std::min(word, kMaxTableBytes));
    uint32_t table = word;  // the nearest address before the word that is made
    auto made = with_value(constants, table);
    while (made.first == made.second && table >= start + 4) {
      table -= 4;
      made = with_value(constants, table);
    }
    for (auto it = made.first; it != made.second; ++it) {
      tables[it->function].push_back(it->instruction);
    }
    if (auto site = nearest(tables, reached)) {
      site->table = table;
      return site;
    }
  }
  return nearest(weak, reached);
}

CopyRegion copy_region(const ElfIndex& index, const CallGraph& graph, uint32_t function,
                       const std::vector<Instruction>& code, size_t site) {
  const auto names_copy = [&](uint32_t at) {
    const std::span<const CallEdge> edges = graph.from(function);  // in the order of the code
    auto it = std::lower_bound(edges.begin(), edges.end(), at,
                               [](const CallEdge& edge, uint32_t a) { return edge.site < a; });
    for (; it != edges.end() && it->site == at; ++it) {
      if (it->kind != EdgeKind::address) return is_copy_name(index.functions()[it->to].name);
    }
    return false;
  };
  // The first call, or a later one whose name says that it copies.
  size_t call = code.size();
  for (size_t i = site; i < code.size(); ++i) {
    const FlowKind kind = code[i].flow.kind;
    const bool leaves =
        kind == FlowKind::jump && index.function_at(code[i].flow.target) != function;
    if (kind != FlowKind::call && kind != FlowKind::indirect_call && !leaves) continue;
    if (call == code.size()) call = i;
    if (names_copy(code[i].at)) {
      call = i;
      break;
    }
  }
  // The first loop behind the site.
  CopyRegion loop;
  bool has_loop = false;
  for (size_t i = site; i < code.size(); ++i) {
    const Flow& flow = code[i].flow;
    if (flow.kind != FlowKind::jump && flow.kind != FlowKind::branch) continue;
    if (flow.target > code[i].at || flow.target <= code[site].at) continue;
    if (flow.target == code[i].at) continue;  // a loop for ever
    if (!has_loop || flow.target < loop.first) loop = {flow.target, code[i].at};
    has_loop = true;
    if (code[i].at > (call < code.size() ? code[call].at : UINT32_MAX)) break;
  }
  CopyRegion out{code[site].at, code.back().at};
  if (has_loop && (call == code.size() || loop.first <= code[call].at)) {
    out = loop;
  } else if (call < code.size()) {
    out = {code[call].at, code[call].at};
  }
  return with_loops_around(code, out);
}

}  // namespace millrace::profile
