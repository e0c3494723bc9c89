// SPDX-License-Identifier: Apache-2.0
// SysTick arithmetic (Armv7-M ARM B3.3).
#include "cpu/testing/scs_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kCsr = 0xE000E010;
constexpr uint32_t kRvr = 0xE000E014;
constexpr uint32_t kCvr = 0xE000E018;
constexpr uint32_t kCalib = 0xE000E01C;
constexpr uint32_t kFlag = 1u << 16;

class SysTickTest : public testing::ScsFixture {
 protected:
  // Moves time as a core does: every event at its time.
  void go_to(Cycles when) {
    while (events.next() <= when) {
      events.advance(events.next());
      events.run_due();
    }
    events.advance(when);
  }
};

TEST_F(SysTickTest, CountsDownAndReloadsOneTickAfterZero) {
  poke(kRvr, 9);
  poke(kCvr, 0);
  poke(kCsr, 5);
  EXPECT_EQ(peek(kCvr), 0u);
  // 0, then 9 8 7 ... 1 0 9 ...: period 10.
  const uint32_t expected[] = {0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8};
  for (Cycles t = 1; t < 13; ++t) {
    go_to(t);
    EXPECT_EQ(peek(kCvr), expected[t]) << t;
  }
}

TEST_F(SysTickTest, CountFlagIsSetAtZeroAndClearedByReading) {
  poke(kRvr, 9);
  poke(kCsr, 5);
  go_to(9);
  EXPECT_EQ(peek(kCsr), 5u);
  go_to(10);
  EXPECT_EQ(peek(kCsr), 5u | kFlag);
  EXPECT_EQ(peek(kCsr), 5u);
  go_to(35);  // several periods make one flag
  EXPECT_EQ(peek(kCsr), 5u | kFlag);
  EXPECT_EQ(peek(kCsr), 5u);
}

TEST_F(SysTickTest, WritingTheCounterClearsItAndTheFlagWithoutAnException) {
  poke(kRvr, 99);
  poke(kCsr, 7);
  go_to(100);
  go_to(130);
  poke(kIcsr, 1u << 25);
  poke(kCvr, 12345);
  EXPECT_EQ(peek(kCvr), 0u);
  EXPECT_EQ(peek(kCsr), 7u);
  EXPECT_EQ(peek(kIcsr) & (1u << 26), 0u);
  go_to(131);
  EXPECT_EQ(peek(kCvr), 99u);
}

TEST_F(SysTickTest, ReloadTakesEffectAtTheNextZero) {
  poke(kRvr, 9);
  poke(kCsr, 5);
  go_to(5);  // 5
  poke(kRvr, 99);
  go_to(8);
  EXPECT_EQ(peek(kCvr), 2u);
  go_to(11);
  EXPECT_EQ(peek(kCvr), 99u);
}

TEST_F(SysTickTest, ReloadOfZeroStopsAfterTheCurrentCount) {
  poke(kRvr, 9);
  poke(kCsr, 7);
  go_to(3);
  poke(kRvr, 0);
  go_to(1000);
  EXPECT_EQ(peek(kCvr), 0u);
  EXPECT_EQ(peek(kCsr), 7u | kFlag);
  go_to(5000);
  EXPECT_EQ(peek(kCsr), 7u);
  EXPECT_EQ(events.next(), kNever);
}

TEST_F(SysTickTest, StoppedCounterKeepsItsValue) {
  poke(kRvr, 100);
  poke(kCsr, 5);
  go_to(11);
  poke(kCsr, 4);
  go_to(500);
  EXPECT_EQ(peek(kCvr), 90u);
  poke(kCsr, 5);
  go_to(510);
  EXPECT_EQ(peek(kCvr), 80u);
}

TEST_F(SysTickTest, ExceptionIsPendedExactlyAtZero) {
  poke(kRvr, 999);
  poke(kCsr, 7);
  go_to(999);
  EXPECT_EQ(step(), 0u);
  go_to(1000);
  step();
  EXPECT_EQ(state.ipsr, kSysTick);
  leave();
  go_to(1999);
  EXPECT_EQ(step(), 0u);
  go_to(2000);
  step();
  EXPECT_EQ(state.ipsr, kSysTick);
}

TEST_F(SysTickTest, WithoutTickIntThereIsNoEvent) {
  poke(kRvr, 999);
  poke(kCsr, 5);
  EXPECT_EQ(events.next(), kNever);
  poke(kCsr, 7);
  EXPECT_EQ(events.next(), 1000u);
}

