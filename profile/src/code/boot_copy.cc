// SPDX-License-Identifier: Apache-2.0
// A program that is partly copied to RAM at its start must not run what it has not copied yet: it
// finds whatever the RAM held. Linkers do not notice, and debuggers hide it: they load the RAM.
//
// For each copied section with code: find the copy (copy_site.cc), walk from the entry to it
// (boot_walk.cc), and see whether anything on the way stands in the section. Calls through
// pointers are not followed; they are listed.
#include "millrace/profile/boot_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "code/copy_site.h"
#include "millrace/profile/similar_names.h"

namespace millrace::profile {
namespace {

constexpr const char* kResetNames[] = {"Reset_Handler", "reset_handler", "ResetHandler",
                                       "ResetISR",      "__start",       "_reset_handler",
                                       "z_arm_reset",   "_start"};
constexpr uint32_t kVtor = 0xE000ED08;
constexpr size_t kMaxSteps = 64;
constexpr size_t kMaxSections = 64;
constexpr size_t kMaxSites = 16;  // of one copy that are looked at: the last

class Analysis {
 public:
  Analysis(const ElfIndex& index, const CallGraph& graph, const BootOptions& options,
           BootReport* out)
      : index_(index), graph_(graph), options_(options), out_(*out), code_(index) {}

  Failure run() {
    Failure failure = find_entry();
    if (failure) return failure;
    uint32_t copy_end = kNone;
    if (!options_.copy_end.empty()) {
      copy_end = index_.function_named(options_.copy_end);
      if (copy_end == kNone) return no_function("--copy-end", options_.copy_end);
    }
    reach();
    std::vector<uint32_t> copied, values{handler()};
    for (uint32_t i = 0; i < index_.sections().size(); ++i) {
      const Section& section = index_.sections()[i];
      if (!section.is_code || !section.is_stored || !is_copied(section)) continue;
      if (copied.size() == kMaxSections) {
        out_.notes.push_back(
            fmt::format("only the first {} copied sections were looked at", kMaxSections));
        break;
      }
      copied.push_back(i);
      values.push_back(section.load_address);
    }
    if (copied.empty()) return {};
    words_ = find_words(index_, values);
    const std::vector<KnownConstant> constants = constants_of(index_, &code_, reached_);
    for (const uint32_t i : copied) {
      CopiedSection one;
      one.section = i;
      const Failure wrong = copy_end != kNone ? walk_to(copy_end, &one) : find(constants, &one);
      if (wrong) return wrong;
      judge(&one);
      out_.sections.push_back(std::move(one));
    }
    start_state();
    return {};
  }

 private:
  static bool is_copied(const Section& section) { return section.load_address != section.address; }

  uint32_t handler() const { return index_.functions()[out_.entry].start | 1; }

  Failure no_function(const char* option, const std::string& name) const {
    return no_such_function(option, index_, name);
  }

  uint32_t function_starting_at(uint32_t address) const {
    const uint32_t function = index_.function_at(address & ~1u);
    if (function == kNone || index_.functions()[function].start != (address & ~1u)) return kNone;
    return function;
  }

  Failure find_entry() {
    if (!options_.entry.empty()) {
      out_.entry = index_.function_named(options_.entry);
      return out_.entry == kNone ? no_function("--entry", options_.entry) : Failure();
    }
    if (index_.entry() != 0) {
      out_.entry = function_starting_at(index_.entry());
      // A vector table: the reset handler is its second word.
      const auto word = word_at(index_, (index_.entry() & ~3u) + 4);
      if (out_.entry == kNone && word && (*word & 1) != 0) out_.entry = function_starting_at(*word);
    }
    for (const char* name : kResetNames) {
      if (out_.entry == kNone) out_.entry = index_.function_named(name);
    }
    if (out_.entry != kNone) return {};
    return Error{Error::Kind::malformed,
                 fmt::format("{}: its entry point 0x{:08X} is no function and no vector table "
                             "(name the reset handler with --entry)",
                             printable(index_.path()), index_.entry())};
  }

