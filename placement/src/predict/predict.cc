// SPDX-License-Identifier: Apache-2.0
// What code takes is what its instructions take plus what it waits for. The first does not depend
// on where it stands, and the trace has it; the second is waiting for instructions, above all, and
// is computed anew: the blocks are visited in the order of the trace, those that move wait for
// nothing, the others go through a cache of the target's geometry at the addresses that the linker
// will give them. How long a miss is waited for is learned from the misses of the trace
// (recording.h), so that no parameter of a memory has to be known.
//
// The model then runs the program as it is, and what it is off there corrects the prediction.
// Replacement in the cache of a Cortex-M7 is pseudo-random by a rule that is not public: several
// seeds are run, and their spread is part of the bound.
#include "millrace/placement/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include "millrace/profile/similar_names.h"
#include "predict/layout.h"
#include "predict/recording.h"

namespace millrace::placement {

using profile::kNone;
using profile::printable;

namespace {

constexpr uint32_t kVeneerCycles = 4;  // LDR pc: a load and a branch
constexpr uint32_t kVeneerBytes = 8;

struct Run {
  double fetch = 0, misses = 0, veneers = 0;
};

class Model {
 public:
  Model(const ElfIndex& index, const profile::Target& target, const Units& units,
        const Recording& recording, const Layout& layout)
      : cache_(*target.cache), recording_(recording), blocks_(recording.blocks.size()) {
    std::unordered_map<uint32_t, uint32_t> veneers;  // by unit that is called
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const profile::TraceBlock& from = recording.blocks[i];
      Block& to = blocks_[i];
      const profile::TargetRegion* region = target.region_at(from.address);
      const uint32_t unit = unit_of(units, from.address);
      const bool is_cached = region != nullptr && region->is_cached && !region->is_fast;
      to.is_fast = layout.is_moved(unit) || (region != nullptr && region->is_fast);
      to.is_cached = is_cached && !layout.is_moved(unit);
      const uint32_t address = layout.place(from.address, unit);
      to.first = address / cache_.line_bytes;
      to.last = (address + 2 * from.halfwords - 1) / cache_.line_bytes;
      const uint32_t function = index.function_at(from.address);
      to.is_entry = function != kNone && index.functions()[function].start == from.address;
      if (unit == kNone || !to.is_entry || !layout.is_moved(unit)) continue;
      // Called from what stays: its veneer stands behind the code there, in the order of first use.
      const auto [place, is_new] =
          veneers.emplace(unit, static_cast<uint32_t>(veneers.size()) * kVeneerBytes);
      to.veneer = (layout.veneers_behind(unit) + place->second) / cache_.line_bytes;
    }
  }

  uint64_t lines() const {
    std::set<uint32_t> out;
    for (const Block& one : blocks_) {
      for (uint32_t line = one.first; one.is_cached && line <= one.last; ++line) out.insert(line);
    }
    return out.size();
  }

  Run run(uint32_t seed) {
    tags_.assign(size_t{cache_.sets} * cache_.ways, UINT32_MAX);
    random_ = seed * 2654435761u | 1;
    now_ = last_miss_ = 0;
    last_line_ = 0;
    // The cache holds what ran before the first event, as it did when that was traced.
    for (const uint32_t visit : recording_.warm_up) {
      const Block& block = blocks_[visit];
      for (uint32_t line = block.first; block.is_cached && line <= block.last; ++line) fetch(line);
    }
    run_ = Run();
    const Block* before = nullptr;
    for (const Visit& visit : recording_.visits) {
      const Block& block = blocks_[visit.block];
      if (block.is_entry && before != nullptr && before->is_fast != block.is_fast) {
        run_.veneers += 1;
        now_ += kVeneerCycles;
        if (!before->is_fast && block.veneer != 0) fetch(block.veneer);
      }
      before = &block;
      if (!block.is_cached) {
        now_ += static_cast<uint64_t>(visit.compute);
        continue;
      }
      const auto part =
          static_cast<uint64_t>(visit.compute / static_cast<float>(block.last - block.first + 1));
      for (uint32_t line = block.first; line <= block.last; ++line) {
        fetch(line);
        now_ += part;
      }
    }
    return run_;
  }

 private:
  struct Block {
    uint32_t first = 0, last = 0;  // lines
    uint32_t veneer = 0;           // line; 0: none
    bool is_cached = false, is_fast = false, is_entry = false;
  };

  void fetch(uint32_t line) {
    uint32_t* const set = &tags_[size_t{line % cache_.sets} * cache_.ways];
    uint32_t free = UINT32_MAX;
    for (uint32_t way = 0; way < cache_.ways; ++way) {
      if (set[way] == line) return;
      if (set[way] == UINT32_MAX) free = way;
    }
    if (free == UINT32_MAX) {
      random_ ^= random_ << 13;
      random_ ^= random_ >> 17;
      random_ ^= random_ << 5;
      free = (random_ >> 8) % cache_.ways;
    }
    set[free] = line;
    const double stall = recording_.cost.of(int64_t{line} - last_line_, now_ - last_miss_);
    last_line_ = line;
    last_miss_ = now_;
    now_ += static_cast<uint64_t>(std::llround(stall));
    run_.fetch += stall;
    run_.misses += 1;
  }

  const profile::TargetCache cache_;
  const Recording& recording_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> tags_;
  uint32_t random_ = 1;
  uint64_t now_ = 0, last_miss_ = 0;
  int64_t last_line_ = 0;
  Run run_;
};

struct Runs {
  Run mean;
  double low = 0, high = 0;  // of fetch
};

Runs run_all(Model model, uint32_t seeds) {
  Runs out;
  out.low = std::numeric_limits<double>::max();
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    const Run one = model.run(seed);
    out.mean.fetch += one.fetch / seeds;
    out.mean.misses += one.misses / seeds;
    out.mean.veneers += one.veneers / seeds;
    out.low = std::min(out.low, one.fetch);
    out.high = std::max(out.high, one.fetch);
  }
  return out;
}

