// SPDX-License-Identifier: Apache-2.0
// How many lines run without a sample follows from those with one and with two (Chao 1984): 16,384
// samples of the virtual board's echo_heavy see 895 of 1,016 lines, 1,500 see 500. Where they are
// matters, since what moves takes its own unseen lines along: spread evenly over the cache they
// would still be there when everything has moved. Most are in functions with samples: between two
// lines with samples control nearly always runs through, before the first and behind the last it
// may.
#include "value/unseen_lines.h"

#include <algorithm>
#include <vector>

namespace millrace::placement {
namespace {

constexpr double kMostChance = 0.9;
constexpr double kAtEnds = 0.6;  // of the chance of a line between two with samples
constexpr int kGrowRounds = 20;
constexpr size_t kMostGaps = size_t{1} << 18;  // 8 MB of code

struct Gap {
  Spot spot;
  double likely = 1;
};

}  // namespace

void add_unseen_lines(const Units& units, uint32_t line_bytes, double unseen, FetchInput* input) {
  std::vector<Spot> seen = input->spots;
  std::sort(seen.begin(), seen.end(), [](const Spot& a, const Spot& b) { return a.pc < b.pc; });
  std::vector<Gap> gaps;
  for (size_t i = 0; i < seen.size();) {
    const uint32_t unit = seen[i].unit;
    size_t end = i + 1;
    while (end < seen.size() && seen[end].unit == unit) ++end;
    if (unit != profile::kNone) {
      const Unit& of = units.units[unit];
      size_t next = i;
      for (uint64_t at = of.address; at < of.end() && gaps.size() < kMostGaps;
           at = (at / line_bytes + 1) * line_bytes) {
        const uint64_t line = at / line_bytes;
        while (next < end && seen[next].pc / line_bytes < line) ++next;
        if (next < end && seen[next].pc / line_bytes == line) continue;
        const bool is_between = next > i && next < end;
        gaps.push_back({{static_cast<uint32_t>(at), unit, 0, 0, 0}, is_between ? 1.0 : kAtEnds});
      }
    }
    i = end;
  }
  double scale = 0, sum = 0;
  for (int round = 0; round < kGrowRounds && sum < unseen * 0.999; ++round) {
    double free = 0, full = 0;
    for (const Gap& gap : gaps) {
      (gap.likely * scale < kMostChance ? free : full) +=
          gap.likely * scale < kMostChance ? gap.likely : kMostChance;
    }
    if (free <= 0) break;
    scale = (unseen - full) / free;
    sum = 0;
    for (const Gap& gap : gaps) sum += std::min(kMostChance, gap.likely * scale);
  }
  sum = 0;
  for (Gap& gap : gaps) {
    gap.spot.chance = std::clamp(gap.likely * scale, 0.0, kMostChance);
    sum += gap.spot.chance;
    if (gap.spot.chance > 0) input->spots.push_back(gap.spot);
  }
  input->unseen_lines = std::max(0.0, unseen - sum);
}

}  // namespace millrace::placement
