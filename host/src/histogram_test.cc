// SPDX-License-Identifier: Apache-2.0
#include "millrace/host/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace millrace::host {
namespace {

TEST(Histogram, EmptyIsAllZero) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.min(), 0u);
  EXPECT_EQ(h.max(), 0u);
  EXPECT_EQ(h.mean(), 0);
  EXPECT_EQ(h.quantile(0.5), 0u);
}

TEST(Histogram, ValuesBelow64AreExact) {
  Histogram h;
  for (uint64_t v = 0; v < 64; ++v) h.add(v);
  size_t buckets = 0;
  h.for_each([&](const Histogram::Bucket& b) {
    EXPECT_EQ(b.low, b.high);
    EXPECT_EQ(b.low, buckets);
    ++buckets;
  });
  EXPECT_EQ(buckets, 64u);
  EXPECT_EQ(h.quantile(0.5), 31u);  // 32 of 64 values are <= 31
}

TEST(Histogram, BucketsTileTheWholeRange) {
  // Both sides of each power of two and the ends: each value lies in the bucket it was added to.
  std::vector<uint64_t> values = {0, UINT64_MAX};
  for (int e = 1; e < 64; ++e) {
    for (const int64_t d : {-1, 0, 1})
      values.push_back((uint64_t{1} << e) + static_cast<uint64_t>(d));
  }
  for (const uint64_t v : values) {
    Histogram h;
    h.add(v);
    h.for_each([&](const Histogram::Bucket& b) {
      EXPECT_LE(b.low, v);
      EXPECT_GE(b.high, v);
      // Width at most 1/32 of the low end.
      EXPECT_LE(b.high - b.low, b.low / 32);
    });
  }
}

TEST(Histogram, QuantilesAreWithin3PercentOfSortedData) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> delays(10, 2);
  std::vector<uint64_t> sorted;
  Histogram h;
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto v = static_cast<uint64_t>(delays(random));
    sorted.push_back(v);
    sum += static_cast<double>(v);
    h.add(v);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const double q : {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(q * 100000)));
    const uint64_t exact = sorted[rank - 1];
    EXPECT_GE(h.quantile(q), exact) << q;
    EXPECT_LE(static_cast<double>(h.quantile(q)), static_cast<double>(exact) * 1.032 + 1) << q;
  }
  EXPECT_EQ(h.min(), sorted.front());
  EXPECT_EQ(h.max(), sorted.back());
  EXPECT_DOUBLE_EQ(h.mean(), sum / 100000);
}

TEST(Histogram, MergeEqualsAddingEverythingToOne) {
  Histogram a, b, all;
  a.add(5, 3);
  b.add(70000, 2);
  b.add(1);
  all.add(5, 3);
  all.add(70000, 2);
  all.add(1);
  a.merge(b);
  EXPECT_EQ(a.count(), 6u);
  EXPECT_EQ(a.min(), 1u);
  EXPECT_EQ(a.max(), 70000u);
  EXPECT_EQ(a.quantile(0.5), all.quantile(0.5));
  EXPECT_DOUBLE_EQ(a.mean(), (15 + 140000 + 1) / 6.0);
}

}  // namespace
}  // namespace millrace::host
