// SPDX-License-Identifier: Apache-2.0
// What code takes is what its instructions take plus what it waits for. The first does not depend
// on where it stands, and the trace has it; the second is waiting for instructions, above all, and
// is computed anew: the blocks are visited in the order of the trace, those that move wait for
// nothing, the others go through a cache of the target's geometry at the addresses that the linker
// will give them. How long a miss is waited for is learned from the misses of the trace
// (recording.h), so that no parameter of a memory has to be known. predict() and, for every
// selection that it considers, place() judge by this.
#include "predict/code_run.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

namespace millrace::placement {

using profile::kNone;

namespace {

constexpr uint32_t kVeneerBytes = 8;

}  // namespace

CodeRun::CodeRun(const ElfIndex& index, const profile::Target& target, const Units& units,
                 const Recording& recording)
    : cache_(*target.cache), recording_(recording), blocks_(recording.blocks.size()) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const profile::TraceBlock& from = recording.blocks[i];
    Block& to = blocks_[i];
    const profile::TargetRegion* region = target.region_at(from.address);
    const uint32_t function = index.function_at(from.address);
    to.address = from.address;
    to.bytes = 2 * from.halfwords;
    to.unit = unit_of(units, from.address);
    to.is_fast = region != nullptr && region->is_fast;
    to.is_cached = region != nullptr && region->is_cached && !region->is_fast;
    to.is_entry = function != kNone && index.functions()[function].start == from.address;
  }
}

std::vector<CodeRun::Place> CodeRun::places(const Layout& layout) const {
  std::vector<Place> out(blocks_.size());
  std::unordered_map<uint32_t, uint32_t> veneers;  // by unit that is called: bytes before its own
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    Place& place = out[i];
    const bool is_moved = layout.is_moved(block.unit);
    place.is_fast = block.is_fast || is_moved;
    place.is_entry = block.is_entry;
    if (block.is_cached && !is_moved) {
      const uint32_t address = layout.place(block.address, block.unit);
      place.first = address / cache_.line_bytes;
      place.last = (address + block.bytes - 1) / cache_.line_bytes;
      place.share = 1 / static_cast<float>(place.last - place.first + 1);
    }
    if (!is_moved || !block.is_entry) continue;
    // Called from what stays: its veneer stands behind the code there, in the order of first use.
    const auto at = static_cast<uint32_t>(veneers.size()) * kVeneerBytes;
    const uint32_t before = veneers.emplace(block.unit, at).first->second;
    place.veneer = (layout.veneers_behind(block.unit) + before) / cache_.line_bytes;
  }
  return out;
}

uint64_t CodeRun::lines(const Layout& layout) const {
  std::set<uint32_t> out;
  for (const Place& one : places(layout)) {
    for (uint32_t line = one.first; line <= one.last; ++line) out.insert(line);
  }
  return out.size();
}

CodeRun::Sums CodeRun::run(const Layout& layout, uint32_t seed) const {
  const std::vector<Place> places = this->places(layout);
  const uint32_t ways = std::max(cache_.ways, 1u);
  std::vector<uint32_t> tags(size_t{cache_.sets} * ways, UINT32_MAX);
  uint32_t random = seed * 2654435761u | 1;
  uint64_t now = 0, last_miss = 0;
  int64_t last_line = 0;
  Sums out;
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
    const double stall = recording_.cost.of(int64_t{line} - last_line, now - last_miss);
    last_line = line;
    last_miss = now;
    now += static_cast<uint64_t>(std::llround(stall));
    out.fetch += stall;
    out.misses += 1;
  };
  // The cache holds what ran before the first event, as it did when that was traced.
  for (const uint32_t visit : recording_.warm_up) {
    const Place& place = places[visit];
    for (uint32_t line = place.first; line <= place.last; ++line) fetch(line);
  }
  out = Sums();
  bool was_fast = false, is_first = true;
  for (const RunVisit& visit : recording_.visits) {
    const Place& place = places[visit.block];
    if (place.is_entry && was_fast != place.is_fast && !is_first) {
      out.veneers += 1;
      now += kVeneerCycles;
      if (!was_fast && place.veneer != 0) fetch(place.veneer);
    }
    is_first = false;
    was_fast = place.is_fast;
    if (place.first > place.last) {
      now += static_cast<uint64_t>(visit.compute);
      continue;
    }
    const auto part = static_cast<uint64_t>(visit.compute * place.share);
    for (uint32_t line = place.first; line <= place.last; ++line) {
      fetch(line);
      now += part;
    }
  }
  return out;
}

}  // namespace millrace::placement
