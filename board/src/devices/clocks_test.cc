// SPDX-License-Identifier: Apache-2.0
#include "devices/clocks.h"

#include <gtest/gtest.h>

namespace millrace::board {
namespace {

constexpr uint64_t kMhz = 1'000'000;

TEST(Ticks, FallOnTheFirstCycleAtOrBehindTheirTime) {
  Ticks ticks;
  ticks.start(1000, 24 * kMhz, 600 * kMhz);  // 25 cycles a tick
  EXPECT_EQ(ticks.count(1024), 0u);
  EXPECT_EQ(ticks.count(1025), 1u);
  EXPECT_EQ(ticks.when(3), 1075u);
  ticks.start(0, 80 * kMhz, 396 * kMhz);  // 4.95 cycles a tick: 4.95, 9.9, ... 99
  EXPECT_EQ(ticks.when(1), 5u);
  EXPECT_EQ(ticks.when(2), 10u);
  EXPECT_EQ(ticks.when(20), 99u);
}

TEST(Ticks, WhenAndCountAgree) {
  Ticks ticks;
  ticks.start(7, 32768, 600 * kMhz);
  for (uint64_t n = 1; n < 3000; n += 7) {
    const Cycles at = ticks.when(n);
    EXPECT_EQ(ticks.count(at), n);
    EXPECT_EQ(ticks.count(at - 1), n - 1);
  }
}

TEST(Ticks, KeepTheFractionAcrossAChange) {
  Ticks ticks;
  ticks.start(0, 24 * kMhz, 396 * kMhz);  // 16.5 cycles a tick
  ticks.change(33 + 8, 24 * kMhz, 600 * kMhz);
  EXPECT_EQ(ticks.count(41), 2u);
  // 8/16.5 of a tick had passed: 8.5/16.5 * 25 = 12.88 cycles remain.
  EXPECT_EQ(ticks.when(3), 41u + 13);
  EXPECT_EQ(ticks.when(4), 41u + 38);
}

TEST(Ticks, AClockThatStandsStillNeverTicks) {
  Ticks ticks;
  ticks.start(5, 0, 600 * kMhz);
  EXPECT_EQ(ticks.when(1), kNever);
  EXPECT_EQ(ticks.count(1'000'000), 0u);
}

class Recorder final : public ClockUser {
 public:
  explicit Recorder(const Clocks& clocks) : clocks_(clocks) {}
  void before_clock_change(Cycles) override { before = clocks_.hz(Clock::core); }
  void after_clock_change(Cycles) override { after = clocks_.hz(Clock::core); }
  uint64_t before = 0, after = 0;

 private:
  const Clocks& clocks_;
};

TEST(Clocks, TellTheirUsersBeforeAndAfterAChange) {
  Clocks clocks;
  Recorder user(clocks);
  clocks.add_user(user);
  clocks.set(clocks.rates(), 10);
  EXPECT_EQ(user.before, 0u);
  Clocks::Rates rates = clocks.rates();
  rates[static_cast<size_t>(Clock::core)] = 600 * kMhz;
  clocks.set(rates, 20);
  EXPECT_EQ(user.before, 396 * kMhz);
  EXPECT_EQ(user.after, 600 * kMhz);
}

}  // namespace
}  // namespace millrace::board
