// SPDX-License-Identifier: Apache-2.0
// Entry, nesting, tail-chaining and return, each by its section of the Armv7-M ARM (DDI 0403E).
#include "cpu/testing/scs_fixture.h"

namespace millrace::board {
namespace {

class Exceptions : public testing::ScsFixture {};

// B1.5.6: frame r0-r3, r12, lr, return address, xPSR at an 8-byte aligned address.
TEST_F(Exceptions, EntryStacksTheFrameAndStartsTheHandler) {
  for (unsigned i = 0; i < 13; ++i) {
    state.r[i] = 0x100 + i;
  }
  state.r[14] = 0xABCD;
  state.set_apsr(0xF80F0000);
  enable(3, 0x40);
  pend(3);
  EXPECT_EQ(step(), timing.exception_entry);
  EXPECT_EQ(state.r[15], handler(19));
  EXPECT_EQ(state.ipsr, 19u);
  EXPECT_EQ(state.r[14], 0xFFFFFFF9);
  const uint32_t frame = kMainStack - 0x20;
  EXPECT_EQ(state.r[13], frame);
  const uint32_t expected[] = {0x100, 0x101, 0x102, 0x103, 0x10C, 0xABCD, kThreadPc, 0xF90F0000};
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(memory.word(frame + 4 * i), expected[i]) << i;
  }
  EXPECT_EQ(peek(kIcsr) & 0x1FF, 19u);
  EXPECT_FALSE(scs.attention() && step() != 0);
}

// B1.5.7, figure B1-3: bit 9 of the stacked xPSR says that a word was skipped.
TEST_F(Exceptions, OddWordStackPointerIsAlignedAndRestored) {
  state.r[13] = kMainStack + 4;
  enable(0, 0);
  pend(0);
  step();
  EXPECT_EQ(state.r[13], kMainStack - 0x20);
  EXPECT_EQ(memory.word(state.r[13] + 0x1C), 0x01000200u);
  leave();
  EXPECT_EQ(state.r[13], kMainStack + 4);
  EXPECT_EQ(state.r[15], kThreadPc);
}

// B1.5.8: return restores registers, flags and ITSTATE.
TEST_F(Exceptions, ReturnRestoresEverythingOfTheFrame) {
  state.r[0] = 7;
  state.r[12] = 9;
  state.r[14] = 0x55;
  state.itstate = 0x8D;
  state.set_apsr(0x28050000);
  enable(0, 0);
  pend(0);
  step();
  EXPECT_EQ(state.itstate, 0u);
  state.r[0] = state.r[12] = 0;
  state.set_apsr(0);
  EXPECT_EQ(leave(), timing.exception_exit);
  EXPECT_EQ(state.r[0], 7u);
  EXPECT_EQ(state.r[12], 9u);
  EXPECT_EQ(state.r[14], 0x55u);
  EXPECT_EQ(state.itstate, 0x8Du);
  EXPECT_EQ(state.apsr(), 0x28050000u);
  EXPECT_EQ(state.ipsr, 0u);
}

// B1.4.1, B1.5.6: the process stack takes the frame, the handler runs on the main stack.
TEST_F(Exceptions, ProcessStackTakesTheFrameOfThreadMode) {
  use_process_stack();
  EXPECT_EQ(state.r[13], kProcessStack);
  enable(0, 0);
  pend(0);
  step();
  EXPECT_EQ(state.r[14], 0xFFFFFFFD);
  EXPECT_EQ(state.r[13], kMainStack);
  EXPECT_EQ(state.other_sp, kProcessStack - 0x20);
  EXPECT_EQ(state.control, 0u);
  leave();
  EXPECT_EQ(state.r[13], kProcessStack);
  EXPECT_EQ(state.other_sp, kMainStack);
  EXPECT_EQ(state.control, 2u);
}

// B1.5.6: stacking has the privilege of what is interrupted: refused to unprivileged code, the
// stack faults.
TEST_F(Exceptions, UnprivilegedFrameIsWrittenUnprivileged) {
  use_process_stack(false);
  enable(0, 0);
  pend(0);
  memory.obey_attributes = true;
  poke(0xE000ED9C, 0x20000000 | 0x10);           // region 0: SRAM
  poke(0xE000EDA0, (1u << 24) | (29 << 1) | 1);  // privileged only, 1 GB
  poke(0xE000ED94, 5);
  pend(0);
  step();
  EXPECT_EQ(peek(kCfsr), 0x10u);  // MSTKERR
}

// B1.5.4: a higher priority nests, an equal or lower one waits.
TEST_F(Exceptions, HigherPriorityNestsAndLowerWaits) {
  enable(1, 0x80);
  enable(2, 0x80);
  enable(3, 0x40);
  pend(1);
  step();
  EXPECT_EQ(state.ipsr, 17u);
  pend(2);
  EXPECT_EQ(step(), 0u);
  pend(3);
  EXPECT_EQ(step(), timing.exception_entry);
  EXPECT_EQ(state.ipsr, 19u);
  EXPECT_EQ(state.r[14], 0xFFFFFFF1);
  EXPECT_EQ(peek(kIcsr) & (1u << 11), 0u);  // RETTOBASE
  // IRQ 2 does not outrank IRQ 1, so this is a return.
  EXPECT_EQ(leave(), timing.exception_exit);
  EXPECT_EQ(state.ipsr, 17u);
  EXPECT_NE(peek(kIcsr) & (1u << 11), 0u);
  EXPECT_EQ(leave(), timing.tail_chain);
  EXPECT_EQ(state.ipsr, 18u);
}

// B1.5.12: tail-chaining neither pops nor pushes and keeps EXC_RETURN.
TEST_F(Exceptions, TailChainTouchesNoStack) {
  use_process_stack();
  enable(1, 0x80);
  enable(2, 0x80);
  pend(1);
  pend(2);
  step();
  EXPECT_EQ(state.ipsr, 17u);  // equal priority: the lower number first
  memory.stores.clear();
  memory.loads.clear();
  EXPECT_EQ(leave(), timing.tail_chain);
  EXPECT_EQ(state.ipsr, 18u);
  EXPECT_EQ(state.r[14], 0xFFFFFFFD);
  EXPECT_TRUE(memory.stores.empty());
  EXPECT_EQ(memory.loads, std::vector<uint32_t>{kVectors + 4 * 18});
  leave();
  EXPECT_EQ(state.r[15], kThreadPc);
  EXPECT_EQ(state.r[13], kProcessStack);
}

// B1.5.11: what arrives while the frame is pushed is served by it; the first stays pending.
TEST_F(Exceptions, LateArrivalIsServedByTheSameFrame) {
  enable(1, 0x80);
  enable(2, 0x40);
  struct Arrival {
    SystemControlM7* scs;
    static void fire(void* context, Cycles) {
      static_cast<Arrival*>(context)->scs->set_interrupt(2, true);
    }
  } arrival{&scs};
  Event event(&Arrival::fire, &arrival);
  events.schedule(event, 5);
  pend(1);
  memory.stores.clear();
  EXPECT_EQ(step(), timing.exception_entry);
  EXPECT_EQ(state.ipsr, 18u);
  EXPECT_EQ(memory.stores.size(), 8u);
  scs.set_interrupt(2, false);
  EXPECT_EQ(leave(), timing.tail_chain);
  EXPECT_EQ(state.ipsr, 17u);
}

TEST_F(Exceptions, ArrivalAfterTheStackingNests) {
  enable(1, 0x80);
  enable(2, 0x40);
  struct Arrival {
    SystemControlM7* scs;
    static void fire(void* context, Cycles) {
      static_cast<Arrival*>(context)->scs->set_interrupt(2, true);
    }
  } arrival{&scs};
  Event event(&Arrival::fire, &arrival);
  events.schedule(event, timing.exception_entry + 1);
  pend(1);
  const Cycles entry = step();
  EXPECT_EQ(state.ipsr, 17u);
  events.advance(entry + 1);
  events.run_due();
  step();
  EXPECT_EQ(state.ipsr, 18u);
  EXPECT_EQ(state.r[13], kMainStack - 0x40);
}

// The entry costs its twelve cycles and what the nine accesses stall.
TEST_F(Exceptions, StallsOfStackAndVectorAddToTheEntry) {
  enable(0, 0);
  pend(0);
  memory.ranges = {{0x20000000, 0x20010000, AccessFault::none, 3},
                   {0, 0x10000, AccessFault::none, 40}};
  EXPECT_EQ(step(), timing.exception_entry + 8 * 3 + 40);
  EXPECT_EQ(leave(), timing.exception_exit + 8 * 3);
}

// B1.5.8: the EXC_RETURN values that a frame makes, and where each goes back to.
struct ReturnForm {
  bool fp;
  bool psp;
  bool nested;
  uint32_t exc_return;
};

class ExcReturnForms : public testing::ScsFixture,
                       public ::testing::WithParamInterface<ReturnForm> {};

TEST_P(ExcReturnForms, EntryMakesItAndReturnObeysIt) {
  const ReturnForm& form = GetParam();
  enable(0, 0x80);
  enable(1, 0x40);
  if (form.psp) {
    use_process_stack();
  }
  if (form.nested) {
    pend(0);
    step();
  }
  if (form.fp) {
    ASSERT_TRUE(scs.prepare_fp(state));
  }
  state.r[15] = 0x4242;
  const CpuState before = state;
  pend(1);
  step();
  EXPECT_EQ(state.r[14], form.exc_return);
  EXPECT_EQ(state.control, 0u);
  leave();
  EXPECT_EQ(state.r, before.r);
  EXPECT_EQ(state.other_sp, before.other_sp);
  EXPECT_EQ(state.control, before.control);
  EXPECT_EQ(state.ipsr, before.ipsr);
  EXPECT_EQ(peek(kCfsr), 0u);
}

INSTANTIATE_TEST_SUITE_P(B158, ExcReturnForms,
                         ::testing::Values(ReturnForm{true, false, true, 0xFFFFFFE1},
                                           ReturnForm{true, false, false, 0xFFFFFFE9},
                                           ReturnForm{true, true, false, 0xFFFFFFED},
                                           ReturnForm{false, false, true, 0xFFFFFFF1},
                                           ReturnForm{false, false, false, 0xFFFFFFF9},
                                           ReturnForm{false, true, false, 0xFFFFFFFD}));

// B1.5.8, integrity checks: INVPC, with the frame left where it is and EXC_RETURN in LR.
TEST_F(Exceptions, ReservedReturnValuesAreInvpc) {
  for (const uint32_t bad : {0xFFFFFFF0u, 0xFFFFFFF5u, 0xFFFFFFFFu, 0xFFFFFF09u, 0xF1FFFFF9u}) {
    scs.reset();
    poke(kVtor, kVectors);
    enable_faults();
    state = CpuState();
    state.r[13] = kMainStack;
    enable(0, 0x80);
    pend(0);
    step();
    memory.stores.clear();
    scs.exception_return(state, bad);
    EXPECT_EQ(state.ipsr, kUsageFault) << std::hex << bad;
    EXPECT_EQ(state.r[14], bad);
    EXPECT_EQ(peek(kCfsr), 1u << 18);
    EXPECT_TRUE(memory.stores.empty());
    EXPECT_EQ(state.r[13], kMainStack - 0x20);
    EXPECT_EQ(peek(kShcsr) & 0xFFF, 1u << 3);  // only the UsageFault is active
  }
}

TEST_F(Exceptions, ReturnToThreadWhileNestedIsInvpc) {
  enable_faults();
  enable(0, 0x80);
  enable(1, 0x40);
  pend(0);
  step();
  pend(1);
  step();
  scs.exception_return(state, 0xFFFFFFF9);
  EXPECT_EQ(state.ipsr, kUsageFault);
  EXPECT_EQ(peek(kCfsr), 1u << 18);
}

// CCR.NONBASETHRDENA allows it: thread mode with an exception still active.
TEST_F(Exceptions, NonBaseThrdEnaAllowsThreadModeWhileNested) {
  poke(kCcr, 1);
  enable(0, 0x80);
  enable(1, 0x40);
  pend(0);
  step();
  const uint32_t thread_frame = state.r[13];
  pend(1);
  step();
  state.r[13] = thread_frame;
  scs.exception_return(state, 0xFFFFFFF9);
  EXPECT_EQ(state.ipsr, 0u);
  EXPECT_EQ(state.r[15], kThreadPc);
  EXPECT_EQ(peek(kCfsr), 0u);
  pend(0);  // IRQ 0 is still active and blocks its own priority
  EXPECT_EQ(step(), 0u);
}

// B1.5.8: IPSR of the frame must agree with the mode that EXC_RETURN names.
TEST_F(Exceptions, FrameThatContradictsExcReturnIsInvpc) {
  enable_faults();
  enable(0, 0x80);
  pend(0);
  step();
  const uint32_t frame = state.r[13];
  scs.exception_return(state, 0xFFFFFFF1);  // the frame says thread mode
  EXPECT_EQ(state.ipsr, kUsageFault);
  EXPECT_EQ(peek(kCfsr), 1u << 18);
  EXPECT_EQ(state.r[13], frame);
  memory.set_word(frame + 0x1C, 0x01000010);  // now it names IRQ 0
  scs.exception_return(state, 0xFFFFFFF9);
  EXPECT_EQ(state.ipsr, kUsageFault);
}

TEST_F(Exceptions, ReturnFromInactiveHandlerIsInvpc) {
  enable_faults();
  poke(kShpr3, 0x80u << 16);  // PendSV
  poke(kIcsr, 1u << 28);
  step();
  EXPECT_EQ(state.ipsr, kPendSv);
  poke(kShcsr, 7u << 16);  // clears PENDSVACT
  leave();
  EXPECT_EQ(state.ipsr, kUsageFault);
  EXPECT_EQ(peek(kCfsr), 1u << 18);
}

// B1.5.8: FAULTMASK is cleared on return, but not from NMI.
TEST_F(Exceptions, ReturnClearsFaultmaskButNotFromNmi) {
  enable(0, 0);
  pend(0);
  step();
  scs.write_special(state, 19, 1, 0);
  EXPECT_EQ(state.faultmask, 1u);
  poke(kIcsr, 1u << 31);
  step();
  EXPECT_EQ(state.ipsr, kNmi);
  leave();
  EXPECT_EQ(state.ipsr, 16u);
  EXPECT_EQ(state.faultmask, 1u);
  leave();
  EXPECT_EQ(state.faultmask, 0u);
}

// B1.5.4: PRIMASK blocks what is configurable; HardFault and NMI pass.
TEST_F(Exceptions, PrimaskBlocksConfigurableExceptions) {
  state.primask = 1;
  scs.change_masks(state);
  enable(0, 0);
  pend(0);
  EXPECT_EQ(step(), 0u);
  EXPECT_EQ(state.ipsr, 0u);
  poke(kIcsr, 1u << 31);
  step();
  EXPECT_EQ(state.ipsr, kNmi);
  leave();
  state.primask = 0;
  scs.change_masks(state);
  step();
  EXPECT_EQ(state.ipsr, 16u);
}

// B1.4.3: BASEPRI blocks its own priority and those below it; 0 blocks nothing.
TEST_F(Exceptions, BasepriBlocksItsPriorityAndLower) {
  enable(0, 0x40);
  enable(1, 0x30);
  scs.write_special(state, 17, 0x4F, 0);
  EXPECT_EQ(scs.read_special(state, 17), 0x40u);  // 4 bits
  pend(0);
  EXPECT_EQ(step(), 0u);
  pend(1);
  step();
  EXPECT_EQ(state.ipsr, 17u);
  leave();
  EXPECT_EQ(state.ipsr, 0u);
  scs.write_special(state, 17, 0, 0);
  step();
  EXPECT_EQ(state.ipsr, 16u);
}

// B5.2.3: BASEPRI_MAX only raises the boost.
TEST_F(Exceptions, BasepriMaxOnlyRaises) {
  scs.write_special(state, 18, 0x80, 0);
  EXPECT_EQ(state.basepri, 0x80u);
  scs.write_special(state, 18, 0xA0, 0);
  EXPECT_EQ(state.basepri, 0x80u);
  scs.write_special(state, 18, 0x20, 0);
  EXPECT_EQ(state.basepri, 0x20u);
  scs.write_special(state, 18, 0, 0);
  EXPECT_EQ(state.basepri, 0x20u);
}

// B1.5.4, AIRCR.PRIGROUP: with 4 bits and PRIGROUP 5, [7:6] pre-empt and [5:4] only order.
TEST_F(Exceptions, SubPriorityOrdersButDoesNotPreempt) {
  poke(kAircr, 0x05FA0500);
  enable(1, 0x70);
  enable(2, 0x50);
  enable(3, 0x40);
  enable(4, 0x30);
  pend(1);
  step();
  pend(2);
  pend(3);
  EXPECT_EQ(step(), 0u);  // 0x40..0x70 are one group
  pend(4);
  step();
  EXPECT_EQ(state.ipsr, 20u);
  leave();
  EXPECT_EQ(state.ipsr, 17u);
  leave();
  EXPECT_EQ(state.ipsr, 19u);  // the lower sub-priority value first
  leave();
  EXPECT_EQ(state.ipsr, 18u);
}

// B3.4.1: a line that stays high pends again when its handler returns.
TEST_F(Exceptions, LevelInterruptRepeatsWhileItsLineIsHigh) {
  enable(159, 0xF0);
  scs.set_interrupt(159, true);
  step();
  EXPECT_EQ(state.ipsr, 175u);
  EXPECT_EQ(peek(kIspr + 16), 0u);
  EXPECT_EQ(leave(), timing.tail_chain);
  EXPECT_EQ(state.ipsr, 175u);
  scs.set_interrupt(159, false);
  EXPECT_EQ(leave(), timing.exception_exit);
  EXPECT_EQ(state.ipsr, 0u);
}

TEST_F(Exceptions, PulseDuringTheHandlerPendsOnceMore) {
  enable(5, 0);
  scs.set_interrupt(5, true);
  scs.set_interrupt(5, false);
  step();
  scs.set_interrupt(5, true);
  scs.set_interrupt(5, false);
  EXPECT_EQ(leave(), timing.tail_chain);
  EXPECT_EQ(leave(), timing.exception_exit);
}

// B1.5.6 ExceptionTaken: the local monitor is cleared, the event register set.
TEST_F(Exceptions, EntryClearsTheMonitorAndSetsTheEvent) {
  state.exclusive = true;
  enable(0, 0);
  pend(0);
  EXPECT_FALSE(scs.take_event());
  step();
  EXPECT_FALSE(state.exclusive);
  EXPECT_TRUE(scs.take_event());
  EXPECT_FALSE(scs.take_event());
}

// B1.5.19: WFI wakes for what PRIMASK holds back, but not for what BASEPRI does.
TEST_F(Exceptions, WfiWakesIgnoringPrimaskOnly) {
  enable(0, 0x80);
  state.primask = 1;
  EXPECT_FALSE(scs.should_wake(state));
  pend(0);
  EXPECT_TRUE(scs.should_wake(state));
  state.basepri = 0x80;
  EXPECT_FALSE(scs.should_wake(state));
  state.basepri = 0;
  state.faultmask = 1;
  EXPECT_FALSE(scs.should_wake(state));
}

// B1.5.18: SEVONPEND makes an event of anything that becomes pending, enabled or not.
TEST_F(Exceptions, SevOnPendSetsTheEventRegister) {
  pend(7);
  EXPECT_FALSE(scs.take_event());
  poke(kScr, 1u << 4);
  EXPECT_FALSE(scs.take_event());
  pend(8);
  EXPECT_TRUE(scs.take_event());
  pend(8);
  EXPECT_FALSE(scs.take_event());
}

// B1.5.17 (SLEEPONEXIT): only a return to the base level sleeps.
TEST_F(Exceptions, SleepOnExitSleepsAtTheBaseLevel) {
  poke(kScr, 2);
  enable(0, 0x80);
  enable(1, 0x40);
  pend(0);
  step();
  pend(1);
  step();
  leave();
  EXPECT_FALSE(scs.take_sleep_on_exit());
  leave();
  EXPECT_TRUE(scs.take_sleep_on_exit());
  EXPECT_FALSE(scs.take_sleep_on_exit());
}

}  // namespace
}  // namespace millrace::board
