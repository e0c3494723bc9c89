// SPDX-License-Identifier: Apache-2.0
// The floating-point context in exceptions (Armv7-M ARM B1.5.7, B3.2.20..22).
#include "cpu/testing/scs_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kLspAct = 1;

class FpContext : public testing::ScsFixture {
 protected:
  FpContext() {
    enable(0, 0x80);
    enable(1, 0x40);
  }
  void fill(uint32_t seed) {
    for (unsigned i = 0; i < 32; ++i) {
      state.s[i] = seed + i;
    }
    state.fpscr = seed << 28;
  }
};

TEST_F(FpContext, FirstUseSetsFpcaAndTheDefaultModes) {
  poke(kFpdscr, 0xFFFFFFFF);
  EXPECT_EQ(peek(kFpdscr), 0x07C00000u);
  state.fpscr = 0x9000009F;
  EXPECT_TRUE(scs.prepare_fp(state));
  EXPECT_EQ(state.control, 4u);
  EXPECT_EQ(state.fpscr, 0x97C0009Fu);
  poke(kFpdscr, 0);
  EXPECT_TRUE(scs.prepare_fp(state));  // once a context
  EXPECT_EQ(state.fpscr, 0x97C0009Fu);
}

// The frame has room for s0-s15 and FPSCR, and nothing is stored until the handler uses FP.
TEST_F(FpContext, LazyFrameReservesSpaceAndStoresNothing) {
  ASSERT_TRUE(scs.prepare_fp(state));
  fill(0x10);
  pend(0);
  memory.stores.clear();
  EXPECT_EQ(step(), timing.exception_entry);
  EXPECT_EQ(memory.stores.size(), 8u);
  EXPECT_EQ(state.r[13], kMainStack - 0x68);
  EXPECT_EQ(state.r[14], 0xFFFFFFE9);
  EXPECT_EQ(peek(kFpcar), kMainStack - 0x68 + 0x20);
  EXPECT_EQ(peek(kFpccr) & kLspAct, kLspAct);
  EXPECT_TRUE(scs.fp_lazy_pending());
  EXPECT_EQ(state.control, 0u);
  memory.loads.clear();
  leave();  // the registers are still those of the frame
  EXPECT_EQ(memory.loads.size(), 8u);
  EXPECT_FALSE(scs.fp_lazy_pending());
  EXPECT_EQ(state.control, 4u);
  EXPECT_EQ(state.s[15], 0x1Fu);
}

TEST_F(FpContext, FirstUseInTheHandlerStoresTheDeferredState) {
  ASSERT_TRUE(scs.prepare_fp(state));
  fill(0x3);
  pend(0);
  step();
  memory.ranges = {{0x20000000, 0x20010000, AccessFault::none, 1}};
  ASSERT_TRUE(scs.prepare_fp(state));
  EXPECT_FALSE(scs.fp_lazy_pending());
  EXPECT_EQ(peek(kFpccr) & kLspAct, 0u);
  EXPECT_EQ(step(), 17u);  // the stalls of the stores are owed
  const uint32_t fp = kMainStack - 0x48;
  for (unsigned i = 0; i < 16; ++i) {
    EXPECT_EQ(memory.word(fp + 4 * i), 3 + i);
  }
  EXPECT_EQ(memory.word(fp + 0x40), 0x30000000u);
  fill(0x900);
  EXPECT_EQ(leave(), timing.exception_exit + 8 + 17);
  EXPECT_EQ(state.s[0], 3u);
  EXPECT_EQ(state.s[15], 18u);
  EXPECT_EQ(state.s[16], 0x910u);  // the callee's to keep
  EXPECT_EQ(state.fpscr, 0x30000000u);
}

// LSPEN = 0: stored at entry, loaded at return.
TEST_F(FpContext, WithoutLazyStackingTheEntryStoresIt) {
  poke(kFpccr, 1u << 31);
  ASSERT_TRUE(scs.prepare_fp(state));
  fill(5);
  pend(0);
  memory.stores.clear();
  step();
  EXPECT_EQ(memory.stores.size(), 25u);
  EXPECT_EQ(memory.word(kMainStack - 0x48 + 4), 6u);
  EXPECT_FALSE(scs.fp_lazy_pending());
  fill(0x100);
  leave();
  EXPECT_EQ(state.s[1], 6u);
}

// ASPEN = 0: CONTROL.FPCA is never set by an instruction, frames stay short.
TEST_F(FpContext, WithoutAutomaticStackingFramesStayShort) {
  poke(kFpccr, 0);
  ASSERT_TRUE(scs.prepare_fp(state));
  EXPECT_EQ(state.control, 0u);
  pend(0);
  step();
  EXPECT_EQ(state.r[13], kMainStack - 0x20);
}

