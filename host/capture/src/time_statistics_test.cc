// SPDX-License-Identifier: Apache-2.0
#include "millrace/capture/time_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace millrace::capture {
namespace {

TEST(TimeDistribution, QuantilesOfMicrosecondsAreExactUpTo20Ms) {
  TimeDistribution times;
  for (int64_t us = 1; us <= 1000; ++us) times.add(us * 1000);
  EXPECT_EQ(times.quantile(0.5), 500'000);
  EXPECT_EQ(times.quantile(0.999), 999'000);
  EXPECT_EQ(times.quantile(0), 1000);
  EXPECT_EQ(times.quantile(1), 1'000'000);
  EXPECT_DOUBLE_EQ(times.mean(), 500'500.0);
  // Of 1..n: (n^2 + n) / 12.
  EXPECT_NEAR(times.deviation(), std::sqrt(1000.0 * 1001 / 12) * 1000, 1);
}

TEST(TimeDistribution, LongTimesAreWithinFourPerMille) {
  for (const int64_t ns :
       {int64_t{20'000'000}, int64_t{20'100'000}, int64_t{39'999'900}, int64_t{40'000'000},
        int64_t{1'234'567'890}, int64_t{86'400'000'000'000}}) {
    TimeDistribution times;
    times.add(ns);
    times.add(ns * 2);
    EXPECT_LE(times.quantile(0.5), ns);
    EXPECT_GE(static_cast<double>(times.quantile(0.5)), static_cast<double>(ns) * 0.996) << ns;
  }
}

TEST(TimeDistribution, AnythingCanBeAdded) {
  TimeDistribution times;
  times.add(-5);
  times.add(INT64_MAX);
  EXPECT_EQ(times.min(), 0);
  EXPECT_EQ(times.count(), 2u);
  uint64_t seen = 0;
  times.for_each([&](int64_t low, int64_t high, uint64_t count) {
    EXPECT_LT(low, high);
    seen += count;
  });
  EXPECT_EQ(seen, 2u);
}

TEST(TimeSeries, SpansDoubleWhenTimeGoesOn) {
  TimeSeries series;
  for (int64_t ms = 0; ms < 1024; ++ms) series.add(7'000'000 + ms * 1'000'000, 2);
  EXPECT_EQ(series.span_ns(), 4'000'000);
  EXPECT_EQ(series.spans().size(), 256u);
  EXPECT_EQ(series.start_ns(), 7'000'000);
  for (const TimeSeries::Span& span : series.spans()) {
    EXPECT_EQ(span.count, 4u);
    EXPECT_DOUBLE_EQ(span.sum, 8);
  }
  series.add(0, 1);  // before the beginning
  EXPECT_EQ(series.spans()[0].count, 5u);
  series.add(INT64_MAX, 1);
  EXPECT_LE(series.spans().size(), 256u);
}

}  // namespace
}  // namespace millrace::capture
