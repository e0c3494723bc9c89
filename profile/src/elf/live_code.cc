// SPDX-License-Identifier: Apache-2.0
// A linker that throws a function away leaves its debug information, with the address 0. On a
// Cortex-M7 that is where ITCM begins, so the function at 0, usually the hottest of the program,
// shares its address with every collected one. addr2line, eu-addr2line and llvm-symbolizer name
// one of those, or take its lines (measured with binutils 2.40, elfutils 0.188, LLVM 14).
//
// Here the symbol table decides. Of the descriptions at a tombstone at most one can be alive: the
// one that has the name of the symbol there, its length, and, if the symbol is local, its file.
// Line sequences follow: the one of that function's unit with its length, nearest behind its
// declaration. Where this is ambiguous nothing is taken: no line is better than a wrong one.
#include "elf/live_code.h"

#include <algorithm>
#include <map>
#include <set>

#include "elf/dwarf_constants.h"

namespace millrace::profile {
namespace {

constexpr uint32_t kLanguageAssembler = 0x8001;  // DW_LANG_Mips_Assembler, of every GNU assembler

std::string_view base_name_of_path(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_code(const std::vector<Section>& sections, uint32_t low, uint32_t high) {
  const uint32_t section = find_section(sections, low);
  return section != kNone && sections[section].is_code && high <= sections[section].end();
}

const Function* function_starting_at(const SymbolTable& symbols, uint32_t address) {
  const auto it =
      std::lower_bound(symbols.functions.begin(), symbols.functions.end(), address,
                       [](const Function& function, uint32_t a) { return function.start < a; });
  return it != symbols.functions.end() && it->start == address ? &*it : nullptr;
}

bool has_name(const Function& function, const DwarfName& name) {
  const auto is = [&](const std::string& symbol) {
    if (symbol == name.linkage_name || symbol == name.name) return true;
    const std::string base = base_name_of_clone(symbol);
    return base == name.linkage_name || base == name.name;
  };
  return is(function.name) || std::any_of(function.aliases.begin(), function.aliases.end(), is);
}

struct Candidate {
  LiveRange range;
  DwarfName name;
  std::string_view unit_name;
};

template <class Predicate>
void prefer(std::vector<Candidate>* candidates, Predicate is_better) {
  if (std::any_of(candidates->begin(), candidates->end(), is_better)) {
    std::erase_if(*candidates, [&](const Candidate& one) { return !is_better(one); });
  }
}

// The one that is alive, if it can be told.
const Candidate* elect(const Function& function, std::vector<Candidate>* candidates) {
  std::erase_if(*candidates, [&](const Candidate& one) { return !has_name(function, one.name); });
  if (!function.size_is_estimated) {
    std::erase_if(*candidates,
                  [&](const Candidate& one) { return one.range.high > function.size; });
    prefer(candidates, [&](const Candidate& one) { return one.range.high == function.size; });
  }
  if (function.is_local && !function.file.empty()) {
    prefer(candidates, [&](const Candidate& one) {
      return base_name_of_path(one.unit_name) == base_name_of_path(function.file);
    });
  }
  if (candidates->empty()) return nullptr;
  // What is left may be copies of one function of a header; different ones cannot be told apart.
  const Candidate& first = candidates->front();
  for (const Candidate& one : *candidates) {
    if (one.name.line != first.name.line || one.name.name != first.name.name ||
        one.range.high != first.range.high) {
      return nullptr;
    }
  }
  return &first;
}

class Finder {
 public:
  Finder(const std::vector<Section>& sections, const SymbolTable& symbols, const DwarfUnits& units,
         const DwarfFunctions& functions, const LineTables& lines)
      : sections_(sections),
        symbols_(symbols),
        units_(units),
        functions_(functions),
        lines_(lines) {}

  LiveCode find() {
    find_functions();
    find_sequences();
    return std::move(out_);
  }

 private:
  void find_functions() {
    std::vector<Candidate> at_zero;
    for (uint32_t i = 0; i < functions_.functions.size(); ++i) {
      const DwarfFunction& function = functions_.functions[i];
      bool is_alive = false;
      for (uint32_t r = 0; r < function.ranges; ++r) {
        const AddressRange& range = functions_.ranges[function.first_range + r];
        if (is_tombstone(range.low)) {
          if (range.low == 0 && is_code(sections_, 0, range.high)) {
            at_zero.push_back({{0, range.high, i},
                               name_of_die(units_, function.die),
                               units_.units()[function.unit].name});
            is_alive = true;  // counted below
          }
        } else if (is_code(sections_, range.low, range.high)) {
          out_.ranges.push_back({range.low, range.high, i});
          is_alive = true;
        }
      }
      if (!is_alive) ++out_.dropped_functions;
    }
    const Function* live = function_starting_at(symbols_, 0);
    const size_t candidates = at_zero.size();
    const Candidate* chosen = live == nullptr ? nullptr : elect(*live, &at_zero);
    if (chosen != nullptr) out_.ranges.push_back(chosen->range);
    out_.dropped_functions += candidates - (chosen != nullptr ? 1 : 0);
    // One description an address: identical functions that were folded, inline functions of several
    // units. The one with the symbol's name is preferred.
    std::stable_sort(out_.ranges.begin(), out_.ranges.end(),
                     [](const LiveRange& a, const LiveRange& b) { return a.low < b.low; });
    std::vector<LiveRange> unique;
    for (size_t i = 0; i < out_.ranges.size();) {
      size_t end = i + 1;
      while (end < out_.ranges.size() && out_.ranges[end].low == out_.ranges[i].low) ++end;
      unique.push_back(out_.ranges[i]);
      const Function* function =
          end - i > 1 ? function_starting_at(symbols_, out_.ranges[i].low) : nullptr;
      for (size_t k = i; function != nullptr && k < end; ++k) {
        const DwarfFunction& one = functions_.functions[out_.ranges[k].function];
        if (!has_name(*function, name_of_die(units_, one.die))) continue;
        unique.back() = out_.ranges[k];
        break;
      }
      i = end;
    }
    out_.ranges = std::move(unique);
  }

  void find_sequences() {
    std::vector<LineSequence> at_zero;
    for (const LineSequence& sequence : lines_.sequences) {
      if (is_tombstone(sequence.low)) {
        if (sequence.low == 0 && is_code(sections_, 0, sequence.high)) at_zero.push_back(sequence);
        ++out_.dropped_sequences;
      } else if (is_code(sections_, sequence.low, sequence.high)) {
        out_.sequences.push_back(sequence);
      } else {
        ++out_.dropped_sequences;
      }
    }
    const LineSequence* chosen = nullptr;
    if (!out_.ranges.empty() && out_.ranges.front().low == 0) {
      chosen = elect_of_function(&at_zero);
    } else if (function_starting_at(symbols_, 0) != nullptr) {
      chosen = elect_of_assembler(&at_zero);
    }
    if (chosen != nullptr) {
      out_.sequences.push_back(*chosen);
      --out_.dropped_sequences;
    }
    std::stable_sort(out_.sequences.begin(), out_.sequences.end(),
                     [](const LineSequence& a, const LineSequence& b) { return a.low < b.low; });
    out_.sequences.erase(
        std::unique(out_.sequences.begin(), out_.sequences.end(),
                    [](const LineSequence& a, const LineSequence& b) { return a.low == b.low; }),
        out_.sequences.end());
  }

  // Of the live function at 0: same line table, and either its length or, where a section holds
  // several functions, the ends of them.
  const LineSequence* elect_of_function(std::vector<LineSequence>* candidates) const {
    const LiveRange& live = out_.ranges.front();
    const DwarfFunction& function = functions_.functions[live.function];
    const uint64_t table = units_.units()[function.unit].line_offset;
    std::erase_if(*candidates, [&](const LineSequence& one) {
      return one.table != table || one.high < live.high || !ends_at_boundary(one.high);
    });
    const DwarfName name = name_of_die(units_, function.die);
    const uint32_t file =
        name.unit == nullptr ? kNone : lines_.file(name.unit->line_offset, name.file);
    // A function's first row is its opening line, on or closely behind its declaration.
    const LineSequence* best = nullptr;
    uint32_t best_distance = UINT32_MAX;
    bool is_tie = false;
    for (const LineSequence& one : *candidates) {
      const LineRow& row = lines_.rows[one.first_row];
      const uint32_t distance =
          row.file == file && row.line >= name.line ? row.line - name.line : UINT32_MAX - 1;
      is_tie = best != nullptr && distance == best_distance;
      if (distance < best_distance) {
        best = &one;
        best_distance = distance;
      }
    }
    return is_tie ? nullptr : best;
  }

  // Assembler without a DIE of its own: the only sequence of assembler that ends where a symbol
  // does.
  const LineSequence* elect_of_assembler(std::vector<LineSequence>* candidates) const {
    std::set<uint64_t> tables;
    for (const Unit& unit : units_.units()) {
      if (unit.language == kLanguageAssembler) tables.insert(unit.line_offset);
    }
    std::erase_if(*candidates, [&](const LineSequence& one) {
      return !tables.contains(one.table) || !ends_at_boundary(one.high);
    });
    return candidates->size() == 1 ? &candidates->front() : nullptr;
  }

  // Whether code may end there: at the end of a function or section, or at the padding before the
  // next function.
  bool ends_at_boundary(uint32_t address) const {
    const CodeRange* before = find_range(symbols_.ranges, address - 1);
    if (before == nullptr || before->end == address) return true;
    const Function& function = symbols_.functions[before->function];
    return function.size_is_estimated;
  }

  const std::vector<Section>& sections_;
  const SymbolTable& symbols_;
  const DwarfUnits& units_;
  const DwarfFunctions& functions_;
  const LineTables& lines_;
  LiveCode out_;
};

}  // namespace

LiveCode find_live_code(const std::vector<Section>& sections, const SymbolTable& symbols,
                        const DwarfUnits& units, const DwarfFunctions& functions,
                        const LineTables& lines) {
  return Finder(sections, symbols, units, functions, lines).find();
}

}  // namespace millrace::profile
