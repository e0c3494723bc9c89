// SPDX-License-Identifier: Apache-2.0
// The model of code_run.h runs the program with the list, and as it is: what it is off there
// corrects the prediction. Data that moves, literal pools of moved code among it, is not waited
// for. Replacement in the cache of a Cortex-M7 is pseudo-random by a rule that is not public:
// several seeds are run, and their spread is part of the bound.
#include "millrace/placement/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "millrace/profile/similar_names.h"
#include "predict/code_run.h"

namespace millrace::placement {

using profile::kNone;
using profile::printable;

namespace {

struct Runs {
  CodeRun::Sums mean;
  double low = 0, high = 0;  // of fetch
};

Runs run_all(const CodeRun& model, const Layout& layout, uint32_t seeds) {
  Runs out;
  out.low = std::numeric_limits<double>::max();
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    const CodeRun::Sums one = model.run(layout, seed);
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
  for (const DataWait& one : recording.data) {
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
  const CodeRun model(*index, target, units, recording);
  out->lines_before = model.lines(as_it_is);
  out->lines_after = model.lines(as_listed);
  const uint32_t seeds = std::max(options.seeds, 1u);
  const Runs before = run_all(model, as_it_is, seeds), after = run_all(model, as_listed, seeds);

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