// 100 kHz at 600 MHz: one tick is 6000 core cycles; the Teensy core's RVR 99 is 1 ms.
TEST_F(SysTickTest, ExternalReferenceTicksAtItsOwnRate) {
  scs.set_core_hz(600'000'000);
  poke(kRvr, 99);
  poke(kCsr, 3);
  EXPECT_EQ(events.next(), 600'000u);
  go_to(5'999);
  EXPECT_EQ(peek(kCvr), 0u);
  go_to(6'000);
  EXPECT_EQ(peek(kCvr), 99u);
  go_to(599'999);
  EXPECT_EQ(peek(kIcsr) & (1u << 26), 0u);
  go_to(600'000);
  EXPECT_NE(peek(kIcsr) & (1u << 26), 0u);
  EXPECT_EQ(events.next(), 1'200'000u);
}

// Edges of the reference at a core clock that is no multiple of it: no drift. 528.1 MHz: edge n is
// at ceil(5281 n).
TEST_F(SysTickTest, ExternalReferenceDoesNotDrift) {
  scs.set_core_hz(528'133'333);
  poke(kRvr, 0xFFFFFF);
  poke(kCsr, 1);
  for (Cycles t = 7; t < 1'000'000; t += 997) {
    go_to(t);
    peek(kCvr);
  }
  go_to(528'133'333);
  EXPECT_EQ(peek(kCvr), 0x1000000u - 100'000u);
}

TEST_F(SysTickTest, ClockChangeMovesTheNextTick) {
  scs.set_core_hz(600'000'000);
  poke(kRvr, 99);
  poke(kCsr, 3);
  go_to(3'000);  // half a tick
  scs.set_core_hz(24'000'000);
  go_to(3'000 + 119);
  EXPECT_EQ(peek(kCvr), 0u);
  go_to(3'000 + 120);  // the other half: 240 / 2
  EXPECT_EQ(peek(kCvr), 99u);
}

TEST_F(SysTickTest, CalibrationIsTenMilliseconds) { EXPECT_EQ(peek(kCalib), 1000u); }

TEST_F(SysTickTest, LargestPeriodInOneStep) {
  poke(kRvr, 0xFFFFFFFF);
  EXPECT_EQ(peek(kRvr), 0xFFFFFFu);
  poke(kCsr, 5);
  // Past the first load: RVR - (10^12 - 1) mod 2^24.
  go_to(1'000'000'000'000);
  EXPECT_EQ(peek(kCvr), 0xFFFFFFu - static_cast<uint32_t>(999'999'999'999 % 0x1000000));
}

TEST_F(SysTickTest, StandsInWaitModeAsTheCycleCounterDoes) {
  constexpr uint32_t kCycleCounter = 0xE0001004;
  poke(kDemcr, 1u << 24);
  poke(0xE0001000, 1);
  poke(kRvr, 999);
  poke(kCvr, 0);
  poke(kCsr, 7);
  for (const bool wait_mode : {false, true}) {
    scs.set_wait_mode(wait_mode);
    const Cycles start = events.now();
    const uint32_t cycles = peek(kCycleCounter);
    poke(kIcsr, 1u << 25);  // PENDSTCLR
    scs.sleep_begins(start);
    EXPECT_EQ(scs.systick_stands(), wait_mode);
    go_to(start + 5000);
    EXPECT_EQ(scs.should_wake(state), !wait_mode);
    scs.sleep_ends(start + 5000);
    EXPECT_EQ(peek(kCycleCounter) - cycles, wait_mode ? 0u : 5000u);
    // Within a period of 1,000 cycles it counts on and pends.
    go_to(start + 6000);
    EXPECT_TRUE(scs.should_wake(state));
  }
}

// What counter_range() says holds for every read until then, whichever clock counts.
TEST_F(SysTickTest, EveryReadIsInTheRangeThatIsGiven) {
  for (const uint32_t control : {1u, 5u, 0u, 4u}) {
    poke(kCsr, 0);
    poke(kRvr, 400);
    poke(kCvr, 0);
    poke(kCsr, control);
    go_to(events.now() + 6000 * 9);
    peek(kCsr);
    const Cycles from = events.now(), step = control == 1 ? 6000 : 1;
    unsigned given = 0;
    for (Cycles length = 1; length < 500; length += 7) {
      ValueRange counter, flags;
      const Cycles to = from + length * step;
      const bool is_given = scs.counter_range(kCvr, from, to, &counter);
      EXPECT_EQ(scs.counter_range(kCsr, from, to, &flags), is_given);
      if (!is_given) break;  // it wraps until then
      ++given;
      go_to(to);
      EXPECT_TRUE(counter.has(peek(kCvr))) << control << ' ' << length;
      EXPECT_EQ(flags, ValueRange::of(control));
      EXPECT_EQ(peek(kCsr), control);
      ASSERT_TRUE(scs.counter_range(kCvr, from, to, &counter));
      EXPECT_TRUE(counter.has(peek(kCvr)));
    }
    EXPECT_GE(given, 10u) << control;
  }
}

}  // namespace
}  // namespace millrace::board
