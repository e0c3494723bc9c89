// SPDX-License-Identifier: Apache-2.0
#include "testing/link_schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace millrace::link::testing {
namespace {

rc::Gen<ScheduleEvent> any_event() {
  return rc::gen::build<ScheduleEvent>(
      rc::gen::set(&ScheduleEvent::kind,
                   rc::gen::map(rc::gen::inRange(0, static_cast<int>(EventKind::count)),
                                [](int n) { return static_cast<EventKind>(n); })),
      rc::gen::set(&ScheduleEvent::after_us, rc::gen::inRange<uint32_t>(0, 20'000)),
      rc::gen::set(&ScheduleEvent::length_us, rc::gen::inRange<uint32_t>(0, 50'000)));
}

rc::Gen<uint32_t> any_damage() {
  return rc::gen::oneOf(rc::gen::just<uint32_t>(0), rc::gen::inRange<uint32_t>(1'000, 500'000));
}

rc::Gen<Schedule> any_schedule() {
  return rc::gen::build<Schedule>(
      rc::gen::set(&Schedule::seed, rc::gen::inRange<uint32_t>(1, 1'000'000)),
      rc::gen::set(&Schedule::in_bytes, rc::gen::inRange<uint32_t>(0, 200'000)),
      rc::gen::set(&Schedule::out_bytes, rc::gen::inRange<uint32_t>(0, 30'000)),
      rc::gen::set(&Schedule::flip_every, any_damage()),
      rc::gen::set(&Schedule::drop_every, any_damage()),
      rc::gen::set(&Schedule::duplicate_every, any_damage()),
      rc::gen::set(&Schedule::insert_every, any_damage()),
      rc::gen::set(&Schedule::split, rc::gen::inRange<uint32_t>(0, 600)),
      rc::gen::set(&Schedule::payload_exponent, rc::gen::inRange<uint32_t>(4, 14)),
      rc::gen::set(&Schedule::first_sequence,
                   rc::gen::oneOf(rc::gen::just<uint32_t>(0), rc::gen::just<uint32_t>(0xFFFFFFF0),
                                  rc::gen::just<uint32_t>(0x7FFFFFF0))),
      rc::gen::set(&Schedule::may_drop, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Schedule::messages, rc::gen::arbitrary<bool>()),
      rc::gen::set(
          &Schedule::events,
          rc::gen::resize(6, rc::gen::container<std::vector<ScheduleEvent>>(any_event()))));
}

TEST(LinkSchedule, WhateverHappensNothingIsLostSilently) {
  const bool held = rc::check("every schedule delivers", [] {
    const Schedule schedule = *any_schedule();
    const ScheduleResult result = run_schedule(schedule);
    if (!result.error.empty()) RC_LOG() << to_text(schedule) << "\n";
    RC_ASSERT(result.error == std::string());
  });
  EXPECT_TRUE(held);
}

TEST(LinkSchedule, FixedNumbersDeliver) {
  for (uint64_t number = 1; number <= 1000; ++number) {
    const Schedule schedule = random_schedule(number);
    const ScheduleResult result = run_schedule(schedule);
    ASSERT_EQ(result.error, "") << number << ": " << to_text(schedule);
  }
}

TEST(LinkSchedule, BulkNumbersDeliver) {
  for (uint64_t number = 1; number <= 8; ++number) {
    const Schedule schedule = random_bulk_schedule(number);
    const ScheduleResult result = run_schedule(schedule);
    ASSERT_EQ(result.error, "") << number << ": " << to_text(schedule);
    // Each byte is delivered, or in a gap.
    EXPECT_GE(result.delivered_bytes + result.gap_bytes, schedule.in_bytes);
  }
}

}  // namespace
}  // namespace millrace::link::testing
