// SPDX-License-Identifier: Apache-2.0
// Which fetches miss depends on what stands where, so it is simulated (predict/code_run.h), as
// predict() does, with one seed for all that is compared. A second of a busy 600 MHz core is some
// 60 million blocks; half a million are some hundred events, and take 5 ms a run.
#include "value/trace_sim.h"

#include <algorithm>

namespace millrace::placement {
namespace {

constexpr size_t kWarmUpShare = 8;  // one part of so many is run and not counted

}  // namespace

TraceSim::TraceSim(std::span<const uint8_t> trace, const Units& units, const ElfIndex& index,
                   const profile::Target& target, const profile::CallGraph& graph)
    : units_(units), index_(index), target_(target), graph_(graph), data_(units.units.size()) {
  if (!target.cache) return;
  if (read_last_visits(index, trace, kMaxVisits, &recording_)) {
    recording_.visits.clear();
    return;
  }
  if (recording_.visits.empty()) return;
  // The cache is not empty when a trace of running code begins.
  const auto begin = recording_.visits.begin();
  const auto first = begin + static_cast<ptrdiff_t>(recording_.visits.size() / kWarmUpShare);
  recording_.warm_up.reserve(recording_.visits.size() / kWarmUpShare);
  for (auto at = begin; at != first; ++at) recording_.warm_up.push_back(at->block);
  recording_.visits.erase(begin, first);
  run_ = std::make_unique<CodeRun>(index, target, units, recording_);
  repeats_ =
      static_cast<double>(recording_.visits_seen) / static_cast<double>(recording_.visits.size());
  for (const DataWait& one : recording_.data) {
    const uint32_t unit = unit_of(units, one.line);
    if (unit == profile::kNone || units.units[unit].kind != UnitKind::code) continue;
    data_[unit] += static_cast<double>(one.stall);
  }
  const Layout as_it_is(index, target, units, std::vector<bool>(units.units.size()), graph);
  const double plain = run_->run(as_it_is, 1).fetch;
  scale_ = plain > 0 ? recording_.fetch / plain : repeats_;
}

double TraceSim::stall(const std::vector<bool>& moved) const {
  const Layout layout(index_, target_, units_, moved, graph_);
  const CodeRun::Sums sums = run_->run(layout, 1);
  double out = sums.fetch * scale_ + sums.veneers * kVeneerCycles * repeats_;
  for (size_t unit = 0; unit < data_.size(); ++unit) out += moved[unit] ? 0 : data_[unit];
  return out;
}

}  // namespace millrace::placement