  // Everything that calls reach, addresses included: start-up code may go through tables.
  void reach() {
    std::vector<bool> seen(index_.functions().size());
    std::deque<uint32_t> open{out_.entry};
    seen[out_.entry] = true;
    while (!open.empty()) {
      const uint32_t at = open.front();
      open.pop_front();
      reached_.push_back(at);
      for (const CallEdge& edge : graph_.from(at)) {
        if (edge.kind == EdgeKind::address || seen[edge.to]) continue;
        seen[edge.to] = true;
        open.push_back(edge.to);
      }
    }
  }

  std::vector<PathStep> path_to(uint32_t function) {
    std::vector<PathStep> out;
    const std::vector<uint32_t> functions =
        shortest_path(graph_, index_.functions().size(), out_.entry, function);
    for (size_t i = 0; i < functions.size(); ++i) {
      PathStep step;
      step.function = functions[i];
      if (i + 1 < functions.size()) {
        step.next = functions[i + 1];
        for (const CallEdge& edge : graph_.from(step.function)) {
          if (edge.to != step.next || edge.kind == EdgeKind::address) continue;
          step.region = {edge.site, edge.site};
          break;
        }
      }
      out.push_back(step);
    }
    return out;
  }

  Failure walk_to(uint32_t copy_end, CopiedSection* out) {
    std::vector<PathStep> path = path_to(copy_end);
    if (path.empty()) {
      return Error{Error::Kind::usage,
                   fmt::format("--copy-end: no calls lead from {} to {} (name a function that the "
                               "start-up code calls)",
                               printable(index_.functions()[out_.entry].name),
                               printable(options_.copy_end))};
    }
    path.pop_back();
    out->copy_is_found = true;
    out->copier = copy_end;
    out->copy_site = index_.functions()[copy_end].start;
    walk_to_copy(index_, graph_, &code_, path, copy_end, out);
    return {};
  }

  Failure find(const std::vector<KnownConstant>& constants, CopiedSection* out) {
    const Section& section = index_.sections()[out->section];
    const std::optional<CopySite> site = find_copy(index_, section, reached_, constants, words_);
    if (!site) return {};
    std::vector<PathStep> path = path_to(site->function);
    if (path.empty()) return {};
    const std::vector<Instruction>& code = code_.of(site->function);
    // The last copy from there: a section may be copied in parts.
    CopyRegion region;
    const std::vector<size_t>& sites = site->instructions;
    for (size_t k = sites.size() - std::min(sites.size(), kMaxSites); k < sites.size(); ++k) {
      const CopyRegion one = copy_region(index_, graph_, site->function, code, sites[k]);
      if (one.last >= region.last) region = one;
    }
    path.back().region = region;
    out->copy_is_found = true;
    out->copier = site->function;
    out->copy_site = region.first;
    out->copy_table = site->table;
    walk_to_copy(index_, graph_, &code_, path, kNone, out);
    return {};
  }

  void judge(CopiedSection* one) {
    for (const BootStep& step : one->before) {
      if (index_.functions()[step.function].section == one->section) one->unsafe.push_back(step);
    }
    const Section& section = index_.sections()[one->section];
    if (one->copy_table != 0) {
      const Section& home = index_.sections()[index_.section_at(one->copy_table)];
      if (is_copied(home)) {
        out_.problems.push_back(
            fmt::format("the table at 0x{:08X} that says what to copy to {} is itself copied, with "
                        "{} (keep it where it is stored)",
                        one->copy_table, printable(section.name), printable(home.name)));
      }
    }
    if (one->copy_is_found) vector_register(*one);
  }

