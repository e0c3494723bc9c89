// SPDX-License-Identifier: Apache-2.0
// The chooser against every possible selection, by its own model.
#include "place/choose.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "place/anneal.h"

namespace millrace::placement {
namespace {

using profile::TargetCache;

profile::Target target_with(const TargetCache& cache) {
  profile::Target target;
  target.cache = cache;
  return target;
}

// Random functions of one to five lines each, in a cache of 4 sets.
class Case {
 public:
  Case(uint32_t seed, size_t count) {
    std::mt19937 random(seed);
    uint32_t at = 0x60000000;
    for (size_t i = 0; i < count; ++i) {
      Unit unit;
      unit.address = at;
      unit.size = 16 + 4 * static_cast<uint32_t>(random() % 36);
      unit.name = std::string(1 + i, 'f');
      work.units.units.push_back(unit);
      UnitUse use;
      Candidate candidate;
      candidate.units = {static_cast<uint32_t>(i)};
      candidate.bytes = unit.size;
      for (uint32_t pc = at; pc < at + unit.size; pc = (pc / 32 + 1) * 32) {
        const auto stall = static_cast<double>(random() % 100);
        work.input.spots.push_back({pc, static_cast<uint32_t>(i), stall, stall + 10});
        work.input.stall += stall;
        use.stall += stall;
        use.weight += static_cast<uint64_t>(stall) + random() % 60;
      }
      candidate.stall = use.stall;
      candidate.weight = use.weight;
      work.input.by_unit.push_back(use);
      work.candidates.push_back(candidate);
      work.candidate_of.push_back(static_cast<uint32_t>(i));
      at += (unit.size + 3) / 4 * 4;
    }
    work.index = &index;
    work.model = std::make_unique<FetchModel>(work.units, index, target, work.graph, work.input);
  }
  // Of all selections that have those of `must`, a mask.
  double optimum(uint64_t budget, uint32_t must = 0) const {
    const size_t count = work.candidates.size();
    double best = work.input.stall;
    for (uint32_t mask = 0; mask < 1u << count; ++mask) {
      if ((mask & must) != must) continue;
      Chosen chosen(count);
      for (size_t i = 0; i < count; ++i) chosen[i] = (mask >> i & 1) != 0;
      if (work.bytes(chosen) <= budget) best = std::min(best, work.stall(chosen));
    }
    return best;
  }
  ElfIndex index;
  const profile::Target target = target_with(TargetCache{32, 4, 2});
  Workspace work;
};

TEST(ChooseBest, IsNeverWorseThanDensityAndCloseToTheOptimum) {
  double ours = 0, densest = 0, best = 0, nothing = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Case one(seed, 11);
    const Chosen may(11, true);
    const Chosen pinned(11, false);
    for (const uint64_t budget : {150u, 300u, 500u}) {
      const Choice choice = choose_best(one.work, may, pinned, budget);
      const Choice density = choose_by_density(one.work, may, pinned, budget);
      EXPECT_LE(one.work.total(choice.chosen), budget);
      EXPECT_LE(choice.stall, density.stall * (1 + 1e-9)) << "seed " << seed;
      const double optimum = one.optimum(budget);
      EXPECT_GE(choice.stall, optimum * (1 - 1e-9));
      ours += choice.stall;
      densest += density.stall;
      best += optimum;
      nothing += one.work.stall(pinned);
    }
  }
  // Of what the optimum saves, all together.
  EXPECT_GT((nothing - ours) / (nothing - best), 0.99);
  EXPECT_GT(nothing - ours, nothing - densest);
}

TEST(ChooseBest, IsRepeatable) {
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const Case one(seed, 11);
    const Chosen may(11, true), pinned(11, false);
    const Choice first = choose_best(one.work, may, pinned, 300);
    const Choice second = choose_best(one.work, may, pinned, 300);
    EXPECT_EQ(first.chosen, second.chosen);
    EXPECT_EQ(first.stall, second.stall);
    EXPECT_EQ(first.method, second.method);
  }
}

