// SPDX-License-Identifier: Apache-2.0
// A trace has every wait. Samples do not, but what waits for a line shows at one or two of its
// addresses, while code that runs from the cache spreads over all of them. Of a line with many
// samples, what stands out is what waited. Lines with fewer are judged together with others of as
// many, by how often two samples hit the same address, which has no bias for few samples (the
// highest address has: of ten equal ones one is always ahead). With others of as many, because the
// busiest lines are those that wait: all together would take the share of those for all.
//
// Running code is not even either. Of two instructions that issue together one is never sampled,
// and what divides, waits for an operand or jumps is sampled more than the rest. In a sketch that
// computes, all of it in ITCM where nothing waits for code, the two highest addresses of a line
// have 55 % of its samples on average, one that stands alone 30 %, and two samples hit the same
// address in 29 % of all cases (three optimisation levels: 27 to 32). Taken for even, that program
// seemed to wait for 43 % of its time. So only what stands out beyond that is believed, in full
// from a share on that running code hardly has. Lines scatter: those below the average of running
// code count against those above it, or noise alone would be a tenth of the time.
//
// On the virtual board's echo_heavy, which waits for 86 to 90 % in the trace, this says 84 to 93.
// Lines without a sample are in unseen_lines.cc.
#include "value/fetch_input.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "value/trace_visits.h"
#include "value/unseen_lines.h"

namespace millrace::placement {
namespace {

using profile::kNone;
using profile::StackSample;
using profile::TargetRegion;

constexpr double kWellSampled = 24;  // samples of a line
// Lines with as many samples are judged together.
constexpr std::array<double, 8> kClasses = {2, 3, 4, 6, 9, 13, 18, kWellSampled - 1};
// Of two samples that waited for a line, how often both are at the same address: most wait at one,
// some where the rest of the line arrives.
constexpr double kSameOfWaiting = 0.8;
constexpr double kLineAddresses = 10;  // instructions of a line that runs
constexpr double kSecondPeak = 0.2;    // of the highest: waits as well
// What running code shows by itself, and from where on all is believed that shows.
struct Doubt {
  double running = 0, believed = 0;
  double sure(double shown) const {
    return std::clamp((shown - running) / (believed - running), 0.0, 1.0);
  }
};
constexpr Doubt kSame = {0.29, 0.49};   // pairs of samples at the same address
constexpr Doubt kTop = {0.3, 0.55};     // samples at the highest address of a line
constexpr Doubt kTopTwo = {0.55, 0.8};  // at the two highest
constexpr uint32_t kDefaultLine = 32;

bool is_slow(const TargetRegion* region) { return region != nullptr && !region->is_fast; }

struct Address {
  uint32_t pc = 0;
  double weight = 0, stall = 0;
};

// Share of samples that waited, of lines where two samples are at the same address so often.
double waiting_share(double same) {
  constexpr double kEven = 1 / kLineAddresses;
  return std::clamp((same - kEven) / (kSameOfWaiting - kEven), 0.0, 1.0) * kSame.sure(same);
}

struct LineSum {
  double samples = 0, pairs = 0, addresses = 0;
  LineSum(const Address* first, const Address* last) {
    for (const Address* at = first; at != last; ++at) {
      samples += at->weight;
      pairs += at->weight * (at->weight - 1);
      addresses += 1;
    }
  }
  // Unbiased: of two samples drawn without putting back.
  double same() const { return pairs / (samples * (samples - 1)); }
};

// A line with many samples.
struct WellSampled {
  double share = 0;   // that waited
  double beyond = 0;  // more of it at the peaks than running code has there; below 0: less
  WellSampled(const Address* first, const Address* last, double samples) {
    double top = 0, second = 0;
    for (const Address* at = first; at != last; ++at) {
      if (at->weight > top) {
        second = std::exchange(top, at->weight);
      } else {
        second = std::max(second, at->weight);
      }
    }
    const bool has_two = second >= top * kSecondPeak;
    const Doubt& doubt = has_two ? kTopTwo : kTop;
    const double peaks = has_two ? 2 : 1;
    const double shown = (has_two ? top + second : top) / samples;
    const double addresses = std::max(static_cast<double>(last - first), kLineAddresses);
    // The peaks' addresses run as often as the others.
    const double uneven = std::clamp(1 - (1 - shown) * addresses / (addresses - peaks), 0.0, 1.0);
    share = uneven * doubt.sure(shown);
    beyond = shown - doubt.running;
  }
};

// Shares of lines with few samples, by their number.
class SparseShares {
 public:
  void add(const LineSum& line) {
    if (line.samples < 2 || line.samples >= kWellSampled) return;
    Class& to = classes_[class_of(line.samples)];
    to.same += line.same() * line.samples;
    to.samples += line.samples;
    all_.same += line.same() * line.samples;
    all_.samples += line.samples;
  }
  // Each class leans on all of them as far as it has few lines itself. No line with two samples:
  // everything waits.
  double of(double samples) const {
    if (all_.samples <= 0) return 1;
    const Class& from = classes_[class_of(samples)];
    const double mean = all_.same / all_.samples;
    return waiting_share((from.same + mean * kLean) / (from.samples + kLean));
  }

 private:
  static constexpr double kLean = 20;  // samples
  struct Class {
    double same = 0, samples = 0;
  };
  static size_t class_of(double samples) {
    const auto* const at = std::lower_bound(kClasses.begin(), kClasses.end(), samples);
    return std::min<size_t>(static_cast<size_t>(at - kClasses.begin()), kClasses.size() - 1);
  }
  std::array<Class, kClasses.size()> classes_{};
  Class all_;
};

class Input {
 public:
  Input(const profile::Profile& profile, const Units& units, const ElfIndex& index)
      : profile_(profile), units_(units), index_(index) {
    line_bytes_ = profile.target.cache ? profile.target.cache->line_bytes : kDefaultLine;
    out_.by_unit.resize(units.units.size());
  }

