// SPDX-License-Identifier: Apache-2.0
// A function on the way to the copy runs in part: what its control flow reaches without passing the
// copy, and what leads to it. Everything that it calls by then runs wholly. The copy is a range of
// addresses, a call or a loop, which is left when it is done; so edges that lead out of it are not
// followed.
#include "code/boot_walk.h"

#include <algorithm>
#include <deque>

namespace millrace::profile {
namespace {

constexpr unsigned kMaxLoopDepth = 64;

size_t position_of(const std::vector<Instruction>& code, uint32_t address) {
  const auto it = std::lower_bound(code.begin(), code.end(), address,
                                   [](const Instruction& one, uint32_t a) { return one.at < a; });
  if (it == code.end() || it->at != address) return code.size();
  return static_cast<size_t>(it - code.begin());
}

class Walk {
 public:
  Walk(const ElfIndex& index, const CallGraph& graph, CodeStore* code, CopiedSection* out)
      : index_(index), graph_(graph), code_(*code), out_(*out), seen_(index.functions().size()) {}

  void path_step(const PathStep& step) {
    const std::vector<Instruction>& code = code_.of(step.function);
    const std::vector<bool> runs = executed(code, step.region);
    const auto is_run = [&](uint32_t site) {
      const size_t i = position_of(code, site);
      return i < code.size() && runs[i];
    };
    for (const CallEdge& edge : graph_.from(step.function)) {
      if (!is_run(edge.site)) continue;
      if (edge.to == step.next && step.region.holds(edge.site)) continue;
      if (edge.to == step.function && edge.kind != EdgeKind::address) continue;
      take(edge);
    }
    for (const uint32_t site : graph_.unknown_calls(step.function)) {
      if (is_run(site)) out_.unknown.push_back({step.function, site, kNone});
    }
  }

  void enter(const BootStep& step) {
    if (seen_[step.function]) return;
    seen_[step.function] = true;
    out_.before.push_back(step);
  }

  void whole(const BootStep& step) {
    if (!seen_[step.function]) queue_.push_back(step.function);
    enter(step);
  }

  void finish() {
    while (!queue_.empty()) {
      const uint32_t function = queue_.front();
      queue_.pop_front();
      for (const CallEdge& edge : graph_.from(function)) take(edge);
      for (const uint32_t site : graph_.unknown_calls(function)) {
        out_.unknown.push_back({function, site, kNone});
      }
    }
  }

 private:
  void take(const CallEdge& edge) {
    if (edge.kind == EdgeKind::address) {
      if (index_.functions()[edge.to].section == out_.section) {
        out_.unknown.push_back({edge.from, edge.site, edge.to});
      }
      return;
    }
    whole({edge.to, edge.from, edge.site, edge.veneer, edge.kind});
  }

  // What the copy can still follow on: a branch around it (nothing to copy) leads behind it.
  std::vector<bool> executed(const std::vector<Instruction>& code, const CopyRegion& region) const {
    std::vector<bool> reached(code.size()), runs(code.size());
    std::vector<std::pair<size_t, size_t>> edges;  // to, from
    std::vector<size_t> open;
    const auto add = [&](size_t from, size_t to) {
      if (to >= code.size()) return;
      if (region.holds(code[from].at) && !region.holds(code[to].at)) return;
      edges.emplace_back(to, from);
      if (reached[to]) return;
      reached[to] = true;
      open.push_back(to);
    };
    if (code.empty()) return runs;
    reached[0] = true;
    open.push_back(0);
    while (!open.empty()) {
      const size_t i = open.back();
      open.pop_back();
      successors(code, i, add);
    }
    std::sort(edges.begin(), edges.end());
    for (size_t i = 0; i < code.size(); ++i) {
      if (!reached[i] || !region.holds(code[i].at)) continue;
      runs[i] = true;
      open.push_back(i);
    }
    while (!open.empty()) {
      const size_t to = open.back();
      open.pop_back();
      for (auto it = std::lower_bound(edges.begin(), edges.end(), std::pair(to, size_t{0}));
           it != edges.end() && it->first == to; ++it) {
        if (runs[it->second]) continue;
        runs[it->second] = true;
        open.push_back(it->second);
      }
    }
    return runs;
  }

