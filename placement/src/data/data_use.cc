// SPDX-License-Identifier: Apache-2.0
// A trace says for which line of 32 bytes each load and store waited, and how long. Where a line
// holds one object that is exact; a line that several share is dealt out by their bytes in it, and
// the part that is not dealt out is told beside (stall_alone).
//
// Samples say nothing of addresses of data. What they allow: which functions are busy beyond their
// waiting for code, and which objects their instructions refer to. That weight is dealt out evenly
// among these objects. It orders them and is no prediction: a function that refers to a table may
// never wait for it, and objects that are reached by pointers only are not seen.
#include "data/data_use.h"

#include <algorithm>
#include <set>

#include "data/dma_rules.h"
#include "millrace/profile/call_graph.h"
#include "value/fetch_input.h"

namespace millrace::placement {
namespace {

using profile::kNone;

constexpr uint32_t kLine = 32;  // spec/trace.md

bool is_data(const Unit& unit) { return unit.kind != UnitKind::code; }

// The objects of each line, by their bytes in it.
void deal_out(const Units& units, DataUse* out) {
  const std::vector<LineStall>& lines = out->run->lines();
  out->parts.resize(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const double stall = lines[i].stall;
    out->stall += stall;
    const uint64_t start = uint64_t{lines[i].line} * kLine, end = start + kLine;
    auto it = std::lower_bound(units.units.begin(), units.units.end(), start,
                               [](const Unit& one, uint64_t at) { return one.end() <= at; });
    std::vector<DataUse::Part>& parts = out->parts[i];
    uint32_t bytes = 0;
    for (; it != units.units.end() && it->address < end; ++it) {
      if (!is_data(*it) || it->size == 0) continue;
      const auto part = static_cast<uint32_t>(std::min<uint64_t>(end, it->end()) -
                                              std::max<uint64_t>(start, it->address));
      parts.push_back({static_cast<uint32_t>(it - units.units.begin()), part});
      bytes += part;
    }
    if (parts.empty()) out->elsewhere += stall;
    for (const DataUse::Part& part : parts) {
      ObjectUse& use = out->by_unit[part.unit];
      use.stall += stall * part.bytes / bytes;
      if (parts.size() == 1) use.stall_alone += stall;
    }
  }
}

void read_references(const profile::Profile& profile, const Units& units, const ElfIndex& index,
                     DataUse* out) {
  const FetchInput fetches = read_fetches(profile, units, index, {});
  std::vector<double> weight(index.functions().size());
  for (const profile::StackSample& one : profile.stacks) {
    const uint32_t function = index.function_at(one.pc);
    if (function != kNone) weight[function] += static_cast<double>(one.weight);
  }
  std::vector<double> most(units.units.size(), -1);
  std::set<uint32_t> objects;
  for (uint32_t i = 0; i < index.functions().size(); ++i) {
    objects.clear();
    bool drives_device = false;
    for (const uint32_t value : profile::constants_made(index, i)) {
      drives_device = drives_device || is_device_address(value);
      const uint32_t unit = unit_at(units, value);
      if (unit != kNone && is_data(units.units[unit])) objects.insert(unit);
    }
    if (objects.empty()) continue;
    double rest = weight[i];
    const uint32_t home = units.of_function[i];
    if (home != kNone && fetches.by_unit[home].weight > 0) {
      const UnitUse& use = fetches.by_unit[home];
      rest *= 1 - std::clamp(use.stall / static_cast<double>(use.weight), 0.0, 1.0);
    }
    for (const uint32_t unit : objects) {
      ObjectUse& use = out->by_unit[unit];
      use.use += rest / static_cast<double>(objects.size());
      ++use.users;
      if (drives_device && use.device_user == kNone) use.device_user = i;
      if (weight[i] > most[unit]) {
        most[unit] = weight[i];
        use.user = i;
      }
    }
  }
}

}  // namespace

double DataUse::stall_without(const std::vector<bool>& moved) const {
  std::vector<bool> lines(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    uint32_t gone = 0, all = 0;
    for (const Part& part : parts[i]) {
      all += part.bytes;
      gone += moved[part.unit] ? part.bytes : 0;
    }
    lines[i] = 2 * gone > all;
  }
  return run->stall(lines);
}

DataUse read_data_use(const profile::Profile& profile, const Units& units, const ElfIndex& index,
                      std::span<const uint8_t> trace) {
  DataUse out;
  out.by_unit.resize(units.units.size());
  out.is_measured = !trace.empty();
  if (out.is_measured) {
    out.run.emplace(trace);
    deal_out(units, &out);
  }
  read_references(profile, units, index, &out);
  return out;
}

}  // namespace millrace::placement
