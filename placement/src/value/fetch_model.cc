// SPDX-License-Identifier: Apache-2.0
// A set with more active lines than ways misses; one with fewer does not, however hot it is. So
// taking a function out of flash saves its own stalls and those of the lines that share its sets,
// and the twentieth function saves less than its samples promise. Replacement is taken as random
// (the Cortex-M7's is not documented; the published profile fits) and visits as cyclic, once an
// event. From a stall S at n lines a set the stall at every visit is S / m(n), and what is left at
// k lines S m(k) / m(n). What stays in flash moves together when units leave, which changes every
// later line's set: stall() lays it out again.
#include "value/fetch_model.h"

#include <algorithm>
#include <cmath>

namespace millrace::placement {
namespace {

using profile::kNone;

constexpr uint32_t kTable = 256;
constexpr uint32_t kMoreLines = 8;
constexpr double kMostStall = 30;  // of a line that misses always, for each part that runs
constexpr double kLowMiss = 0.25;  // below it S / m says more about noise than about the line

}  // namespace

double miss_share(double lines, uint32_t ways) {
  if (lines <= ways || ways == 0) return ways == 0 ? 1 : 0;
  const double keep = 1 - 1.0 / ways;
  double m = 1;
  for (int i = 0; i < 200; ++i) {
    const double next = 1 - std::pow(keep, m * (lines - 1));
    if (std::abs(next - m) < 1e-9) break;
    m = next;
  }
  return m;
}

std::vector<uint32_t> groups_of(const Units& units, const ElfIndex& index) {
  std::vector<uint32_t> out;
  out.reserve(units.units.size());
  for (const Unit& unit : units.units) {
    out.push_back(unit.kind == UnitKind::code ? index.section_at(unit.address) : kNone);
  }
  return out;
}

std::vector<uint32_t> shifts_of(const Units& units, const std::vector<uint32_t>& group,
                                const std::vector<bool>& moved) {
  std::vector<uint32_t> out(units.units.size(), 0);
  uint32_t gone = 0, in = kNone;
  for (size_t i = 0; i < units.units.size(); ++i) {
    const Unit& unit = units.units[i];
    if (group[i] == kNone) continue;
    if (group[i] != in) {
      in = group[i];
      gone = 0;
    }
    out[i] = gone / unit.align * unit.align;
    if (moved[i]) gone += (unit.size + unit.align - 1) / unit.align * unit.align;
  }
  return out;
}

FetchModel::FetchModel(const Units& units, const ElfIndex& index,
                       const std::optional<profile::TargetCache>& cache, const FetchInput& input)
    : units_(units), input_(input), cache_(cache), group_(groups_of(units, index)) {
  pressure_.assign(units.units.size(), 0);
  lines_.assign(units.units.size(), 0);
  always_.resize(input.spots.size());
  for (size_t i = 0; i < always_.size(); ++i) always_[i] = input.spots[i].stall;
  if (!cache_) return;
  const double unseen = input.unseen_lines / cache_->sets;
  for (uint32_t n = 0; n < kTable; ++n) {
    // Unseen lines fall on sets by chance: Poisson. What is beyond the sum misses always.
    double chance = std::exp(-unseen), mean = 0, rest = 1;
    for (uint32_t more = 0; more < kMoreLines && n > 0; ++more) {
      mean += chance * miss_share(n + more, cache_->ways);
      rest -= chance;
      chance *= unseen / (more + 1);
    }
    if (n > 0) mean += std::max(rest, 0.0);
    table_.push_back(mean);
  }
  std::vector<uint32_t> line_of_spot, in_set;
  const std::vector<bool> none(units.units.size());
  place(none, false, &line_of_spot, &in_set);
  std::vector<Line> lines;
  for (uint32_t i = 0; i < line_of_spot.size(); ++i) {
    if (lines.empty() || lines.back().line != line_of_spot[i])
      lines.push_back({line_of_spot[i], i, i});
    lines.back().end = i + 1;
  }
  double sum = 0, count = 0;
  for (const Line& one : lines) {
    const uint32_t n = in_set[one.line % cache_->sets];
    const double m = miss(n);
    for (uint32_t i = one.first; i < one.end; ++i) {
      const uint32_t unit = input.spots[i].unit;
      if (unit != kNone && (i == one.first || input.spots[i - 1].unit != unit)) {
        ++lines_[unit];
        pressure_[unit] += n;
      }
      if (m < kLowMiss) continue;
      always_[i] /= m;
      sum += always_[i];
    }
    if (m >= kLowMiss) count += 1;
  }
  // What never missed may fall among others when the code moves together.
  const double typical = count > 0 ? sum / count : 0;
  for (const Line& one : lines) {
    if (miss(in_set[one.line % cache_->sets]) >= kLowMiss) continue;
    double weight = 0;
    for (uint32_t i = one.first; i < one.end; ++i) {
      weight += input.spots[i].weight;
      always_[i] = 0;
    }
    always_[one.first] = std::min(typical, weight * kMostStall);
  }
  for (size_t u = 0; u < lines_.size(); ++u) {
    if (lines_[u] > 0) pressure_[u] /= lines_[u];
  }
}

double FetchModel::miss(uint32_t lines) const {
  return table_[std::min<uint32_t>(lines, kTable - 1)];
}

void FetchModel::place(const std::vector<bool>& moved, bool relayout,
                       std::vector<uint32_t>* line_of_spot, std::vector<uint32_t>* in_set) const {
  const std::vector<uint32_t> shifts =
      relayout ? shifts_of(units_, group_, moved) : std::vector<uint32_t>();
  line_of_spot->assign(input_.spots.size(), kNone);
  in_set->assign(cache_->sets, 0);
  uint32_t last = kNone;
  for (size_t i = 0; i < input_.spots.size(); ++i) {
    const Spot& spot = input_.spots[i];
    if (spot.unit != kNone && moved[spot.unit]) continue;
    const uint32_t shift = relayout && spot.unit != kNone ? shifts[spot.unit] : 0;
    const uint32_t line = (spot.pc - shift) / cache_->line_bytes;
    (*line_of_spot)[i] = line;
    if (line != last) ++(*in_set)[line % cache_->sets];  // the order of addresses is kept
    last = line;
  }
}

double FetchModel::stall(const std::vector<bool>& moved) const {
  double out = 0;
  if (!cache_) {
    for (const Spot& spot : input_.spots) {
      if (spot.unit == kNone || !moved[spot.unit]) out += spot.stall;
    }
    return out;
  }
  std::vector<uint32_t> line_of_spot, in_set;
  place(moved, true, &line_of_spot, &in_set);
  for (size_t i = 0; i < line_of_spot.size(); ++i) {
    if (line_of_spot[i] == kNone || always_[i] == 0) continue;
    out += always_[i] * miss(in_set[line_of_spot[i] % cache_->sets]);
  }
  return out;
}

std::vector<double> FetchModel::marginal(const std::vector<bool>& moved) const {
  std::vector<double> out(units_.units.size(), 0);
  if (!cache_) {
    for (const Spot& spot : input_.spots) {
      if (spot.unit != kNone && !moved[spot.unit]) out[spot.unit] += spot.stall;
    }
    return out;
  }
  std::vector<uint32_t> line_of_spot, in_set;
  place(moved, true, &line_of_spot, &in_set);
  std::vector<double> of_set(cache_->sets, 0);
  for (size_t i = 0; i < line_of_spot.size(); ++i) {
    if (line_of_spot[i] != kNone) of_set[line_of_spot[i] % cache_->sets] += always_[i];
  }
  // One unit after another: its spots are together. A line that two units share is freed by both
  // only, which is left out.
  struct Touched {
    uint32_t set = 0, lines = 0;
    double own = 0;
  };
  std::vector<Touched> touched;
  for (size_t i = 0; i < line_of_spot.size();) {
    const uint32_t unit = input_.spots[i].unit;
    size_t end = i;
    touched.clear();
    uint32_t last = kNone;
    for (; end < line_of_spot.size() && input_.spots[end].unit == unit; ++end) {
      if (line_of_spot[end] == kNone) continue;
      const uint32_t set = line_of_spot[end] % cache_->sets;
      if (line_of_spot[end] != last) touched.push_back({set, 1, 0});
      last = line_of_spot[end];
      touched.back().own += always_[end];
    }
    i = end;
    if (unit == kNone || touched.empty()) continue;
    std::sort(touched.begin(), touched.end(),
              [](const Touched& a, const Touched& b) { return a.set < b.set; });
    for (size_t k = 0; k < touched.size();) {
      Touched sum = touched[k++];
      for (; k < touched.size() && touched[k].set == sum.set; ++k) {
        sum.lines += touched[k].lines;
        sum.own += touched[k].own;
      }
      const uint32_t n = in_set[sum.set];
      const double others = std::max(0.0, of_set[sum.set] - sum.own);
      const uint32_t left = n - std::min(n, sum.lines);
      out[unit] += sum.own * miss(n) + others * (miss(n) - miss(left));
    }
  }
  return out;
}

void FetchModel::remaining(const std::vector<bool>& moved, uint64_t* lines, uint64_t* over) const {
  *lines = *over = 0;
  if (!cache_) return;
  std::vector<uint32_t> line_of_spot, in_set;
  place(moved, true, &line_of_spot, &in_set);
  for (const uint32_t n : in_set) {
    *lines += n;
    *over += n - std::min(n, cache_->ways);
  }
}

}  // namespace millrace::placement