  template <class Add>
  void successors(const std::vector<Instruction>& code, size_t i, const Add& add) const {
    const Instruction& one = code[i];
    const FlowKind kind = one.flow.kind;
    if (kind == FlowKind::jump || kind == FlowKind::branch) {
      add(i, position_of(code, one.flow.target));
    } else if (kind == FlowKind::table_jump) {
      for (const uint32_t target : table_targets(index_, one)) add(i, position_of(code, target));
    }
    const bool goes_on = one.is_conditional || kind == FlowKind::next || kind == FlowKind::branch ||
                         kind == FlowKind::call || kind == FlowKind::indirect_call;
    if (goes_on) add(i, i + 1);
  }

  const ElfIndex& index_;
  const CallGraph& graph_;
  CodeStore& code_;
  CopiedSection& out_;
  std::vector<bool> seen_;
  std::deque<uint32_t> queue_;
};

}  // namespace

const std::vector<Instruction>& CodeStore::of(uint32_t function) {
  const auto found = code_.find(function);
  if (found != code_.end()) return found->second;
  return code_.emplace(function, decode_function(index_, function)).first->second;
}

void walk_to_copy(const ElfIndex& index, const CallGraph& graph, CodeStore* code,
                  const std::vector<PathStep>& path, uint32_t whole, CopiedSection* out) {
  Walk walk(index, graph, code, out);
  for (size_t i = 0; i < path.size(); ++i) {
    BootStep step{path[i].function, kNone, 0, kNone, EdgeKind::call};
    if (i > 0) {
      step.caller = path[i - 1].function;
      step.site = path[i - 1].region.first;
    }
    walk.enter(step);
  }
  for (const PathStep& step : path) walk.path_step(step);
  if (whole != kNone) {
    BootStep step{whole, kNone, 0, kNone, EdgeKind::call};
    if (!path.empty()) {
      step.caller = path.back().function;
      step.site = path.back().region.first;
    }
    walk.whole(step);
  }
  walk.finish();
}

std::vector<uint32_t> shortest_path(const CallGraph& graph, size_t functions, uint32_t entry,
                                    uint32_t to) {
  std::vector<uint32_t> before(functions, kNone);
  std::deque<uint32_t> open{entry};
  before[entry] = entry;
  while (!open.empty() && before[to] == kNone) {
    const uint32_t at = open.front();
    open.pop_front();
    for (const CallEdge& edge : graph.from(at)) {
      if (edge.kind == EdgeKind::address || before[edge.to] != kNone) continue;
      before[edge.to] = at;
      open.push_back(edge.to);
    }
  }
  std::vector<uint32_t> out;
  if (before[to] == kNone) return out;
  for (uint32_t at = to; at != entry; at = before[at]) out.push_back(at);
  out.push_back(entry);
  std::reverse(out.begin(), out.end());
  return out;
}

CopyRegion with_loops_around(const std::vector<Instruction>& code, CopyRegion region) {
  bool has_grown = !code.empty();
  for (unsigned pass = 0; has_grown && pass < kMaxLoopDepth; ++pass) {
    has_grown = false;
    for (const Instruction& one : code) {
      if (one.flow.kind != FlowKind::jump && one.flow.kind != FlowKind::branch) continue;
      const uint32_t target = one.flow.target;
      const bool is_around = target <= region.first && one.at >= region.last;
      const bool overlaps = target <= region.last && target >= region.first && one.at > region.last;
      // A jump to the first instruction is a restart, not a loop.
      if (target > code.front().at && (is_around || overlaps) &&
          (target < region.first || one.at > region.last)) {
        region.first = std::min(region.first, target);
        region.last = one.at;
        has_grown = true;
      }
    }
  }
  return region;
}

}  // namespace millrace::profile