// A handler without FP inside one with: the short frame leaves the deferred one pending.
TEST_F(FpContext, NestedHandlerStoresTheOuterContext) {
  ASSERT_TRUE(scs.prepare_fp(state));
  fill(0x40);
  pend(0);
  step();
  pend(1);
  step();
  EXPECT_EQ(state.r[14], 0xFFFFFFF1);
  EXPECT_TRUE(scs.fp_lazy_pending());
  ASSERT_TRUE(scs.prepare_fp(state));
  EXPECT_EQ(memory.word(kMainStack - 0x48), 0x40u);
  fill(0x70);
  leave();
  EXPECT_EQ(state.control, 0u);
  leave();
  EXPECT_EQ(state.s[0], 0x40u);
}

// FPCCR describes what was interrupted.
TEST_F(FpContext, FpccrRecordsTheInterruptedContext) {
  ASSERT_TRUE(scs.prepare_fp(state));
  use_process_stack(false);
  state.control |= 4;
  poke(kShcsr, 1u << 17);  // BusFault on
  pend(0);
  step();
  // ASPEN LSPEN BFRDY HFRDY THREAD USER LSPACT
  EXPECT_EQ(peek(kFpccr), 0xC000005Bu);
}

// CPACR: no access is NOCP; privileged access only.
TEST_F(FpContext, AccessIsCheckedAgainstCpacr) {
  enable_faults();
  poke(kCpacr, 0);
  EXPECT_TRUE(scs.fp_lazy_pending());
  EXPECT_FALSE(scs.prepare_fp(state));
  step();
  EXPECT_EQ(state.ipsr, kUsageFault);
  EXPECT_EQ(peek(kCfsr), 1u << 19);
  poke(kCpacr, 0x00500000);
  EXPECT_TRUE(scs.prepare_fp(state));
  leave();
  use_process_stack(false);
  EXPECT_FALSE(scs.prepare_fp(state));
}

// A fault of the deferred stacking: LSPERR, MLSPERR; the instruction waits for the handler.
TEST_F(FpContext, DeferredStackingFaultIsTakenAtTheInstruction) {
  enable_faults();
  ASSERT_TRUE(scs.prepare_fp(state));
  pend(0);
  step();
  memory.ranges = {{kMainStack - 0x48, kMainStack, AccessFault::bus, 0}};
  EXPECT_FALSE(scs.prepare_fp(state));
  step();
  EXPECT_EQ(state.ipsr, kBusFault);
  EXPECT_EQ(peek(kCfsr), 1u << 13);
  memory.ranges[0].fault = AccessFault::mpu_data;
  leave();
  EXPECT_FALSE(scs.prepare_fp(state));
  EXPECT_EQ(peek(kCfsr), (1u << 13) | (1u << 5));
}

// The fault cannot be taken now: the instruction goes on and the state is lost.
TEST_F(FpContext, DeferredStackingFaultThatCannotBeTakenIsLeftPending) {
  enable_faults();
  poke(kShpr1, 0xC000);  // BusFault below IRQ 0
  ASSERT_TRUE(scs.prepare_fp(state));
  pend(0);
  step();
  memory.ranges = {{kMainStack - 0x48, kMainStack, AccessFault::bus, 0}};
  EXPECT_TRUE(scs.prepare_fp(state));
  EXPECT_FALSE(scs.fp_lazy_pending());
  EXPECT_NE(peek(kShcsr) & (1u << 14), 0u);
}

TEST_F(FpContext, DeferredStackingFaultEscalatesWithoutItsHandler) {
  ASSERT_TRUE(scs.prepare_fp(state));
  pend(0);
  step();
  memory.ranges = {{kMainStack - 0x48, kMainStack, AccessFault::bus, 0}};
  EXPECT_FALSE(scs.prepare_fp(state));
  step();
  EXPECT_EQ(state.ipsr, kHardFault);
  EXPECT_EQ(peek(kHfsr), 1u << 30);
}

// The user's stack is written with the user's rights.
TEST_F(FpContext, DeferredStackingHasThePrivilegeOfItsFrame) {
  use_process_stack(false);
  ASSERT_TRUE(scs.prepare_fp(state));
  pend(0);
  step();
  EXPECT_TRUE(memory.last_privileged);  // the vector
  ASSERT_TRUE(scs.prepare_fp(state));
  EXPECT_FALSE(memory.last_privileged);
}

// B1.5.8: NOCP on return when FP was switched off meanwhile.
TEST_F(FpContext, ReturnWithoutAccessIsNocp) {
  enable_faults();
  ASSERT_TRUE(scs.prepare_fp(state));
  pend(0);
  step();
  ASSERT_TRUE(scs.prepare_fp(state));
  poke(kCpacr, 0);
  leave();
  EXPECT_EQ(state.ipsr, kUsageFault);
  EXPECT_EQ(peek(kCfsr), 1u << 19);
}

}  // namespace
}  // namespace millrace::board
