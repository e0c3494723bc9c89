// SPDX-License-Identifier: Apache-2.0
// Which fetches miss depends on what stands where, so it is simulated: with the lines that the
// remaining code gets when the linker moves it together, and with the veneers that lead from it to
// what has gone (predict/layout.h): a selection that is good for another layout only is not good.
// How long a miss is waited for depends on the flash controller: the next line is often on its way
// already. Two means are taken from the trace, of the line behind the last missed one and of all
// others. A second of a busy 600 MHz core is some 60 million blocks; the last three million are a
// few hundred events and take 15 ms a run. Replacement is pseudo-random: one seed, the same for all
// that is compared.
#include "value/trace_sim.h"

#include <algorithm>
#include <unordered_map>

#include "predict/layout.h"
#include "value/fetch_input.h"
#include "value/trace_visits.h"

namespace millrace::placement {
namespace {

using profile::kNone;

constexpr uint32_t kVeneerBytes = 8;

}  // namespace

TraceSim::TraceSim(std::span<const uint8_t> trace, const Units& units, const ElfIndex& index,
                   const profile::Target& target, const profile::CallGraph& graph)
    : units_(units), index_(index), target_(target), graph_(graph) {
  if (!target.cache) return;
  cache_ = *target.cache;
  const TraceVisits visits(trace);
  for (const profile::TraceBlock& made : visits.blocks()) {
    const profile::TargetRegion* region = target.region_at(made.address);
    const uint32_t function = index.function_at(made.address);
    Block block;
    block.address = made.address;
    block.end = made.end();
    block.unit = unit_at(units, made.address);
    block.is_fast = region != nullptr && region->is_fast;
    block.is_cached = region != nullptr && region->is_cached && !region->is_fast;
    block.is_entry = function != kNone && index.functions()[function].start == made.address;
    blocks_.push_back(block);
  }
  double stalls[2] = {}, misses[2] = {}, all_stall = 0;
  std::vector<uint32_t> ring;
  size_t count = 0;
  uint32_t last_miss = 0, last_block = kNone;
  int kind = 0;
  visits.each([&](const Visit& visit) {
    const bool is_cached = blocks_[visit.block].is_cached;
    for (uint32_t i = 0; is_cached && i < visit.misses; ++i) {
      kind = visit.lines[i] == last_miss + 1 ? 1 : 0;
      last_miss = visit.lines[i];
      misses[kind] += 1;
    }
    // A wait without a miss is for the rest of the line before.
    if (is_cached) {
      stalls[kind] += static_cast<double>(visit.stall);
      all_stall += static_cast<double>(visit.stall);
    }
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
  struct Place {
    uint32_t first = 1, last = 0;  // lines; none of what is not cached
    uint32_t veneer = kNone;       // line of the veneer that leads there from slow memory
    bool is_fast = false;
  };
  const Layout layout(index_, target_, units_, moved, graph_);
  std::vector<Place> places(blocks_.size());
  std::unordered_map<uint32_t, uint32_t> veneers;  // by unit: bytes before its own
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    Place& place = places[i];
    const bool is_moved = layout.is_moved(block.unit);
    place.is_fast = block.is_fast || is_moved;
    if (block.is_cached && !is_moved) {
      const uint32_t address = layout.place(block.address, block.unit);
      place.first = address / cache_.line_bytes;
      place.last = (address + (block.end - 1 - block.address)) / cache_.line_bytes;
    }
    if (!is_moved || !block.is_entry) continue;
    const auto at = static_cast<uint32_t>(veneers.size()) * kVeneerBytes;
    const uint32_t before = veneers.emplace(block.unit, at).first->second;
    place.veneer = (layout.veneers_behind(block.unit) + before) / cache_.line_bytes;
  }
  const uint32_t ways = std::max(cache_.ways, 1u);
  std::vector<uint32_t> tags(size_t{cache_.sets} * ways, UINT32_MAX);
  uint32_t random = 0x2545F491, last_miss = 0;
  double out = 0;
  const auto fetch = [&](uint32_t line) {
    uint32_t* const set = &tags[size_t{line % cache_.sets} * ways];
    uint32_t free = UINT32_MAX;
    for (uint32_t way = 0; way < ways; ++way) {
      if (set[way] == line) return;
      if (set[way] == UINT32_MAX) free = way;
    }
    if (free == UINT32_MAX) {
      random ^= random << 13;
      random ^= random >> 17;
      random ^= random << 5;
      free = (random >> 8) % ways;
    }
    set[free] = line;
    out += cost_[line == last_miss + 1 ? 1 : 0];
    last_miss = line;
  };
  bool was_fast = true;
  for (const uint32_t visit : visits_) {
    const Place& at = places[visit];
    if (at.veneer != kNone && !was_fast) fetch(at.veneer);
    was_fast = at.is_fast;
    for (uint32_t line = at.first; line <= at.last; ++line) fetch(line);
  }
  return out;
}

}  // namespace millrace::placement