  FetchInput run(std::span<const uint8_t> trace) {
    weigh();
    if (!trace.empty()) {
      from_trace(trace);
    } else if (profile_.has_stall) {
      out_.is_measured = true;
      for (const Address& one : addresses_) add(one.pc, one.stall, one.weight);
    } else {
      from_samples();
    }
    std::sort(out_.spots.begin(), out_.spots.end(),
              [](const Spot& a, const Spot& b) { return a.pc < b.pc; });
    return std::move(out_);
  }

 private:
  void weigh() {
    for (const StackSample& one : profile_.stacks) {
      const uint32_t unit = unit_at(units_, one.pc);
      if (unit != kNone) {
        out_.by_unit[unit].weight += one.weight;
        if (one.exception != 0) out_.by_unit[unit].handlers += one.weight;
      }
      if (!is_slow(profile_.target.region_at(one.pc)) || index_.section_at(one.pc) == kNone) {
        continue;
      }
      if (addresses_.empty() || addresses_.back().pc != one.pc)
        addresses_.push_back({one.pc, 0, 0});
      addresses_.back().weight += static_cast<double>(one.weight);
      addresses_.back().stall += static_cast<double>(one.stall);
    }
  }

  void add(uint32_t pc, double stall, double weight) {
    const uint32_t unit = unit_at(units_, pc);
    out_.spots.push_back({pc, unit, stall, weight});
    out_.stall += stall;
    if (unit != kNone) out_.by_unit[unit].stall += stall;
  }

  // Calls f(first, last) for the addresses of each line.
  template <class F>
  void each_line(F f) const {
    for (size_t i = 0; i < addresses_.size();) {
      size_t end = i + 1;
      while (end < addresses_.size() &&
             addresses_[end].pc / line_bytes_ == addresses_[i].pc / line_bytes_) {
        ++end;
      }
      f(addresses_.data() + i, addresses_.data() + end);
      i = end;
    }
  }

  void from_samples() {
    double once = 0, twice = 0, lines = 0;
    double above = 0, below = 0;  // of lines with many samples: than running code has
    SparseShares sparse;
    each_line([&](const Address* first, const Address* last) {
      const LineSum sum(first, last);
      lines += 1;
      if (sum.samples == 1) once += 1;
      if (sum.samples == 2) twice += 1;
      sparse.add(sum);
      if (sum.samples < kWellSampled) return;
      const double beyond = sum.samples * WellSampled(first, last, sum.samples).beyond;
      (beyond > 0 ? above : below) += beyond;
    });
    const double scale = above > 0 ? std::max(0.0, above + below) / above : 0;
    each_line([&](const Address* first, const Address* last) {
      const LineSum sum(first, last);
      const double share = sum.samples < kWellSampled
                               ? sparse.of(sum.samples)
                               : WellSampled(first, last, sum.samples).share * scale;
      for (const Address* at = first; at != last; ++at) {
        // Squares: the addresses that stand out are those that waited.
        add(at->pc,
            sum.samples * share * at->weight * at->weight / std::max(sum.pairs + sum.samples, 1.0),
            at->weight);
      }
    });
    if (profile_.unit != profile::WeightUnit::samples) return;
    out_.is_counted = true;
    const double unseen = twice > 0 ? once * once / (2 * twice) : once * (once - 1) / 2;
    add_unseen_lines(units_, line_bytes_, std::clamp(unseen, 0.0, lines), &out_);
  }

  void from_trace(std::span<const uint8_t> trace) {
    out_.is_measured = true;
    const TraceVisits visits(trace);
    std::map<uint32_t, std::pair<double, double>> stalls;  // and weights, by the first address of a
                                                           // line that a block runs
    std::vector<bool> seen(visits.blocks().size());
    visits.each([&](const Visit& visit) {
      const profile::TraceBlock& block = visits.blocks()[visit.block];
      if (!seen[visit.block]) {
        seen[visit.block] = true;
        for (uint32_t at = block.address; at < block.end();
             at = (at / line_bytes_ + 1) * line_bytes_) {
          stalls.emplace(at, std::make_pair(0.0, 0.0));
        }
      }
      const uint32_t last = std::max(block.address, block.end() - 2);
      auto& [_, weight] = stalls[block.address];
      weight += static_cast<double>(block.issue);
      for (const CodeWait& wait : visit.waits) {
        const auto stall = static_cast<double>(wait.stall);
        weight += stall;
        stalls[std::clamp(wait.line * 32, block.address, last)].first += stall;
      }
    });
    for (const auto& [pc, at] : stalls) {
      if (is_slow(profile_.target.region_at(pc)) && index_.section_at(pc) != kNone) {
        add(pc, at.first, at.second);
      }
    }
  }

  const profile::Profile& profile_;
  const Units& units_;
  const ElfIndex& index_;
  uint32_t line_bytes_ = kDefaultLine;
  std::vector<Address> addresses_;
  FetchInput out_;
};

}  // namespace

uint32_t unit_at(const Units& units, uint32_t address) {
  auto it = std::upper_bound(units.units.begin(), units.units.end(), address,
                             [](uint32_t a, const Unit& one) { return a < one.address; });
  if (it == units.units.begin()) return kNone;
  --it;
  return address < it->end() ? static_cast<uint32_t>(it - units.units.begin()) : kNone;
}

FetchInput read_fetches(const profile::Profile& profile, const Units& units, const ElfIndex& index,
                        std::span<const uint8_t> trace) {
  return Input(profile, units, index).run(trace);
}

}  // namespace millrace::placement
