// SPDX-License-Identifier: Apache-2.0
// A set with more active lines than ways misses; one with fewer does not, however hot it is. So
// taking a function out of flash saves its own stalls and those of the lines that share its sets,
// and the twentieth function saves less than its samples promise. Replacement is taken as random
// (the Cortex-M7's is not documented; the published profile fits) and visits as cyclic, once an
// event. From a stall S at n lines a set the stall at every visit is S / m(n), and what is left at
// k lines S m(k) / m(n). What stays in flash moves together when units leave, which changes every
// later line's set: stall() lays it out again, as the linker will (predict/layout.h).
//
// From samples both S and n are estimates, and the sets alone promise too much: with 8 KB moved
// they left 40 % fewer cycles than the board took, because what stays calls through veneers that
// are new lines, and because a line is visited more often than once an event. That all that stays
// waits as before is the other end, and 20 % too much. The truth was between them on all of five
// programs, so stall() takes the middle, 12 % off on average, and stall_parts() gives the ends.
// Rejected: the fixed point of m = 1 - (1 - 1/ways)^(m (n - 1)), which says 0.5 for three lines in
// two ways where simulation says 0.67.
#include "value/fetch_model.h"

#include <algorithm>
#include <cmath>

#include "predict/layout.h"

namespace millrace::placement {
namespace {

using profile::kNone;

constexpr uint32_t kTable = 64;      // lines of a set; more are as many
constexpr double kMoreStep = 0.25;   // of the sum of chances
constexpr uint32_t kMoreSteps = 33;  // up to 8
constexpr uint32_t kMostMore = 24;   // lines that are there by chance
constexpr double kShape = 1;         // of the spread of what lines wait
constexpr double kDoubt = 0.2;       // of the mean wait of such lines: may be an error
constexpr double kAsBefore = 0.5;    // of what stays: waits as it did, whatever has moved
// A cache that is used by less than this, and no set over full: what stays is resident.
constexpr double kResidentUse = 0.125;
constexpr double kMostStall = 60;  // of a line that misses always, for each part that runs
constexpr double kLowMiss = 0.25;  // below it S / m says more about noise than about the line

}  // namespace

double miss_share(uint32_t lines, uint32_t ways) {
  if (ways == 0) return 1;
  if (lines <= ways) return 0;
  std::vector<uint32_t> set(ways, kNone);
  uint32_t random = 0x2545F491, filled = 0;
  uint64_t misses = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    for (uint32_t line = 0; line < lines; ++line) {
      if (std::find(set.begin(), set.end(), line) != set.end()) continue;
      ++misses;
      random ^= random << 13;
      random ^= random >> 17;
      random ^= random << 5;
      set[filled < ways ? filled++ : (random >> 8) % ways] = line;
    }
  }
  return static_cast<double>(misses) / lines / kRounds;
}

// Calls f(line, first spot, end of its spots, the chance that it runs) for each line that stays.
template <class F>
void FetchModel::each_line(const Lines& lines, F f) const {
  const size_t count = lines.of_spot.size();
  for (size_t i = 0; i < count;) {
    const uint32_t line = lines.of_spot[i];
    size_t end = i + 1;
    double chance = input_.spots[i].chance;
    // What has moved may have stood between.
    while (end < count && (lines.of_spot[end] == line || lines.of_spot[end] == kNone)) {
      if (lines.of_spot[end] == line) chance = std::max(chance, input_.spots[end].chance);
      ++end;
    }
    if (line != kNone) f(line, i, end, chance);
    i = end;
  }
}

