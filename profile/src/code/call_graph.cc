// SPDX-License-Identifier: Apache-2.0
#include "millrace/profile/call_graph.h"

#include <algorithm>

#include "code/function_code.h"

namespace millrace::profile {
namespace {

constexpr unsigned kMaxVeneers = 4;  // one after another

// The function that starts at an address, Thumb bit aside; kNone if none does.
uint32_t index_of_start(const ElfIndex& index, uint32_t address) {
  const uint32_t function = index.function_at(address & ~1u);
  if (function == kNone || index.functions()[function].start != (address & ~1u)) return kNone;
  return function;
}

// GNU ld: `ldr pc, [pc]`, or through a register; lld: `movw, movt, bx`. The address in it is that
// of the function.
uint32_t veneer_step(const ElfIndex& index, uint32_t veneer) {
  const std::vector<Instruction> code = decode_function(index, veneer);
  for (size_t i = 0; i < code.size(); ++i) {
    const Flow& flow = code[i].flow;
    if (flow.kind == FlowKind::jump) return index.function_at(flow.target);
    std::optional<uint32_t> target = indirect_target(index, code, i);
    if (const auto constant = constant_of(index, code, i); !target && constant) {
      target = constant->value;
    }
    const uint32_t to = target ? index_of_start(index, *target) : kNone;
    if (to != kNone && to != veneer) return to;
  }
  return kNone;
}

class CallGraphBuilder {
 public:
  CallGraphBuilder(const ElfIndex& index, std::vector<CallEdge>* edges,
                   std::vector<uint32_t>* unknown)
      : index_(index), edges_(*edges), unknown_(*unknown), veneers_(index.functions().size()) {}

  void add(uint32_t function) {
    const std::vector<Instruction> code = decode_function(index_, function);
    for (size_t i = 0; i < code.size(); ++i) {
      const Instruction& one = code[i];
      switch (one.flow.kind) {
        case FlowKind::call:
          edge(function, one.at, index_.function_at(one.flow.target), EdgeKind::call);
          break;
        case FlowKind::jump:
        case FlowKind::branch: {
          const uint32_t to = index_.function_at(one.flow.target);
          if (to != function) edge(function, one.at, to, EdgeKind::jump);
          break;
        }
        case FlowKind::indirect_call:
        case FlowKind::indirect_jump:
        case FlowKind::literal_jump:
          indirect(function, code, i);
          break;
        default:
          break;
      }
      address(function, code, i);
    }
    if (!code.empty()) last(function, code.back());
  }

 private:
  void edge(uint32_t from, uint32_t site, uint32_t to, EdgeKind kind) {
    if (to == kNone) {
      unknown_.push_back(site);
      return;
    }
    CallEdge out{from, to, site, kNone, kind};
    if (index_.functions()[to].kind == FunctionKind::veneer) {
      std::optional<uint32_t>& target = veneers_[to];
      if (!target) target = veneer_target(index_, to);
      if (*target != kNone) {
        out.veneer = to;
        out.to = *target;
      }
    }
    edges_.push_back(out);
  }

  void indirect(uint32_t function, const std::vector<Instruction>& code, size_t i) {
    const Instruction& one = code[i];
    const std::optional<uint32_t> target = indirect_target(index_, code, i);
    const uint32_t to = target ? index_.function_at(*target & ~1u) : kNone;
    if (to == kNone) {
      unknown_.push_back(one.at);
    } else if (to != function) {
      edge(function, one.at, to,
           one.flow.kind == FlowKind::indirect_call ? EdgeKind::call : EdgeKind::jump);
    }
  }

  void address(uint32_t function, const std::vector<Instruction>& code, size_t i) {
    const std::optional<Constant> constant = constant_of(index_, code, i);
    if (!constant || (constant->value & 1) == 0) return;
    const uint32_t to = index_of_start(index_, constant->value);
    if (to != kNone && to != function) edge(function, code[i].at, to, EdgeKind::address);
  }

  // Hand-written code runs from one label into the next.
  void last(uint32_t function, const Instruction& one) {
    const FlowKind kind = one.flow.kind;
    const bool goes_on = one.is_conditional || kind == FlowKind::next || kind == FlowKind::branch;
    if (!goes_on) return;
    const uint32_t to = index_of_start(index_, one.end());
    if (to != kNone && to != function &&
        index_.functions()[to].section == index_.functions()[function].section) {
      edge(function, one.at, to, EdgeKind::falls_through);
    }
  }

  const ElfIndex& index_;
  std::vector<CallEdge>& edges_;
  std::vector<uint32_t>& unknown_;
  std::vector<std::optional<uint32_t>> veneers_;
};

}  // namespace

uint32_t veneer_target(const ElfIndex& index, uint32_t veneer) {
  uint32_t at = veneer;
  for (unsigned i = 0; i < kMaxVeneers; ++i) {
    at = veneer_step(index, at);
    if (at == kNone || index.functions()[at].kind != FunctionKind::veneer) return at;
  }
  return kNone;
}

std::vector<uint32_t> constants_made(const ElfIndex& index, uint32_t function) {
  const std::vector<Instruction> code = decode_function(index, function);
  std::vector<uint32_t> out;
  for (size_t i = 0; i < code.size(); ++i) {
    if (const auto one = constant_of(index, code, i)) out.push_back(one->value);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

CallGraph CallGraph::build(const ElfIndex& index) {
  CallGraph out;
  const size_t count = index.functions().size();
  out.first_edge_.assign(count + 1, 0);
  out.first_unknown_.assign(count + 1, 0);
  out.is_known_ = index.machine() == Machine::arm;
  if (!out.is_known_) return out;
  CallGraphBuilder builder(index, &out.edges_, &out.unknown_);
  for (uint32_t i = 0; i < count; ++i) {
    builder.add(i);
    out.first_edge_[i + 1] = static_cast<uint32_t>(out.edges_.size());
    out.first_unknown_[i + 1] = static_cast<uint32_t>(out.unknown_.size());
  }
  return out;
}

std::span<const CallEdge> CallGraph::from(uint32_t function) const {
  return std::span(edges_).subspan(first_edge_[function],
                                   first_edge_[function + 1] - first_edge_[function]);
}

std::span<const uint32_t> CallGraph::unknown_calls(uint32_t function) const {
  return std::span(unknown_).subspan(first_unknown_[function],
                                     first_unknown_[function + 1] - first_unknown_[function]);
}

}  // namespace millrace::profile
