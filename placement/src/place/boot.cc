// SPDX-License-Identifier: Apache-2.0
// What must stay where it is stored. A program that runs from flash copies nothing yet, so there is
// no copy to look at; what can be known is the order in which the reset handler calls things, and
// where start-up ends. Calls are followed in the order of their addresses, which is the order of
// the source in the straight code that start-up is. Erring means to keep a function in flash that
// might have moved, and start-up code is not what an application spends its time in.
#include "millrace/placement/boot.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "millrace/link/bytes.h"

namespace millrace::placement {
namespace {

using profile::CallEdge;
using profile::CallGraph;
using profile::EdgeKind;
using profile::ElfIndex;
using profile::Function;
using profile::kNone;
using profile::Section;

constexpr size_t kMaxPathSteps = 64;
constexpr size_t kSystemVectors = 16;
constexpr size_t kMostVectors = 512;

// The program proper begins with these: newlib's, Zephyr's, the Pico SDK's, Arduino's, ours.
constexpr std::string_view kAfter[] = {
    "main",         "_main",       "__main", "__libc_init_array",  "_start", "z_cstart", "_Cstart",
    "runtime_init", "run_program", "setup",  "vTaskStartScheduler"};
// Behind the last call of one of these, the copies are done.
constexpr std::string_view kCopy[] = {
    "z_data_copy",  "arch_data_copy", "data_copy_xip_relocation", "memory_copy",
    "copy_words",   "z_early_memcpy", "arch_early_memcpy",        "data_init",
    "CopyDataInit", "data_cpy"};
constexpr std::string_view kReset[] = {"reset_handler", "Reset_Handler", "ResetHandler",
                                       "z_arm_reset",   "__start",       "_reset_handler",
                                       "ResetISR",      "_start"};

// `copy_words` of `a::(anonymous namespace)::copy_words(unsigned*)`, without clone suffixes.
std::string bare_name(const std::string& symbol) {
  std::string name = profile::readable_name(profile::base_name_of_clone(symbol));
  if (name.ends_with(')')) {
    int depth = 0;
    for (size_t i = name.size(); i > 0; --i) {
      depth += name[i - 1] == ')' ? 1 : name[i - 1] == '(' ? -1 : 0;
      if (depth == 0) {
        name.resize(i - 1);
        break;
      }
    }
  }
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

bool is_one_of(const Function& function, std::span<const std::string_view> names) {
  const auto has = [&](const std::string& symbol) {
    return std::find(names.begin(), names.end(), bare_name(symbol)) != names.end();
  };
  return has(function.name) || std::any_of(function.aliases.begin(), function.aliases.end(), has);
}

class Walk {
 public:
  Walk(const ElfIndex& index, const CallGraph& graph, const BootOptions& options, BootClosure* out)
      : graph_(graph), out_(*out), from_(index.functions().size(), kNotReached) {
    const std::vector<Function>& all = index.functions();
    after_.resize(all.size());
    copies_.resize(all.size());
    for (uint32_t i = 0; i < all.size(); ++i) {
      after_[i] = options.copy_end.empty() ? is_one_of(all[i], kAfter) : false;
      copies_[i] = options.copy_end.empty() && is_one_of(all[i], kCopy);
    }
    if (!options.copy_end.empty()) {
      const uint32_t end = index.function_named(options.copy_end);
      if (end != kNone) after_[end] = true;
    }
    find_spine();
  }

  void run() {
    for (const uint32_t root : out_.roots) {
      if (after_[root]) {
        out_.end_is_known = true;
        out_.copy_end = root;
        continue;
      }
      if (walk(root)) out_.end_is_known = true;
    }
    if (!out_.end_is_known && !out_.roots.empty()) {
      out_.notes.emplace_back(
          "where the start-up ends could not be told: everything that the reset handler calls "
          "stays where it is (name the first function behind it with --copy-end)");
    }
    for (uint32_t i = 0; i < from_.size(); ++i) {
      if (from_[i] == kNotReached) continue;
      out_.functions.push_back({i, from_[i]});
      out_.indirect_calls += static_cast<uint32_t>(graph_.unknown_calls(i).size());
    }
  }

 private:
  static constexpr uint32_t kNotReached = kNone - 1;

  // Functions from which the program proper is reached.
  void find_spine() {
    std::vector<std::vector<uint32_t>> callers(after_.size());
    for (const CallEdge& edge : graph_.edges()) callers[edge.to].push_back(edge.from);
    spine_ = after_;
    std::vector<uint32_t> todo;
    for (uint32_t i = 0; i < spine_.size(); ++i) {
      if (spine_[i]) todo.push_back(i);
    }
    while (!todo.empty()) {
      const uint32_t at = todo.back();
      todo.pop_back();
      for (const uint32_t caller : callers[at]) {
        if (spine_[caller]) continue;
        spine_[caller] = true;
        todo.push_back(caller);
      }
    }
  }

  void take(uint32_t function, uint32_t from) {
    std::vector<uint32_t> todo;
    const auto add = [&](uint32_t one, uint32_t by) {
      if (from_[one] != kNotReached) return;
      from_[one] = by;
      todo.push_back(one);
    };
    add(function, from);
    while (!todo.empty()) {
      const uint32_t at = todo.back();
      todo.pop_back();
      const bool calls_unknown = !graph_.unknown_calls(at).empty();
      for (const CallEdge& edge : graph_.from(at)) {
        if (edge.kind == EdgeKind::address && !calls_unknown) continue;
        if (!after_[edge.to]) add(edge.to, at);
      }
    }
  }

  // A function on the way whose calls are looked at one by one.
  struct Step {
    uint32_t function = kNone;
    size_t next = 0, last_copy = 0;  // calls
    bool calls_unknown = false;
  };

  Step enter(uint32_t function) {
    if (from_[function] == kNotReached) from_[function] = kNone;
    walked_.insert(function);
    const std::span<const CallEdge> edges = graph_.from(function);
    Step out{function, 0, edges.size(), !graph_.unknown_calls(function).empty()};
    for (size_t i = 0; i < edges.size(); ++i) {
      if (edges[i].kind != EdgeKind::address && copies_[edges[i].to]) out.last_copy = i;
    }
    return out;
  }

  // Whether the call before the next one was the last that copies.
  bool has_copied(const Step& step) {
    if (step.next != step.last_copy + 1) return false;
    out_.copy_end = graph_.from(step.function)[step.last_copy].to;
    return true;
  }

  // The straight part of the start-up; true if its end was met. Its depth is up to the program, so
  // it is kept here and not on the stack.
  bool walk(uint32_t root) {
    std::vector<Step> open{enter(root)};
    while (!open.empty()) {
      Step& step = open.back();
      const std::span<const CallEdge> edges = graph_.from(step.function);
      if (step.next == edges.size()) {
        open.pop_back();
        if (!open.empty() && has_copied(open.back())) return true;
        continue;
      }
      const CallEdge& edge = edges[step.next++];
      if (edge.kind == EdgeKind::address && !step.calls_unknown) continue;
      if (after_[edge.to]) {
        out_.copy_end = edge.to;
        return true;
      }
      if (edge.kind != EdgeKind::address && spine_[edge.to] && !walked_.contains(edge.to)) {
        if (from_[edge.to] == kNotReached) from_[edge.to] = step.function;
        open.push_back(enter(edge.to));
        continue;
      }
      take(edge.to, step.function);
      if (has_copied(step)) return true;
    }
    return false;
  }

  const CallGraph& graph_;
  BootClosure& out_;
  std::vector<uint32_t> from_;
  std::vector<bool> after_, copies_, spine_;
  std::set<uint32_t> walked_;
};

uint32_t word_at(const ElfIndex& index, uint32_t address) {
  const std::span<const uint8_t> bytes = index.bytes_at(address, 4);
  return bytes.empty() ? 0 : link::load_le32(bytes.data());
}

uint32_t function_starting_at(const ElfIndex& index, uint32_t pointer) {
  const uint32_t function = index.function_at(pointer & ~1u);
  return function != kNone && index.functions()[function].start == (pointer & ~1u) ? function
                                                                                   : kNone;
}

// Where a table of handlers stands: stack, reset, and then functions or zeros.
std::vector<uint32_t> vector_tables(const ElfIndex& index) {
  std::vector<uint32_t> out;
  for (const Section& section : index.sections()) {
    if (!section.is_stored || section.size < kSystemVectors * 4) continue;
    const std::span<const uint8_t> bytes = index.bytes_at(section.address, section.size);
    if (bytes.empty()) continue;
    // VTOR: multiples of 128 (v7-M B3.2.5).
    for (uint32_t at = (128 - section.address % 128) % 128; at + kSystemVectors * 4 <= bytes.size();
         at += 128) {
      const uint32_t stack = link::load_le32(&bytes[at]);
      if (stack < 0x10000000 || stack >= 0x60000000 || stack % 4 != 0) continue;
      size_t handlers = 0;
      bool good = true;
      for (size_t i = 1; i < kSystemVectors && good; ++i) {
        const uint32_t word = link::load_le32(&bytes[at + i * 4]);
        const bool is_handler = (word & 1) != 0 && function_starting_at(index, word) != kNone;
        handlers += is_handler ? 1 : 0;
        good = word == 0 || is_handler;
      }
      const bool has_reset = (link::load_le32(&bytes[at + 4]) & 1) != 0;
      if (good && has_reset && handlers >= 3) out.push_back(section.address + at);
    }
  }
  return out;
}

}  // namespace

bool BootClosure::contains(uint32_t function) const {
  const auto it =
      std::lower_bound(functions.begin(), functions.end(), function,
                       [](const BootFunction& a, uint32_t b) { return a.function < b; });
  return it != functions.end() && it->function == function;
}

std::string BootClosure::path_to(uint32_t function, const ElfIndex& index) const {
  std::string out;
  for (size_t i = 0; i < kMaxPathSteps && function != kNone; ++i) {
    const auto it =
        std::lower_bound(functions.begin(), functions.end(), function,
                         [](const BootFunction& a, uint32_t b) { return a.function < b; });
    if (it == functions.end() || it->function != function) break;
    const std::string name = bare_name(index.functions()[function].name);
    out.insert(0, out.empty() ? name : fmt::format("{} -> ", name));
    function = it->reached_from;
  }
  return out;
}

profile::Failure check_boot_options(const ElfIndex& index, const BootOptions& options) {
  if (options.copy_end.empty() || index.function_named(options.copy_end) != kNone) return {};
  return profile::Error{profile::Error::Kind::usage,
                        fmt::format("--copy-end {}: no function of that name is in the program "
                                    "(give the name as the ELF spells it)",
                                    profile::printable(options.copy_end, 80))};
}

BootClosure find_boot_closure(const ElfIndex& index, const CallGraph& graph,
                              const BootOptions& options) {
  BootClosure out;
  if (!graph.is_known()) {
    out.notes.emplace_back(
        "calls are read from ARM code only: what runs before the copy is not known (keep start-up "
        "code out with --never)");
    return out;
  }
  std::set<uint32_t> roots;
  const auto add = [&](uint32_t pointer) {
    const uint32_t function = function_starting_at(index, pointer);
    if (function != kNone) roots.insert(function);
  };
  add(index.entry());
  // The entry may be a boot ROM's table of tag 0xD1, with the code's entry second.
  if (roots.empty() && (word_at(index, index.entry()) & 0xFF) == 0xD1) {
    add(word_at(index, index.entry() + 4));
  }
  for (const uint32_t table : vector_tables(index)) add(word_at(index, table + 4));
  for (const std::string_view name : kReset) {
    if (!roots.empty()) break;
    const uint32_t function = index.function_named(std::string(name));
    if (function != kNone) roots.insert(function);
  }
  for (const std::string& name : options.also) {
    const uint32_t function = index.function_named(name);
    if (function != kNone) roots.insert(function);
  }
  out.roots.assign(roots.begin(), roots.end());
  if (out.roots.empty()) {
    out.notes.emplace_back(
        "no reset handler was found: what runs before the copy is not known (keep start-up code "
        "out with --never)");
    return out;
  }
  Walk(index, graph, options, &out).run();
  return out;
}

std::vector<uint32_t> interrupt_handlers(const ElfIndex& index) {
  std::vector<uint32_t> out;
  for (const uint32_t table : vector_tables(index)) {
    std::vector<uint32_t> entries;
    for (size_t i = 2; i < kMostVectors; ++i) {
      const uint32_t word = word_at(index, table + static_cast<uint32_t>(i) * 4);
      if (word == 0) continue;
      const uint32_t function = (word & 1) != 0 ? function_starting_at(index, word) : kNone;
      if (function == kNone) break;
      entries.push_back(function);
    }
    for (const uint32_t one : entries) {
      if (std::count(entries.begin(), entries.end(), one) <= 2) out.push_back(one);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace millrace::placement