FetchModel::FetchModel(const Units& units, const ElfIndex& index, const profile::Target& target,
                       const profile::CallGraph& graph, const FetchInput& input)
    : units_(units),
      index_(index),
      target_(target),
      graph_(graph),
      input_(input),
      cache_(target.cache) {
  pressure_.assign(units.units.size(), 0);
  lines_.assign(units.units.size(), 0);
  always_.resize(input.spots.size());
  doubtful_.resize(input.spots.size());
  for (size_t i = 0; i < always_.size(); ++i) always_[i] = input.spots[i].stall;
  if (!cache_) return;
  std::vector<double> shares;
  for (uint32_t n = 0; n < std::max(kTable + kMostMore, cache_->ways + 2); ++n)
    shares.push_back(miss_share(n, cache_->ways));
  for (uint32_t n = 0; n < kTable; ++n) {
    for (uint32_t step = 0; step < kMoreSteps; ++step) {
      // Lines that may run fall on sets by chance: Poisson. What is beyond the sum misses always.
      const double more = step * kMoreStep;
      double chance = std::exp(-more), mean = 0, squares = 0, rest = 1;
      for (uint32_t k = 0; k < kMostMore && n > 0; ++k) {
        const double m = shares[n + k];
        mean += chance * m;
        squares += chance * m * m;
        rest -= chance;
        chance *= more / (k + 1);
      }
      rest = n > 0 ? std::max(rest, 0.0) : 0;
      table_.push_back(mean + rest);
      // A line that missed has one companion too many at least.
      const double least = shares[std::max(n, cache_->ways + 1)];
      weighed_.push_back(mean + rest > 0 ? std::max(least, (squares + rest) / (mean + rest))
                                         : least);
    }
  }
  const Lines lines = place(std::vector<bool>(units.units.size()), false);
  each_line(lines, [&](uint32_t line, size_t first, size_t end, double) {
    const uint32_t n = lines.in_set[line % cache_->sets].lines;
    for (size_t i = first; i < end; ++i) {
      const Spot& spot = input.spots[i];
      if (spot.unit == kNone || spot.chance < 1) continue;
      if (i > first && input.spots[i - 1].unit == spot.unit && input.spots[i - 1].chance >= 1) {
        continue;
      }
      ++lines_[spot.unit];
      pressure_[spot.unit] += n;
    }
  });
  for (size_t u = 0; u < lines_.size(); ++u) {
    if (lines_[u] > 0) pressure_[u] /= lines_[u];
  }
  if (input.is_counted) {
    judge_counted(lines);
    judge_residence(lines);
  } else {
    judge_measured(lines);
  }
}

void FetchModel::judge_measured(const Lines& lines) {
  double sum = 0, count = 0;
  each_line(lines, [&](uint32_t line, size_t first, size_t end, double) {
    const double m = miss(lines.in_set[line % cache_->sets], 1);
    if (m < kLowMiss) return;
    for (size_t i = first; i < end; ++i) {
      always_[i] /= m;
      sum += always_[i];
    }
    count += 1;
  });
  // What never missed may fall among others when the code moves together.
  const double typical = count > 0 ? sum / count : 0;
  each_line(lines, [&](uint32_t line, size_t first, size_t end, double) {
    if (miss(lines.in_set[line % cache_->sets], 1) >= kLowMiss) return;
    double weight = 0;
    for (size_t i = first; i < end; ++i) {
      weight += input_.spots[i].weight;
      always_[i] = 0;
    }
    always_[first] = std::min(typical, weight * kMostStall);
  });
}

