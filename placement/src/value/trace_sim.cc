// SPDX-License-Identifier: Apache-2.0
// Which fetches miss depends on what stands where, so it is simulated: with the lines that the
// remaining code gets when it moves together. How long a miss is waited for depends on the flash
// controller: the next line is often on its way already. Two means are taken from the trace, of the
// line behind the last missed one and of all others. A second of a busy 600 MHz core is some 60
// million blocks; the last three million are a few hundred events and take 15 ms a run. Replacement
// is pseudo-random: one seed, the same for all that is compared.
#include "value/trace_sim.h"

#include <algorithm>

#include "value/fetch_input.h"
#include "value/fetch_model.h"
#include "value/trace_visits.h"

namespace millrace::placement {
namespace {

using profile::kNone;

}  // namespace

TraceSim::TraceSim(std::span<const uint8_t> trace, const Units& units, const ElfIndex& index,
                   const profile::Target& target)
    : units_(units), group_(groups_of(units, index)) {
  if (!target.cache) return;
  cache_ = *target.cache;
  const TraceVisits visits(trace);
  for (const profile::TraceBlock& made : visits.blocks()) {
    const profile::TargetRegion* region = target.region_at(made.address);
    const uint32_t unit = unit_at(units, made.address);
    blocks_.push_back({made.address, made.end(),
                       unit == kNone ? static_cast<uint32_t>(units.units.size()) : unit,
                       region != nullptr && region->is_cached && !region->is_fast});
  }
  double stalls[2] = {}, misses[2] = {}, all_stall = 0;
  std::vector<uint32_t> ring;
  size_t count = 0;
  uint32_t last_miss = 0, last_block = kNone;
  int kind = 0;
  visits.each([&](const Visit& visit) {
    if (!blocks_[visit.block].is_cached) return;
    for (uint32_t i = 0; i < visit.misses; ++i) {
      kind = visit.lines[i] == last_miss + 1 ? 1 : 0;
      last_miss = visit.lines[i];
      misses[kind] += 1;
    }
    // A wait without a miss is for the rest of the line before.
    stalls[kind] += static_cast<double>(visit.stall);
    all_stall += static_cast<double>(visit.stall);
    if (visit.block == last_block) return;
    last_block = visit.block;
    if (ring.size() < kMaxVisits) {
      ring.push_back(visit.block);
    } else {
      ring[count % kMaxVisits] = visit.block;
    }
    ++count;
  });
  if (count > kMaxVisits) {
    std::rotate(ring.begin(), ring.begin() + static_cast<ptrdiff_t>(count % kMaxVisits),
                ring.end());
  }
  visits_ = std::move(ring);
  const double all_misses = misses[0] + misses[1];
  for (int i = 0; i < 2; ++i) {
    cost_[i] = misses[i] > 0 ? stalls[i] / misses[i] : all_stall / std::max(all_misses, 1.0);
  }
  const double plain = simulate(std::vector<bool>(units.units.size()));
  scale_ = plain > 0 ? all_stall / plain : 1;
}

double TraceSim::stall(const std::vector<bool>& moved) const { return simulate(moved) * scale_; }

double TraceSim::simulate(const std::vector<bool>& moved) const {
  struct Lines {
    uint32_t first = 1, last = 0;
  };
  const std::vector<uint32_t> shifts = shifts_of(units_, group_, moved);
  std::vector<Lines> lines(blocks_.size());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const bool has_unit = block.unit < units_.units.size();
    if (!block.is_cached || (has_unit && moved[block.unit])) continue;
    const uint32_t shift = has_unit ? shifts[block.unit] : 0;
    lines[i] = {(block.address - shift) / cache_.line_bytes,
                (block.end - 1 - shift) / cache_.line_bytes};
  }
  std::vector<uint32_t> tags(size_t{cache_.sets} * cache_.ways, UINT32_MAX);
  uint32_t random = 0x2545F491, last_miss = 0;
  double out = 0;
  for (const uint32_t visit : visits_) {
    const Lines& at = lines[visit];
    for (uint32_t line = at.first; line <= at.last; ++line) {
      uint32_t* const set = &tags[size_t{line % cache_.sets} * cache_.ways];
      uint32_t free = UINT32_MAX;
      bool hit = false;
      for (uint32_t way = 0; way < cache_.ways; ++way) {
        hit = hit || set[way] == line;
        if (set[way] == UINT32_MAX) free = way;
      }
      if (hit) continue;
      if (free == UINT32_MAX) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        free = (random >> 8) % cache_.ways;
      }
      set[free] = line;
      out += cost_[line == last_miss + 1 ? 1 : 0];
      last_miss = line;
    }
  }
  return out;
}

}  // namespace millrace::placement
