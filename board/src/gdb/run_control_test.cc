// SPDX-License-Identifier: Apache-2.0
#include "gdb/run_control.h"

#include <gtest/gtest.h>

#include "gdb/testing/fake_gdb_board.h"

namespace millrace::board::gdb {
namespace {

using testing::FakeGdbBoard;

constexpr uint32_t kCode = FakeGdbBoard::kFlash;
constexpr uint32_t kHandler = kCode + 0x800;
constexpr unsigned kXpsr = 16;
constexpr uint32_t kThumb = 0x01000000;
constexpr uint32_t kSysTick = 15;

struct Fixture {
  FakeGdbBoard board;
  StopPoints points{board};
  RunControl control{board, points};

  uint32_t pc() const { return board.registers[15]; }
  // The next instruction is preceded by an interrupt whose handler takes `length` steps.
  void interrupt_next(uint32_t exception, int length, uint32_t lr = 0xFFFFFFF9) {
    board.instruction = [=, left = -1, back = pc(),
                         before = board.registers[kXpsr]](FakeGdbBoard& b) mutable {
      if (left < 0) {
        b.registers[15] = kHandler;
        b.registers[14] = lr;
        b.registers[kXpsr] = kThumb | exception;
        left = length;
      } else if (left > 0) {
        b.registers[15] += 2;
        --left;
      } else {
        b.registers[15] = back;
        b.registers[kXpsr] = before;
        b.instruction = nullptr;
      }
    };
  }
};

class RunControlTest : public ::testing::Test, protected Fixture {};

TEST_F(RunControlTest, GoesOnUntilSomethingStopsIt) {
  board.stop_at(25, StopReason::watchpoint).watch_address = 0x20000010;
  control.start();
  EXPECT_FALSE(control.run(10));
  EXPECT_FALSE(control.run(10));
  EXPECT_EQ(board.now, 20u);
  const auto stop = control.run(10);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->reason, StopReason::watchpoint);
  EXPECT_EQ(stop->watch_address, 0x20000010u);
  EXPECT_EQ(board.now, 25u);
}

TEST_F(RunControlTest, AStepIsOneInstruction) {
  control.start_step(0, 0);
  const auto stop = control.run(100);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->reason, StopReason::cycles);
  EXPECT_EQ(stop->pc, kCode + 2);
  EXPECT_EQ(board.now, 1u);
}

TEST_F(RunControlTest, ARangeIsSteppedThroughInPieces) {
  control.start_step(kCode, kCode + 20);  // ten instructions
  EXPECT_FALSE(control.run(4));
  EXPECT_FALSE(control.run(4));
  const auto stop = control.run(4);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->pc, kCode + 20);
  EXPECT_EQ(board.now, 10u);
}

TEST_F(RunControlTest, ABreakpointInTheRangeStops) {
  points.insert(PointKind::hardware, kCode + 6, 2);
  control.start_step(kCode, kCode + 20);
  const auto stop = control.run(100);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->reason, StopReason::breakpoint);
  EXPECT_EQ(stop->pc, kCode + 6);
}

TEST_F(RunControlTest, AStepRunsAnInterruptToItsEnd) {
  for (const uint32_t exception : {14u, kSysTick, 16u + 159u}) {
    const uint32_t from = pc();
    interrupt_next(exception, 50);
    control.start_step(0, 0);
    std::optional<StopInfo> stop;
    for (int i = 0; i < 100 && !stop; ++i) stop = control.run(7);
    ASSERT_TRUE(stop) << exception;
    EXPECT_EQ(stop->pc, from + 2);
    EXPECT_EQ(board.registers[kXpsr], kThumb);
  }
}

TEST_F(RunControlTest, ABreakpointInTheInterruptStops) {
  points.insert(PointKind::software, kHandler + 4, 2);
  interrupt_next(kSysTick, 50);
  control.start_step(0, 0);
  const auto stop = control.run(100);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->reason, StopReason::breakpoint);
  EXPECT_EQ(stop->pc, kHandler + 4);
}

TEST_F(RunControlTest, AStepEndsInTheHandlerOfAFaultOrSvc) {
  for (const uint32_t exception : {3u, 11u}) {
    interrupt_next(exception, 50);
    control.start_step(0, 0);
    const auto stop = control.run(100);
    ASSERT_TRUE(stop);
    EXPECT_EQ(stop->pc, kHandler);
    board.registers[kXpsr] = kThumb;
  }
}

// From the end of one handler into the next one: EXC_RETURN stays that of the thread.
TEST_F(RunControlTest, AStepOutOfAHandlerEndsInTheNextOne) {
  board.registers[kXpsr] = kThumb | kSysTick;
  interrupt_next(40, 50, 0xFFFFFFF9);
  control.start_step(0, 0);
  auto stop = control.run(100);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->pc, kHandler);
  // Preemption of a handler says 0xFFFFFFF1: run through.
  board.registers[kXpsr] = kThumb | kSysTick;
  board.registers[15] = kCode;
  interrupt_next(40, 50, 0xFFFFFFF1);
  control.start_step(0, 0);
  stop = control.run(1000);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->pc, kCode + 2);
}

TEST_F(RunControlTest, ABkptIsLeftWhenGoingOn) {
  board.stop_at(5, StopReason::breakpoint);
  control.start();
  auto stop = control.run(100);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->pc, kCode + 10);
  control.start();
  EXPECT_EQ(pc(), kCode + 12);
  // A breakpoint of ours is no BKPT, and a pc that was changed meanwhile stays.
  points.insert(PointKind::hardware, kCode + 20, 2);
  stop = control.run(100);
  ASSERT_TRUE(stop);
  control.start();
  EXPECT_EQ(pc(), kCode + 20);
  board.stop_at(20, StopReason::breakpoint);
  ASSERT_TRUE(control.run(100));
  board.registers[15] = kCode + 100;
  control.start_step(0, 0);
  EXPECT_EQ(pc(), kCode + 100);
}

// As gdb does it: the watchpoint is taken out for the step over the access.
TEST_F(RunControlTest, TheStepBehindAWatchpointWasDoneAlready) {
  points.insert(PointKind::write, 0x20000010, 4);
  for (const bool taken_out : {true, false}) {
    board.stop_at(board.now + 5, StopReason::watchpoint).watch_address = 0x20000010;
    control.start();
    ASSERT_TRUE(control.run(100));
    const uint32_t at = pc();
    if (taken_out) points.remove(PointKind::write, 0x20000010, 4);
    control.start_step(0, 0);
    auto stop = control.run(100);
    ASSERT_TRUE(stop);
    EXPECT_EQ(stop->reason, StopReason::cycles);
    EXPECT_EQ(stop->pc, taken_out ? at : at + 2);
    EXPECT_EQ(pc(), stop->pc);
    control.start_step(0, 0);  // the next one is a step
    ASSERT_TRUE(control.run(100));
    EXPECT_EQ(pc(), stop->pc + 2);
    points.insert(PointKind::write, 0x20000010, 4);
  }
}

}  // namespace
}  // namespace millrace::board::gdb