// Gamma-Poisson: the waits of a line are a count, the waits that it would have if it missed always
// are spread about a mean of its kind with the shape kShape, so with `s` waits at a share m of
// misses they are (kShape + s) / (kShape / mean + m). Kinds are the first line of a function, which
// nothing fetches ahead, and the others, which the flash controller has on their way.
void FetchModel::judge_counted(const Lines& lines) {
  struct Line {
    size_t first = 0, end = 0;
    double chance = 1, stall = 0, miss = 0, weighed = 0;
    bool is_entry = false;
  };
  std::vector<Line> all;
  double stalls[2] = {}, misses[2] = {};
  each_line(lines, [&](uint32_t line, size_t first, size_t end, double chance) {
    Line one;
    one.first = first;
    one.end = end;
    one.chance = chance;
    for (size_t i = first; i < end; ++i) {
      const Spot& spot = input_.spots[i];
      one.stall += spot.stall;
      if (spot.unit == kNone) continue;
      one.is_entry |= units_.units[spot.unit].address / cache_->line_bytes == line;
    }
    const Crowd& crowd = lines.in_set[line % cache_->sets];
    one.miss = miss(crowd, chance);
    one.weighed = std::max(one.miss, miss(crowd, chance, true));
    stalls[one.is_entry] += one.stall;
    misses[one.is_entry] += one.miss * chance;
    all.push_back(one);
  });
  double base = 0;
  for (const Line& one : all) {
    const double sum = stalls[one.is_entry], missed = misses[one.is_entry];
    const double mean = missed > 0 ? sum / missed : 0;
    double potential = 0;
    if (mean > 0) {
      // The more it waited, the surer its set is full: some waits are errors of the estimate.
      const double sure = one.stall / (one.stall + mean * kDoubt);
      const double m = one.miss + (one.weighed - one.miss) * sure;
      potential = one.chance * (kShape + one.stall) / (kShape / mean + m);
    }
    const double each = one.stall > 0 ? potential / one.stall : 0;
    for (size_t i = one.first; i < one.end; ++i) always_[i] = input_.spots[i].stall * each;
    if (one.stall <= 0) always_[one.first] = potential;
    for (size_t i = one.first; i < one.end; ++i) doubtful_[i] = one.miss < kLowMiss;
    base += potential * one.miss;
  }
  // The waits of all lines together are known better than those of each.
  const double scale = base > 0 ? input_.stall / base : 0;
  for (double& one : always_) one *= scale;
}

double FetchModel::miss(const Crowd& crowd, double chance, bool weighed) const {
  const std::vector<double>& table = weighed ? weighed_ : table_;
  const bool is_certain = chance >= 1;
  const uint32_t n = std::min(crowd.lines + (is_certain ? 0 : 1), kTable - 1);
  const double more = std::max(0.0, crowd.more - (is_certain ? 0 : chance)) / kMoreStep;
  const auto step = static_cast<uint32_t>(std::min<double>(more, kMoreSteps - 1));
  const double* const row = &table[size_t{n} * kMoreSteps];
  if (step + 1 >= kMoreSteps) return row[kMoreSteps - 1];
  return row[step] + (row[step + 1] - row[step]) * (more - step);
}

FetchModel::Lines FetchModel::place(const std::vector<bool>& moved, bool relayout) const {
  std::optional<Layout> layout;
  if (relayout) layout.emplace(index_, target_, units_, moved, graph_);
  Lines out;
  out.of_spot.assign(input_.spots.size(), kNone);
  out.in_set.resize(cache_->sets);
  double weight = 0, left = 0;
  for (size_t i = 0; i < input_.spots.size(); ++i) {
    const Spot& spot = input_.spots[i];
    weight += spot.weight;
    if (spot.unit != kNone && moved[spot.unit]) continue;
    left += spot.weight;
    const uint32_t pc = layout ? layout->place(spot.pc, spot.unit) : spot.pc;
    out.of_spot[i] = pc / cache_->line_bytes;
  }
  each_line(out, [&](uint32_t line, size_t, size_t, double chance) {
    Crowd& crowd = out.in_set[line % cache_->sets];
    if (chance >= 1) {
      ++crowd.lines;
    } else {
      crowd.more += chance;
    }
  });
  // Lines nobody knows where: they go as the others go.
  if (input_.unseen_lines > 0 && weight > 0) {
    const double each = input_.unseen_lines / cache_->sets * left / weight;
    for (Crowd& crowd : out.in_set) crowd.more += each;
  }
  return out;
}

double FetchModel::stall(const std::vector<bool>& moved) const {
  const Stall parts = stall_parts(moved);
  return parts.relieved + (parts.as_before - parts.relieved) * parts.share;
}

void FetchModel::judge_residence(const Lines& lines) {
  double sum = 0;
  bool is_over = false;
  for (const Crowd& crowd : lines.in_set) {
    sum += crowd.lines + crowd.more;
    is_over = is_over || crowd.lines > cache_->ways;
  }
  const double room = static_cast<double>(cache_->sets) * cache_->ways;
  share_as_before_ = is_over || sum > room * kResidentUse ? kAsBefore : 0;
}