  // VTOR pointed to a table that is copied later: an early fault would jump anywhere.
  void vector_register(const CopiedSection& one) {
    bool writes_vtor = false;
    uint32_t table = 0;
    for (const BootStep& step : one.before) {
      const std::vector<Instruction>& code = code_.of(step.function);
      for (size_t i = 0; i < code.size(); ++i) {
        const std::optional<Constant> constant = constant_of(index_, code, i);
        if (!constant || step.function == one.copier) continue;
        writes_vtor |= constant->value == kVtor;
        const uint32_t home = index_.section_at(constant->value);
        if (home != one.section || constant->value % 128 != 0) continue;
        const auto reset = word_at(index_, constant->value + 4);
        if (reset && (*reset & 1) != 0 && function_starting_at(*reset) != kNone) {
          table = constant->value;
        }
      }
    }
    if (writes_vtor && table != 0) {
      out_.problems.push_back(fmt::format(
          "VTOR is set to the vector table at 0x{:08X} before {} is copied there (set it after the "
          "copy)",
          table, printable(index_.sections()[one.section].name)));
    }
  }

  // Whatever starts the core reads the reset handler's address, and mostly a stack pointer in front
  // of it, from memory that nobody has copied yet.
  void start_state() {
    bool is_stored_in_place = false;
    const Section* copied = nullptr;
    for (const uint32_t place : words_[handler()]) {
      const Section& home = index_.sections()[index_.section_at(place)];
      if (is_copied(home)) {
        copied = &home;
        continue;
      }
      is_stored_in_place = true;
      const auto pointer = word_at(index_, place - 4);
      if (pointer) stack(*pointer);
    }
    if (copied != nullptr && !is_stored_in_place) {
      out_.problems.push_back(fmt::format(
          "the vector table with the reset handler stands only in {}, which is copied (keep one "
          "where the core looks for it at reset)",
          printable(copied->name)));
    }
  }

  void stack(uint32_t pointer) {
    if (pointer % 4 != 0 || has_stack_problem_) return;
    for (const CopiedSection& one : out_.sections) {
      const Section& section = index_.sections()[one.section];
      if (pointer <= section.address || pointer > section.end()) continue;
      has_stack_problem_ = true;
      out_.problems.push_back(fmt::format(
          "the initial stack pointer 0x{:08X} lies in {}: the stack and the copy overwrite each "
          "other",
          pointer, printable(section.name)));
    }
  }

  const ElfIndex& index_;
  const CallGraph& graph_;
  const BootOptions& options_;
  BootReport& out_;
  CodeStore code_;
  WordPlaces words_;
  std::vector<uint32_t> reached_;  // the nearest first
  bool has_stack_problem_ = false;
};

}  // namespace

Failure analyse_boot(const ElfIndex& index, const CallGraph& graph, const BootOptions& options,
                     BootReport* out) {
  *out = BootReport();
  if (!graph.is_known()) {
    out->notes.emplace_back(
        "start-up code was not looked at: calls are followed in Thumb code only");
    return {};
  }
  if (index.functions().empty()) {
    out->notes.emplace_back("start-up code was not looked at: the program has no symbols");
    return {};
  }
  return Analysis(index, graph, options, out).run();
}

std::string boot_path(const ElfIndex& index, const CopiedSection& section, const BootStep& step) {
  std::vector<std::string> names;
  const BootStep* at = &step;
  while (at != nullptr && names.size() < kMaxSteps) {
    std::string name = printable(readable_name(index.functions()[at->function].name), 80);
    if (at->kind == EdgeKind::falls_through) name += " (runs on into it)";
    if (at->veneer != kNone) name += " (by a veneer)";
    names.push_back(std::move(name));
    const uint32_t caller = at->caller;
    at = nullptr;
    if (caller == kNone) break;
    const auto it = std::find_if(section.before.begin(), section.before.end(),
                                 [&](const BootStep& one) { return one.function == caller; });
    if (it != section.before.end()) at = &*it;
  }
  std::reverse(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, " -> "));
}

}  // namespace millrace::profile