// Waiting for data of moved code: literal pools and tables go with it.
double data_stall_that_goes(const Recording& recording, const Units& units, const Layout& layout) {
  double out = 0;
  for (const DataMiss& one : recording.data) {
    const uint32_t unit = unit_of(units, one.line);
    if (layout.is_moved(unit)) out += static_cast<double>(one.stall);
  }
  return out;
}

std::vector<bool> moved_units(ElfIndex* index, const profile::Target& target,
                              const PlacementList& list, const Units& units,
                              std::vector<std::string>* notes) {
  std::vector<bool> moved(units.units.size());
  const std::vector<Match> matches = match_list(list, index);
  const auto move = [&](uint32_t unit) {
    if (unit == kNone) return;
    const profile::TargetRegion* at = target.region_at(units.units[unit].address);
    if (at == nullptr || !at->is_fast) moved[unit] = true;
  };
  size_t unknown = 0;
  for (const Match& match : matches) {
    unknown += match.functions.empty() && match.objects.empty() ? 1 : 0;
    for (const uint32_t function : match.functions) move(units.of_function[function]);
    for (const uint32_t object : match.objects) move(units.of_object[object]);
  }
  if (unknown > 0) {
    notes->push_back(
        fmt::format("{} of {} entries of the list are not in the program (`millrace "
                    "check --list` names them)",
                    unknown, matches.size()));
  }
  return moved;
}

}  // namespace

Failure predict(ElfIndex* index, const profile::Target& target, std::span<const uint8_t> trace,
                const PlacementList& list, const PredictOptions& options, Prediction* out) {
  *out = Prediction();
  if (Failure failure = require_symbols(*index)) return failure;
  if (!target.cache) {
    return Error{Error::Kind::usage,
                 fmt::format("target {} has no instruction cache (name another with --target)",
                             printable(target.name))};
  }
  uint32_t event = kNone;
  if (!options.event.empty()) {
    const uint32_t function = index->function_named(options.event);
    if (function == kNone) return profile::no_such_function("--event", *index, options.event);
    event = index->functions()[function].start;
  }
  const profile::TraceReader header(trace);
  if (!index->is_same_program(header.identity())) {
    return Error{Error::Kind::mismatch,
                 fmt::format("the trace is of another program, with {}, than {} (trace it again)",
                             header.identity().text(), printable(index->path()))};
  }
  Recording recording;
  Failure failure = read_recording(*index, trace, event, &recording);
  if (failure) return failure;
  out->events = event != kNone ? recording.events : std::max<uint64_t>(options.events, 1);
  if (recording.visits.empty() || out->events == 0) {
    return Error{Error::Kind::mismatch,
                 event == kNone ? "the trace holds no code that was executed"
                                : fmt::format("{} runs less than twice in the trace (trace longer, "
                                              "or name another function with --event)",
                                              printable(options.event))};
  }
  const Units units = find_units(*index);
  const std::vector<bool> moved = moved_units(index, target, list, units, &out->notes);
  const profile::CallGraph graph = profile::CallGraph::build(*index);
  const Layout as_it_is(*index, target, units, std::vector<bool>(units.units.size()), graph);
  const Layout as_listed(*index, target, units, moved, graph);
  const Model stock(*index, target, units, recording, as_it_is);
  const Model placed(*index, target, units, recording, as_listed);
  out->lines_before = stock.lines();
  out->lines_after = placed.lines();
  const uint32_t seeds = std::max(options.seeds, 1u);
  const Runs before = run_all(stock, seeds), after = run_all(placed, seeds);

  const double events = static_cast<double>(out->events);
  const double fetch = recording.fetch;
  const double other = static_cast<double>(recording.busy) - fetch;
  const double scale = before.mean.fetch > 0 ? std::max(fetch, 0.0) / before.mean.fetch : 1;
  out->visits = recording.visits.size();
  out->is_partial = recording.is_partial;
  out->core_khz = recording.core_khz;
  out->moved_bytes = as_listed.moved_bytes();
  out->recorded = {static_cast<double>(recording.busy) / events, fetch / events,
                   static_cast<double>(recording.misses) / events, before.mean.veneers / events};
  out->model = {(other + before.mean.fetch) / events, before.mean.fetch / events,
                before.mean.misses / events, before.mean.veneers / events};
  const double veneers = (after.mean.veneers - before.mean.veneers) * kVeneerCycles;
  const double rest = other + veneers - data_stall_that_goes(recording, units, as_listed);
  out->predicted = {(rest + scale * after.mean.fetch) / events, scale * after.mean.fetch / events,
                    after.mean.misses / events, after.mean.veneers / events};
  // What the model had to be corrected by, what chance does, and what it was off elsewhere.
  const double chance = scale * (after.high - after.low) / 2 / events;
  const double correction = before.mean.fetch > 0 ? std::abs(scale - 1) * after.mean.fetch / events
                                                  : std::abs(fetch) / events;
  const double bound = kValidatedError * out->predicted.busy + chance + correction;
  out->low = out->predicted.busy - bound;
  out->high = out->predicted.busy + bound;
  out->low = std::max(out->low, 0.0);
  const double off = std::abs(out->model.busy - out->recorded.busy);
  out->is_usable = out->recorded.busy > 0 && off <= kUsableError * out->recorded.busy;
  if (out->is_partial) {
    out->notes.push_back(
        fmt::format("the trace is longer than what was run of it, {} blocks", out->visits));
  }
  return {};
}

}  // namespace millrace::placement
