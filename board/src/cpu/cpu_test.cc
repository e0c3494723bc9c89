// SPDX-License-Identifier: Apache-2.0
// The run loop: time, events, interrupts, blocks and their invalidation, sleep, debugging.
#include "cpu/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cpu/testing/fake_board.h"

namespace millrace::board {
namespace {

using testing::FakeBoard;
using Code = std::vector<uint16_t>;

// Counts r0 down from 1000, adding to r1.
const Code kLoop = {0xF240, 0x30E8, 0x1809, 0x6822,
                    0x6021, 0x3801, 0xD1FA} /* movw r0, #1000; l: adds r1, r0; ldr r2, [r4]; str r1,
                                               [r4]; subs r0, #1; bne l */
;

struct Alarm {
  explicit Alarm(FakeBoard& b) : board(b), event(&Alarm::ring, this) {}
  static void ring(void* self, Cycles when) {
    Alarm& a = *static_cast<Alarm*>(self);
    a.rang = when;
    a.now = a.board.events.now();
    if (a.handler != 0) {
      a.board.system.pending_handler = a.handler;
    }
    if (a.period != 0) a.board.events.schedule(a.event, when + a.period);
  }
  FakeBoard& board;
  Event event;
  Cycles rang = 0, now = 0;
  uint32_t handler = 0;
  Cycles period = 0;
};

TEST(Cpu, FunctionalModeIsOneCycleAnInstruction) {
  FakeBoard b;
  b.r(4) = 0x20000000;
  b.run(kLoop, 100000);
  EXPECT_EQ(b.r(1), 500500u);
  EXPECT_EQ(b.cpu.instructions(), 1 + 5 * 1000u);
  EXPECT_EQ(b.cpu.now(), b.cpu.instructions() + 1);  // the BKPT takes one
}

TEST(Cpu, SlicingChangesNothing) {
  const Timing timing;
  FakeBoard whole(&timing);
  whole.r(4) = 0x20000000;
  whole.run(kLoop, 1000000);
  for (const Cycles slice : {1u, 3u, 17u}) {
    FakeBoard b(&timing);
    b.r(4) = 0x20000000;
    b.load(kLoop);
    while (b.cpu.run(b.cpu.now() + slice) == CpuStop::cycles) {
    }
    EXPECT_EQ(b.cpu.now(), whole.cpu.now()) << slice;
    EXPECT_EQ(b.cpu.trace_digest(), whole.cpu.trace_digest()) << slice;
    EXPECT_EQ(b.cpu.instructions(), whole.cpu.instructions());
    EXPECT_EQ(b.r(1), 500500u);
  }
}

TEST(Cpu, SlicingDoesNotMoveInterruptsOfAWaitingInstruction) {
  // l: ldrb r0, [r4]; cmp r0, #9; bne l: the comparison waits a cycle, in which some of the
  // interrupts come.
  const Timing timing;
  const auto run = [&timing](Cycles slice) {
    FakeBoard b(&timing);
    b.r(4) = 0x20000000;
    b.memory.set_halfwords(0x400, {0xF108, 0x0801, 0x4770} /* add r8, #1; bx lr */);
    b.load({0x7820, 0x2809, 0xD1FC});
    Alarm alarm(b);
    alarm.handler = 0x400;
    alarm.period = 61;
    b.events.schedule(alarm.event, 20);
    while (b.cpu.now() < 20000) b.cpu.run(std::min<Cycles>(20000, b.cpu.now() + slice));
    return std::pair(b.cpu.trace_digest(), b.r(8));
  };
  const auto whole = run(20000);
  EXPECT_GT(whole.second, 300u);
  for (const Cycles slice : {1u, 2u, 7u, 60u}) EXPECT_EQ(run(slice), whole) << slice;
}

TEST(Cpu, EventsRunBetweenTheRightInstructions) {
  FakeBoard b;
  b.load(
      {0x2001, 0x2002, 0x2003, 0x2004, 0x2005,
       0x2006} /* movs r0, #1; movs r0, #2; movs r0, #3; movs r0, #4; movs r0, #5; movs r0, #6 */);
  Alarm alarm(b);
  alarm.handler = 0x400;
  b.memory.set_halfwords(0x400, {0x4607, 0x4770} /* mov r7, r0; bx lr */);
  b.events.schedule(alarm.event, 3);
  b.cpu.run(1000);
  EXPECT_EQ(alarm.rang, 3u);
  EXPECT_EQ(alarm.now, 3u);
  EXPECT_EQ(b.r(7), 3u);  // the instructions of cycles 0, 1, 2 came before
  EXPECT_EQ(b.r(0), 6u);
  EXPECT_EQ(b.system.interrupted_pc, 0x106u);
}

TEST(Cpu, DeviceAccessesSeeTheirOwnTime) {
  FakeBoard b;
  b.r(4) = 0x40000000;
  b.run({0xBF00, 0xBF00, 0xBF00, 0x6020, 0xBF00,
         0x6861} /* nop; nop; nop; str r0, [r4]; nop; ldr r1, [r4, #4] */);
  ASSERT_EQ(b.memory.device_accesses.size(), 2u);
  EXPECT_EQ(b.memory.device_accesses[0], (std::pair<uint32_t, Cycles>(0x40000000, 3)));
  EXPECT_EQ(b.memory.device_accesses[1], (std::pair<uint32_t, Cycles>(0x40000004, 5)));
  EXPECT_EQ(b.r(1), 0x12345678u);
}

TEST(Cpu, AnInterruptRaisedByAStoreIsTakenBehindIt) {
  FakeBoard b;
  b.r(4) = 0x40000000;
  b.load({0x6020, 0x2001, 0x2002} /* str r0, [r4]; movs r0, #1; movs r0, #2 */);
  b.memory.set_halfwords(0x400, {0x4607, 0x4770} /* mov r7, r0; bx lr */);
  b.memory.on_device_store = [&b] { b.system.pending_handler = 0x400; };
  b.r(0) = 9;
  b.cpu.run(1000);
  EXPECT_EQ(b.r(7), 9u);
  EXPECT_EQ(b.system.interrupted_pc, 0x102u);
}

TEST(Cpu, StallsMoveEverythingBehindThem) {
  const Timing timing;
  FakeBoard b(&timing);
  b.memory.fast = false;
  b.memory.stall = 50;
  b.r(4) = 0x20000000;
  b.r(5) = 0x40000000;
  b.run({0x6020, 0x6821, 0x6029} /* str r0, [r4]; ldr r1, [r4]; str r1, [r5] */);
  ASSERT_EQ(b.memory.device_accesses.size(), 1u);
  EXPECT_GE(b.memory.device_accesses[0].second, 100u);
  EXPECT_EQ(b.cpu.counters().data_ocram, 100u);
  EXPECT_EQ(b.cpu.counters().peripheral, 50u);
}

TEST(Cpu, EachLineOfABlockIsFetched) {
  const Timing timing;
  FakeBoard b(&timing);
  b.memory.fast = false;
  b.memory.line_stall = 7;
  b.run(Code(20, 0xBF00));  // 40 bytes from 0x100: two lines
  EXPECT_EQ(b.cpu.counters().fetch_ocram, 14u);
}

TEST(Cpu, SelfModifyingCodeIsSeenAfterTheBlock) {
  FakeBoard b;
  // Calls f, patches its "movs r0, #1" to "movs r0, #2", calls it again.
  b.run({0xF000, 0xF80A, 0x4605, 0xF242,
         0x0102, 0xF20F, 0x020C, 0x8011, 0xF000, 0xF802, 0xE002, 0xBF00, 0x2001, 0x4770, 0xBF00} /* bl f; mov r5, r0; movw r1, #0x2002; adr r2, f; strh r1, [r2]; bl f; b e; nop; f: movs r0, #1; bx lr; e: nop */);
  EXPECT_EQ(b.r(5), 1u);
  EXPECT_EQ(b.r(0), 2u);
}

TEST(Cpu, DataBesideCodeDoesNotRedecode) {
  FakeBoard b;
  b.r(4) = 0x800;  // the page of the code
  b.run(kLoop, 100000);
  EXPECT_EQ(b.r(1), 500500u);
  EXPECT_LT(b.cpu.blocks_decoded(), 10u);
}

TEST(Cpu, WfiSkipsToTheNextEvent) {
  FakeBoard b;
  Alarm alarm(b);
  alarm.handler = 0x400;
  b.memory.set_halfwords(0x400, {0x2701, 0x4770} /* movs r7, #1; bx lr */);
  b.events.schedule(alarm.event, 1000000);
  b.load({0xBF30, 0x2601} /* wfi; movs r6, #1 */);
  EXPECT_EQ(b.cpu.run(2000000), CpuStop::breakpoint);
  EXPECT_EQ(b.r(7), 1u);
  EXPECT_EQ(b.r(6), 1u);
  EXPECT_EQ(b.cpu.counters().asleep, 999999u);
  EXPECT_LT(b.cpu.instructions(), 10u);
}

TEST(Cpu, WfiWithMaskedInterruptWakesWithoutTakingIt) {
  FakeBoard b;
  Alarm alarm(b);
  alarm.handler = 0x400;
  b.events.schedule(alarm.event, 500);
  b.load({0xB672, 0xBF30, 0x2601} /* cpsid i; wfi; movs r6, #1 */);
  EXPECT_EQ(b.cpu.run(2000), CpuStop::breakpoint);
  EXPECT_EQ(b.r(6), 1u);
  EXPECT_EQ(b.system.interrupted_pc, 0u);
}

TEST(Cpu, AStepThroughASleepThatNothingEndsReturns) {
  FakeBoard b;
  b.load({0xBF30, 0x2601} /* wfi; movs r6, #1 */);
  Alarm alarm(b);
  alarm.period = 61;  // for ever, and never an interrupt
  b.events.schedule(alarm.event, 61);
  for (const Cycles end : {1'000'000u, 2'000'000u}) {
    EXPECT_EQ(b.cpu.step(), CpuStop::cycles);
    EXPECT_EQ(b.cpu.now(), end);
    EXPECT_TRUE(b.cpu.asleep());
  }
  EXPECT_EQ(b.r(6), 0u);
}

TEST(Cpu, SleepWithNothingScheduledStops) {
  FakeBoard b;
  b.load({0xBF30} /* wfi */);
  EXPECT_EQ(b.cpu.run(1000), CpuStop::asleep);
  EXPECT_TRUE(b.cpu.asleep());
}

TEST(Cpu, WfeReturnsAtOnceAfterSev) {
  FakeBoard b;
  b.load({0xBF40, 0xBF20, 0x2601} /* sev; wfe; movs r6, #1 */);
  EXPECT_EQ(b.cpu.run(1000), CpuStop::breakpoint);
  EXPECT_EQ(b.r(6), 1u);
}

TEST(Cpu, BreakpointStopsBeforeAndResumesBehind) {
  FakeBoard b;
  b.r(4) = 0x20000000;
  b.load(kLoop);
  b.cpu.set_breakpoint(0x104, true);
  for (uint32_t k = 1000; k > 990; --k) {
    EXPECT_EQ(b.cpu.run(100000), CpuStop::breakpoint);
    EXPECT_EQ(b.cpu.pc(), 0x104u);
    EXPECT_EQ(b.r(0), k);
  }
  b.cpu.set_breakpoint(0x104, false);
  b.cpu.run(100000);
  EXPECT_EQ(b.r(0), 0u);
}

TEST(Cpu, ABreakpointStopsHoweverTimeIsSliced) {
  for (const Cycles slice : {1, 2, 3, 5, 7, 100000}) {
    FakeBoard b;
    b.r(4) = 0x20000000;
    b.load(kLoop);
    b.cpu.set_breakpoint(0x104, true);
    unsigned hits = 0;
    while (b.cpu.now() < 100000) {
      const CpuStop stop = b.cpu.run(b.cpu.now() + slice);
      if (stop == CpuStop::breakpoint && b.cpu.pc() != 0x104) break;  // BKPT at the end
      hits += stop == CpuStop::breakpoint ? 1 : 0;
    }
    EXPECT_EQ(hits, 1000u) << slice;
    EXPECT_EQ(b.r(0), 0u);
  }
}

TEST(Cpu, ABreakpointAtTheFirstInstructionStops) {
  FakeBoard b;
  b.load(kLoop);
  b.cpu.set_breakpoint(b.cpu.pc(), true);
  EXPECT_EQ(b.cpu.run(1000), CpuStop::breakpoint);
  EXPECT_EQ(b.cpu.instructions(), 0u);
  b.cpu.run(1000);
  EXPECT_NE(b.cpu.instructions(), 0u);
}

TEST(Cpu, StepExecutesOneInstruction) {
  FakeBoard b;
  b.load({0x2800, 0xBF0C, 0x2101, 0x2102, 0xF000, 0xF800,
          0xBF00} /* cmp r0, #0; ite eq; moveq r1, #1; movne r1, #2; bl f; f: nop */);
  const uint32_t expected[] = {0x102, 0x104, 0x106, 0x108, 0x10C};
  for (const uint32_t pc : expected) {
    EXPECT_EQ(b.cpu.step(), CpuStop::stepped);
    EXPECT_EQ(b.cpu.pc(), pc);
  }
  EXPECT_EQ(b.r(1), 1u);
  EXPECT_EQ(b.cpu.instructions(), 5u);
}

TEST(Cpu, WatchpointStopsBehindTheAccess) {
  FakeBoard b;
  b.r(4) = 0x20000000;
  b.load({0x60A0, 0x2001, 0x6861, 0x6060, 0x2002} /* str r0, [r4, #8]; movs r0, #1; ldr r1, [r4, #4]; str r0, [r4, #4]; movs r0, #2 */);
  b.cpu.set_watchpoint({.address = 0x20000004, .size = 4, .writes = true}, true);
  EXPECT_EQ(b.cpu.run(1000), CpuStop::watchpoint);
  EXPECT_EQ(b.cpu.pc(), 0x108u);
  EXPECT_EQ(b.cpu.watch_address(), 0x20000004u);
  EXPECT_EQ(b.memory.word(0x20000004), 1u);
  EXPECT_EQ(b.cpu.run(1000), CpuStop::breakpoint);
  EXPECT_EQ(b.r(0), 2u);
}

TEST(Cpu, BkptGoesToTheHookOrFaults) {
  FakeBoard b;
  b.load({0x2001, 0xBEAB, 0x2101} /* movs r0, #1; bkpt #0xAB; movs r1, #1 */);
  b.cpu.halting_debug = false;
  unsigned calls = 0;
  b.cpu.bkpt_hook = [&calls](Cpu&, uint8_t imm) {
    ++calls;
    return imm == 0xAB;
  };
  EXPECT_EQ(b.cpu.run(1000), CpuStop::locked_up);  // the second BKPT is not the hook's
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(b.r(1), 1u);
  EXPECT_EQ(b.system.fault_cause, FaultCause::breakpoint);
  EXPECT_EQ(b.system.fault_pc, 0x106u);
}

TEST(Cpu, StopRequestsAreHonoured) {
  FakeBoard b;
  b.load({0xBE01, 0xE7FD} /* l: bkpt #1; b l */);
  b.cpu.bkpt_hook = [](Cpu& cpu, uint8_t) {
    cpu.request_stop();
    return true;
  };
  EXPECT_EQ(b.cpu.run(1000), CpuStop::requested);
  EXPECT_EQ(b.cpu.pc(), 0x102u);
}

TEST(Cpu, ResetRequestStops) {
  FakeBoard b;
  b.load({0x6020, 0xE7FD} /* l: str r0, [r4]; b l */);
  b.r(4) = 0x40000000;
  b.memory.on_device_store = [&b] { b.system.reset_request = true; };
  EXPECT_EQ(b.cpu.run(1000), CpuStop::reset);
}

TEST(Cpu, TraceSeesEveryBlockOnce) {
  FakeBoard b;
  std::string seen;
  b.load({0xBF00, 0xE7FF, 0xBF00, 0xBF00} /* nop; b l; l: nop; nop */);
  b.cpu.trace = [&seen](const Block& block, Cycles at) {
    seen += std::to_string(block.address) + ":" + std::to_string(block.count) + "@" +
            std::to_string(at) + " ";
  };
  for (unsigned k = 0; k < 4; ++k) {
    b.cpu.run(b.cpu.now() + 1);
  }
  EXPECT_EQ(seen, "256:2@0 260:3@2 ");  // 260: two NOPs and the BKPT
}

TEST(Cpu, ManyBlocksStayBounded) {
  // 40000 blocks of one branch each: more than the cache holds.
  FakeBoard b;
  b.memory.add(0x10000, 0x40000);
  for (uint32_t a = 0x10000; a < 0x10000 + 4 * 40000; a += 4) {
    b.memory.set_halfwords(a, {0xE000, 0xBF00});  // b .+4
  }
  b.memory.set_halfwords(0x10000 + 4 * 40000, {0xBE00});
  b.cpu.halting_debug = true;
  b.cpu.set_pc(0x10000);
  EXPECT_EQ(b.cpu.run(100000), CpuStop::breakpoint);
  EXPECT_EQ(b.cpu.instructions(), 40000u);
}

TEST(Cpu, AFaultLoopEndsAtTheDeadline) {
  // A handler that faults again and again must not hang: time goes on.
  FakeBoard b;
  b.system.fault_handler = 0x400;
  b.memory.set_halfwords(0x400, {0xDE00});
  b.load({0xDE00});
  EXPECT_EQ(b.cpu.run(5000), CpuStop::cycles);
  EXPECT_GE(b.cpu.now(), 5000u);
}

}  // namespace
}  // namespace millrace::board