TEST(Anneal, FindsTheOptimumThatDensityMisses) {
  int optimal = 0, densest_optimal = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Case one(seed, 11);
    const Chosen may(11, true);
    Chosen pinned(11, false);
    pinned[seed % 11] = true;
    const uint64_t budget = one.work.total(pinned) + 300;
    const Choice start = choose_by_density(one.work, may, pinned, budget);
    const Choice end = anneal(one.work, may, pinned, budget, start, 1000);
    EXPECT_LE(end.stall, start.stall);
    EXPECT_DOUBLE_EQ(end.stall, one.work.stall(end.chosen));
    EXPECT_LE(one.work.total(end.chosen), budget);
    EXPECT_TRUE(end.chosen[seed % 11]);
    const double optimum = one.optimum(budget, 1u << seed % 11);
    EXPECT_GE(end.stall, optimum * (1 - 1e-9));
    optimal += end.stall <= optimum * (1 + 1e-9);
    densest_optimal += start.stall <= optimum * (1 + 1e-9);
  }
  EXPECT_GE(optimal, 18);
  EXPECT_LT(densest_optimal, 18);
}

TEST(MissShare, IsZeroForWhatFitsAndThatOfAMarkovChainElse) {
  EXPECT_EQ(miss_share(1, 2), 0);
  EXPECT_EQ(miss_share(2, 2), 0);
  EXPECT_EQ(miss_share(4, 4), 0);
  EXPECT_EQ(miss_share(2, 1), 1);
  // a b c in turn, two ways. Beside the line just visited one other is there. If the visit was a
  // hit, that is the line before, and the next visit misses. If it was a miss, one of two was
  // evicted by chance, and the next hits in half of the cases: h = (1 - h) / 2, h = 1/3.
  EXPECT_NEAR(miss_share(3, 2), 2.0 / 3, 0.02);
  EXPECT_GT(miss_share(4, 2), miss_share(3, 2));
  EXPECT_GT(miss_share(5, 2), miss_share(4, 2));
  EXPECT_LE(miss_share(40, 2), 1);
}

TEST(FetchModel, AloneInItsSetsNothingIsSavedTogetherMuchIs) {
  // Three lines of one set of a 2-way cache: each misses two times of three; with one gone, none.
  Units units;
  FetchInput input;
  const ElfIndex index;
  for (uint32_t i = 0; i < 4; ++i) {
    Unit unit;
    unit.address = 0x60000000 + i * 128 + (i == 3 ? 32 : 0);  // 4 sets: the fourth alone in set 1
    unit.size = 32;
    units.units.push_back(unit);
    input.spots.push_back({unit.address, i, i == 3 ? 0.0 : 100.0, 110});
  }
  input.stall = 300;
  const profile::Target target = target_with(TargetCache{32, 4, 2});
  const profile::CallGraph graph;
  const FetchModel model(units, index, target, graph, input);
  EXPECT_NEAR(model.stall({false, false, false, false}), 300, 1e-6);
  EXPECT_NEAR(model.stall({true, false, false, false}), 0, 1e-6);
  const std::vector<double> marginal = model.marginal({false, false, false, false});
  EXPECT_NEAR(marginal[0], 300, 1e-6);  // its own 100 and the 200 of the others
  EXPECT_NEAR(marginal[3], 0, 1e-6);
  EXPECT_NEAR(model.pressure(0), 3, 1e-9);
  EXPECT_EQ(model.lines(0), 1u);
}

TEST(FetchModel, ManyUnseenLinesCrowdEverySet) {
  Units units;
  FetchInput input;
  const ElfIndex index;
  Unit unit;
  unit.address = 0x60000000;
  unit.size = 32;
  units.units.push_back(unit);
  input.spots.push_back({unit.address, 0, 100, 110});
  input.stall = 100;
  input.unseen_lines = 4000;  // a thousand for each of 4 sets
  const profile::Target target = target_with(TargetCache{32, 4, 2});
  const profile::CallGraph graph;
  const FetchModel model(units, index, target, graph, input);
  EXPECT_NEAR(model.stall({false}), 100, 1);
  EXPECT_NEAR(model.stall({true}), 0, 1e-6);
}

}  // namespace
}  // namespace millrace::placement
