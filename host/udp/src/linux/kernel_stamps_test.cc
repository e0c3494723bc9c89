// SPDX-License-Identifier: Apache-2.0
#include "kernel_stamps.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace millrace::udp {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kAhead = 1'700'000'000 * kSecond;

TEST(KernelStamps, AreBroughtToTheMonotonicClock) {
  KernelStamps stamps;
  stamps.compare(kAhead);
  EXPECT_EQ(stamps.to_monotonic(kAhead + 5 * kSecond, 6 * kSecond), 5 * kSecond);
}

TEST(KernelStamps, NoneIsBehindNow) {
  KernelStamps stamps;
  stamps.compare(kAhead);
  EXPECT_EQ(stamps.to_monotonic(kAhead + 7 * kSecond, 6 * kSecond), 6 * kSecond);
}

TEST(KernelStamps, OfTheMomentWhenTheClockIsSetNothingIsBelieved) {
  for (const int64_t step : {-3600 * kSecond, -2'000'000L, 2'000'000L, 3600 * kSecond}) {
    KernelStamps stamps;
    stamps.compare(kAhead);
    stamps.compare(kAhead + step);
    EXPECT_EQ(stamps.to_monotonic(kAhead + 5 * kSecond, 6 * kSecond), 6 * kSecond) << step;
    // From the next batch on the new time holds.
    stamps.compare(kAhead + step);
    EXPECT_EQ(stamps.to_monotonic(kAhead + step + 5 * kSecond, 6 * kSecond), 5 * kSecond) << step;
  }
}

TEST(KernelStamps, ASlewedClockIsBelieved) {
  KernelStamps stamps;
  stamps.compare(kAhead);
  stamps.compare(kAhead + 500'000);  // 500 ppm of a second
  EXPECT_EQ(stamps.to_monotonic(kAhead + 500'000 + 5 * kSecond, 6 * kSecond), 5 * kSecond);
}

}  // namespace
}  // namespace millrace::udp
