// SPDX-License-Identifier: Apache-2.0
// Where the toolchain's mapping symbols are there they say what is data. Without them (`strip -x`)
// data is what an instruction before it reads: literals by their loads, tables by TBB and TBH.
#include "code/function_code.h"

#include <algorithm>
#include <set>

#include "millrace/link/bytes.h"

namespace millrace::profile {
namespace {

constexpr uint32_t kMaxTableEntries = 4096;
// How far back the address of an indirect call is looked for, and MOVW for a MOVT.
constexpr size_t kLookBack = 12;

std::optional<uint32_t> half_at(const ElfIndex& index, uint32_t address) {
  const std::span<const uint8_t> bytes = index.bytes_at(address, 2);
  if (bytes.empty()) return std::nullopt;
  return link::load_le16(bytes.data());
}

// A table ends where the first of its targets begins.
uint32_t table_end(const ElfIndex& index, const Instruction& instruction,
                   std::vector<uint32_t>* targets) {
  const uint32_t table = instruction.end();
  const uint32_t entry = instruction.flow.is_wide_table ? 2 : 1;
  uint32_t end = UINT32_MAX, at = table;
  for (uint32_t i = 0; i < kMaxTableEntries && at < end; ++i, at += entry) {
    const std::span<const uint8_t> bytes = index.bytes_at(at, entry);
    if (bytes.empty()) break;
    const uint32_t offset = entry == 2 ? link::load_le16(bytes.data()) : bytes[0];
    const uint32_t target = table + 2 * offset;
    if (target <= at) break;  // padding
    end = std::min(end, target);
    if (targets != nullptr) targets->push_back(target);
  }
  return at + (at & 1);
}

}  // namespace

std::optional<uint32_t> word_at(const ElfIndex& index, uint32_t address) {
  const std::span<const uint8_t> bytes = index.bytes_at(address, 4);
  if (bytes.empty()) return std::nullopt;
  return link::load_le32(bytes.data());
}

std::vector<uint32_t> table_targets(const ElfIndex& index, const Instruction& instruction) {
  std::vector<uint32_t> out;
  table_end(index, instruction, &out);
  return out;
}

std::vector<Instruction> decode_function(const ElfIndex& index, uint32_t function) {
  std::vector<Instruction> out;
  if (index.machine() != Machine::arm) return out;
  const Function& f = index.functions()[function];
  const bool is_mapped = index.has_mapping_symbols();
  std::set<uint32_t> literals;
  uint32_t conditional = 0;
  const uint64_t end = uint64_t{f.start} + f.size;
  for (uint64_t wide_at = f.start; wide_at + 2 <= end;) {
    const auto at = static_cast<uint32_t>(wide_at);
    const uint32_t owner = index.function_at(at);
    if (owner != function) {  // a second entry point inside it
      if (owner == kNone) break;
      const Function& inner = index.functions()[owner];
      wide_at = std::max<uint64_t>(wide_at + 2, uint64_t{inner.start} + inner.size);
      continue;
    }
    if (is_mapped ? index.is_data_at(at) : literals.contains(at & ~3u)) {
      wide_at += 2;
      continue;
    }
    const std::optional<uint32_t> first = half_at(index, at);
    if (!first) break;
    const std::optional<uint32_t> second = is_wide(*first) ? half_at(index, at + 2) : 0;
    if (!second) break;
    Instruction one;
    one.at = at;
    one.flow = decode_flow(at, *first, *second);
    one.is_conditional = conditional > 0;
    if (conditional > 0) --conditional;
    if (one.flow.conditional_after > 0) conditional = one.flow.conditional_after;
    if (!is_mapped && one.flow.constant == ConstantKind::literal) literals.insert(one.flow.value);
    if (!is_mapped && one.flow.kind == FlowKind::literal_jump) literals.insert(one.flow.target);
    wide_at = one.end();
    if (!is_mapped && one.flow.kind == FlowKind::table_jump) {
      wide_at = std::max<uint64_t>(wide_at, table_end(index, one, nullptr));
    }
    out.push_back(one);
  }
  return out;
}

std::optional<Constant> constant_of(const ElfIndex& index, const std::vector<Instruction>& code,
                                    size_t i) {
  const Flow& flow = code[i].flow;
  switch (flow.constant) {
    case ConstantKind::none:
      return std::nullopt;
    case ConstantKind::address:
    case ConstantKind::low:  // alone, or the first half of one that MOVT completes
      return Constant{flow.reg, flow.value};
    case ConstantKind::literal: {
      const std::optional<uint32_t> word = word_at(index, flow.value);
      if (!word) return std::nullopt;
      return Constant{flow.reg, *word};
    }
    case ConstantKind::high:
      for (size_t back = 1; back <= std::min(i, kLookBack); ++back) {
        const Flow& low = code[i - back].flow;
        if (low.constant == ConstantKind::low && low.reg == flow.reg) {
          return Constant{flow.reg, flow.value << 16 | low.value};
        }
      }
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<uint32_t> indirect_target(const ElfIndex& index, const std::vector<Instruction>& code,
                                        size_t i) {
  const Flow& flow = code[i].flow;
  if (flow.kind == FlowKind::literal_jump) return word_at(index, flow.target);
  if (flow.kind != FlowKind::indirect_call && flow.kind != FlowKind::indirect_jump) {
    return std::nullopt;
  }
  if (flow.reg == 15) return std::nullopt;
  for (size_t back = 1; back <= std::min(i, kLookBack); ++back) {
    const std::optional<Constant> one = constant_of(index, code, i - back);
    if (one && one->reg == flow.reg) {
      // A function's address has the Thumb bit; anything else was the address of a pointer.
      if ((one->value & 1) == 0) return std::nullopt;
      return one->value;
    }
  }
  return std::nullopt;
}

}  // namespace millrace::profile
