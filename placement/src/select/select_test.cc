// SPDX-License-Identifier: Apache-2.0
#include "millrace/placement/select.h"

#include <gtest/gtest.h>

#include <random>

namespace millrace::placement {
namespace {

// By trying every subset: at most 2^16.
uint64_t best_by_force(const std::vector<Item>& items, uint64_t budget) {
  uint64_t best = 0;
  for (uint32_t mask = 0; mask < 1u << items.size(); ++mask) {
    uint64_t bytes = 0, value = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if ((mask >> i & 1) == 0) continue;
      bytes += items[i].bytes;
      value += items[i].value;
    }
    if (bytes <= budget) best = std::max(best, value);
  }
  return best;
}

// By a table over bytes.
uint64_t best_by_table(const std::vector<Item>& items, uint64_t budget) {
  std::vector<uint64_t> best(budget + 1);
  for (const Item& item : items) {
    for (uint64_t at = budget; at >= item.bytes && at <= budget; --at) {
      best[at] = std::max(best[at], best[at - item.bytes] + item.value);
      if (at == 0) break;
    }
  }
  return best[budget];
}

void expect_consistent(const Selection& selection, const std::vector<Item>& items,
                       uint64_t budget) {
  uint64_t bytes = 0, value = 0;
  uint32_t last = 0;
  for (size_t i = 0; i < selection.chosen.size(); ++i) {
    ASSERT_LT(selection.chosen[i], items.size());
    ASSERT_TRUE(i == 0 || selection.chosen[i] > last);
    last = selection.chosen[i];
    bytes += items[last].bytes;
    value += items[last].value;
  }
  EXPECT_EQ(bytes, selection.bytes);
  EXPECT_EQ(value, selection.value);
  EXPECT_LE(bytes, budget);
  EXPECT_GE(selection.bound, selection.value);
}

TEST(SelectExactly, FindsWhatDensityMisses) {
  // Densities 2.0, 1.9, 1.9: the densest leaves 40 bytes that nothing fits; the others are worth
  // 190.
  const std::vector<Item> items = {{60, 120}, {50, 95}, {50, 95}};
  EXPECT_EQ(select_by_density(items, 100).value, 120u);
  const Selection best = select_exactly(items, 100);
  EXPECT_EQ(best.value, 190u);
  EXPECT_EQ(best.chosen, (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(best.is_exact);
  EXPECT_EQ(best.bound, 190u);
}

TEST(SelectExactly, EmptyCasesAreEmpty) {
  EXPECT_TRUE(select_exactly({}, 100).chosen.empty());
  EXPECT_TRUE(select_exactly({{4, 9}}, 0).chosen.empty());
  EXPECT_TRUE(select_exactly({{200, 9}}, 100).chosen.empty());
  EXPECT_TRUE(select_exactly({{4, 0}}, 100).chosen.empty());
  EXPECT_TRUE(select_exactly({{4, 0}}, 100).is_exact);
  EXPECT_EQ(select_exactly({{0, 5}}, 0).value, 5u);
}

TEST(SelectExactly, TakesAllThatHasValueWhenAllFits) {
  const Selection all = select_exactly({{10, 1}, {20, 0}, {30, 7}}, 1000);
  EXPECT_EQ(all.chosen, (std::vector<uint32_t>{0, 2}));
  EXPECT_TRUE(all.is_exact);
}

TEST(SelectExactly, IsAsGoodAsTryingEverySubset) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Item> items(1 + random() % 14);
    for (Item& item : items) {
      item.bytes = 1 + static_cast<uint32_t>(random() % 60);
      // Values near the size are the hard ones.
      item.value = round % 2 == 0 ? random() % 100 : item.bytes + 10;
    }
    const uint64_t budget = random() % 300;
    const Selection best = select_exactly(items, budget);
    expect_consistent(best, items, budget);
    EXPECT_EQ(best.value, best_by_force(items, budget)) << "round " << round;
    EXPECT_TRUE(best.is_exact);
    expect_consistent(select_by_density(items, budget), items, budget);
  }
}

TEST(SelectExactly, AgreesWithATableOnHundredsOfItems) {
  std::mt19937 random(11);
  for (int round = 0; round < 12; ++round) {
    std::vector<Item> items(400);
    for (Item& item : items) {
      item.bytes = 4 * (1 + static_cast<uint32_t>(random() % 200));
      item.value = round < 6 ? random() % 10000 : item.bytes * 7 + random() % 50;
    }
    const uint64_t budget = 2048 * (1 + static_cast<uint64_t>(round));
    const Selection best = select_exactly(items, budget);
    expect_consistent(best, items, budget);
    EXPECT_TRUE(best.is_exact);
    EXPECT_EQ(best.value, best_by_table(items, budget));
  }
}

TEST(SelectExactly, TwentyThousandItemsAreProved) {
  std::mt19937 random(3);
  std::vector<Item> items(20'000);
  for (Item& item : items) {
    item.bytes = 4 * (4 + static_cast<uint32_t>(random() % 300));
    item.value = random() % 1'000'000;
  }
  for (const uint64_t budget : {32u << 10, 512u << 10}) {
    const Selection best = select_exactly(items, budget);
    expect_consistent(best, items, budget);
    EXPECT_TRUE(best.is_exact);
    EXPECT_GE(best.value, select_by_density(items, budget).value);
  }
}

TEST(SelectExactly, AHardCaseSaysWhatItMayBeMissing) {
  // Value = bytes + constant: bounds decide nothing. No proof is asked for, only an honest bound.
  std::mt19937 random(5);
  std::vector<Item> items(5'000);
  for (Item& item : items) {
    item.bytes = 1 + static_cast<uint32_t>(random() % 100'000);
    item.value = item.bytes + 10'000;
  }
  const uint64_t budget = 10'000'000;
  const Selection best = select_exactly(items, budget);
  expect_consistent(best, items, budget);
  EXPECT_GE(best.value, select_by_density(items, budget).value);
}

}  // namespace
}  // namespace millrace::placement