FetchModel::Stall FetchModel::stall_parts(const std::vector<bool>& moved) const {
  Stall out;
  for (size_t i = 0; i < input_.spots.size(); ++i) {
    const Spot& spot = input_.spots[i];
    if (spot.unit == kNone || !moved[spot.unit]) {
      out.as_before += spot.stall;
    } else if (doubtful_[i]) {
      out.doubtful += spot.stall;
    }
  }
  out.relieved = out.as_before;
  if (!cache_) return out;
  const Lines lines = place(moved, true);
  out.relieved = 0;
  out.share = share_as_before_;
  each_line(lines, [&](uint32_t line, size_t first, size_t end, double chance) {
    double always = 0;
    for (size_t i = first; i < end; ++i) always += lines.of_spot[i] == line ? always_[i] : 0;
    if (always > 0) out.relieved += always * miss(lines.in_set[line % cache_->sets], chance);
  });
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
  const Lines lines = place(moved, true);
  std::vector<double> of_set(cache_->sets, 0);
  for (size_t i = 0; i < lines.of_spot.size(); ++i) {
    if (lines.of_spot[i] != kNone) of_set[lines.of_spot[i] % cache_->sets] += always_[i];
  }
  // One unit after another: its spots are together. A line that two units share is freed by both
  // only, which is left out.
  struct Touched {
    uint32_t set = 0;
    Crowd crowd;
    double chance = 0, own = 0;
  };
  std::vector<Touched> touched;
  for (size_t i = 0; i < lines.of_spot.size();) {
    const uint32_t unit = input_.spots[i].unit;
    const size_t first = i;
    size_t end = i;
    touched.clear();
    uint32_t last = kNone;
    for (; end < lines.of_spot.size() && input_.spots[end].unit == unit; ++end) {
      const uint32_t line = lines.of_spot[end];
      if (line == kNone) continue;
      if (line != last) touched.push_back({line % cache_->sets, {}, 0, 0});
      last = line;
      touched.back().own += always_[end];
      touched.back().chance = std::max(touched.back().chance, input_.spots[end].chance);
    }
    i = end;
    if (unit == kNone || touched.empty()) continue;
    for (Touched& one : touched) {
      one.crowd.lines = one.chance >= 1 ? 1 : 0;
      one.crowd.more = one.chance >= 1 ? 0 : one.chance;
    }
    std::sort(touched.begin(), touched.end(),
              [](const Touched& a, const Touched& b) { return a.set < b.set; });
    for (size_t k = 0; k < touched.size();) {
      Touched sum = touched[k++];
      for (; k < touched.size() && touched[k].set == sum.set; ++k) {
        sum.crowd.lines += touched[k].crowd.lines;
        sum.crowd.more += touched[k].crowd.more;
        sum.own += touched[k].own;
        sum.chance = std::max(sum.chance, touched[k].chance);
      }
      const Crowd& now = lines.in_set[sum.set];
      const double others = std::max(0.0, of_set[sum.set] - sum.own);
      const Crowd left = {now.lines - std::min(now.lines, sum.crowd.lines),
                          std::max(0.0, now.more - sum.crowd.more)};
      out[unit] += sum.own * miss(now, sum.chance) + others * (miss(now, 1) - miss(left, 1));
    }
    if (share_as_before_ <= 0) continue;
    double as_before = 0;
    for (size_t k = first; k < end; ++k)
      as_before += lines.of_spot[k] != kNone ? input_.spots[k].stall : 0;
    out[unit] += (as_before - out[unit]) * share_as_before_;
  }
  return out;
}

void FetchModel::remaining(const std::vector<bool>& moved, uint64_t* lines, uint64_t* over) const {
  *lines = *over = 0;
  if (!cache_) return;
  double all = 0, beyond = 0;
  for (const Crowd& crowd : place(moved, true).in_set) {
    const double n = crowd.lines + crowd.more;
    all += n;
    beyond += std::max(0.0, n - cache_->ways);
  }
  *lines = static_cast<uint64_t>(std::llround(all));
  *over = static_cast<uint64_t>(std::llround(beyond));
}

}  // namespace millrace::placement
