// SPDX-License-Identifier: Apache-2.0
// Faults, escalation and lock-up (Armv7-M ARM B1.5.14, B1.5.15, B3.2.15, B3.2.16).
#include "cpu/testing/scs_fixture.h"

namespace millrace::board {
namespace {

class Faults : public testing::ScsFixture {};

struct CauseCase {
  FaultCause cause;
  unsigned exception;
  uint32_t cfsr;
  bool mmfar;
  bool bfar;
};

class FaultCauses : public testing::ScsFixture, public ::testing::WithParamInterface<CauseCase> {};

// B3.2.15: the bit and the address register of every cause; its handler if that is enabled.
TEST_P(FaultCauses, SetsItsStatusAndTakesItsHandler) {
  const CauseCase& c = GetParam();
  enable_faults();
  scs.fault(state, c.cause, 0x12345678);
  step();
  EXPECT_EQ(state.ipsr, c.exception);
  EXPECT_EQ(peek(kCfsr), c.cfsr);
  EXPECT_EQ(peek(kHfsr), 0u);
  EXPECT_EQ(peek(kMmfar), c.mmfar ? 0x12345678u : 0u);
  EXPECT_EQ(peek(kBfar), c.bfar ? 0x12345678u : 0u);
  EXPECT_EQ(memory.word(kMainStack - 0x20 + 0x18), kThreadPc);
}

// B1.5.14: disabled, it is a HardFault with FORCED.
TEST_P(FaultCauses, EscalatesWhenDisabled) {
  scs.fault(state, GetParam().cause, 0);
  step();
  EXPECT_EQ(state.ipsr, kHardFault);
  EXPECT_EQ(peek(kHfsr), 1u << 30);
  EXPECT_EQ(peek(kCfsr), GetParam().cfsr);
}

// B1.5.15: at priority -1 there is nowhere to go.
TEST_P(FaultCauses, LocksUpInTheHardFaultHandler) {
  enable_faults();
  state.faultmask = 1;
  scs.change_masks(state);
  scs.fault(state, GetParam().cause, 0);
  EXPECT_TRUE(scs.locked_up());
  EXPECT_TRUE(scs.attention());
  EXPECT_EQ(step(), 0u);
  EXPECT_EQ(state.ipsr, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    B3215, FaultCauses,
    ::testing::Values(
        CauseCase{FaultCause::undefined_instruction, kUsageFault, 1u << 16, false, false},
        CauseCase{FaultCause::invalid_state, kUsageFault, 1u << 17, false, false},
        CauseCase{FaultCause::invalid_pc, kUsageFault, 1u << 18, false, false},
        CauseCase{FaultCause::no_coprocessor, kUsageFault, 1u << 19, false, false},
        CauseCase{FaultCause::unaligned, kUsageFault, 1u << 24, false, false},
        CauseCase{FaultCause::divide_by_zero, kUsageFault, 1u << 25, false, false},
        CauseCase{FaultCause::bus_instruction, kBusFault, 1u << 8, false, false},
        CauseCase{FaultCause::bus_data, kBusFault, (1u << 9) | (1u << 15), false, true},
        CauseCase{FaultCause::mpu_instruction, kMemManage, 1u << 0, false, false},
        CauseCase{FaultCause::mpu_data, kMemManage, (1u << 1) | (1u << 7), true, false}));

// B1.5.14: a fault handler that does not outrank what runs escalates.
TEST_F(Faults, EqualPriorityEscalates) {
  enable_faults();
  poke(kShpr1, 0x800000);  // UsageFault at 0x80
  enable(0, 0x80);
  pend(0);
  step();
  scs.fault(state, FaultCause::divide_by_zero, 0);
  step();
  EXPECT_EQ(state.ipsr, kHardFault);
  EXPECT_EQ(peek(kHfsr), 1u << 30);
}

TEST_F(Faults, PrimaskMakesAFaultAHardFault) {
  enable_faults();
  state.primask = 1;
  scs.change_masks(state);
  scs.fault(state, FaultCause::undefined_instruction, 0);
  step();
  EXPECT_EQ(state.ipsr, kHardFault);
}

// B1.5.14: SVC that SVCall cannot serve.
TEST_F(Faults, SupervisorCallEscalates) {
  state.r[15] = kThreadPc + 2;
  scs.supervisor_call(state);
  step();
  EXPECT_EQ(state.ipsr, kSvCall);
  EXPECT_EQ(memory.word(state.r[13] + 0x18), kThreadPc + 2);
  scs.supervisor_call(state);  // from its own handler
  step();
  EXPECT_EQ(state.ipsr, kHardFault);
  EXPECT_EQ(peek(kHfsr), 1u << 30);
  scs.supervisor_call(state);
  EXPECT_TRUE(scs.locked_up());
}

// C1.6.1: BKPT is DebugMonitor if that is enabled, else a HardFault with DEBUGEVT.
TEST_F(Faults, BreakpointGoesToTheMonitorOrHardFault) {
  scs.fault(state, FaultCause::breakpoint, 0);
  step();
  EXPECT_EQ(state.ipsr, kHardFault);
  EXPECT_EQ(peek(kHfsr), 1u << 31);
  EXPECT_EQ(peek(kDfsr), 2u);
  leave();
  poke(kHfsr, 0xFFFFFFFF);
  poke(kDemcr, 1u << 16);
  scs.fault(state, FaultCause::breakpoint, 0);
  step();
  EXPECT_EQ(state.ipsr, kDebugMonitor);
  EXPECT_EQ(peek(kHfsr), 0u);
}

// B1.5.6: a fault of the stacking is a derived exception; the higher of the two runs first on the
// frame that could not be written.
TEST_F(Faults, StackingFaultIsTakenBeforeALowerInterrupt) {
  enable_faults();
  enable(0, 0x80);
  pend(0);
  memory.ranges = {{0x20000000, 0x20010000, AccessFault::bus, 0}};
  step();
  EXPECT_EQ(state.ipsr, kBusFault);
  EXPECT_EQ(peek(kCfsr), 1u << 12);  // STKERR, no address
  EXPECT_EQ(state.r[13], kMainStack - 0x20);
  EXPECT_EQ(peek(kIspr), 1u);  // the interrupt waits
  EXPECT_EQ(leave(), timing.tail_chain);
  EXPECT_EQ(state.ipsr, 16u);
}

TEST_F(Faults, StackingFaultWaitsBehindAHigherInterrupt) {
  enable_faults();
  poke(kShpr1, 0x8080);
  enable(0, 0x40);
  pend(0);
  memory.ranges = {{0x20000000, 0x20010000, AccessFault::mpu_data, 0}};
  step();
  EXPECT_EQ(state.ipsr, 16u);
  EXPECT_EQ(peek(kCfsr), 1u << 4);  // MSTKERR
  leave();
  EXPECT_EQ(state.ipsr, kMemManage);
}

TEST_F(Faults, StackingFaultWithoutItsHandlerIsAHardFault) {
  enable(0, 0);
  pend(0);
  memory.ranges = {{0x20000000, 0x20010000, AccessFault::bus, 0}};
  step();
  EXPECT_EQ(state.ipsr, kHardFault);
  EXPECT_EQ(peek(kHfsr), 1u << 30);
  EXPECT_FALSE(scs.locked_up());
}

// B1.5.8: a fault of the unstacking tail-chains; the frame stays.
TEST_F(Faults, UnstackingFaultKeepsTheFrame) {
  enable_faults();
  enable(0, 0x80);
  pend(0);
  step();
  const uint32_t frame = state.r[13];
  memory.ranges = {{0x20000000, 0x20010000, AccessFault::bus, 0}};
  EXPECT_EQ(leave(), timing.tail_chain);
  EXPECT_EQ(state.ipsr, kBusFault);
  EXPECT_EQ(peek(kCfsr), 1u << 11);  // UNSTKERR
  EXPECT_EQ(state.r[13], frame);
  EXPECT_EQ(state.r[14], 0xFFFFFFF9);
  memory.ranges = {{0x20000000, 0x20010000, AccessFault::mpu_data, 0}};
  leave();
  EXPECT_EQ(state.ipsr, kMemManage);
  EXPECT_EQ(peek(kCfsr), (1u << 11) | (1u << 3));  // and MUNSTKERR
  memory.ranges.clear();
  leave();
  EXPECT_EQ(state.r[15], kThreadPc);
}

// B1.5.15, HFSR.VECTTBL.
TEST_F(Faults, VectorReadFaultIsAHardFault) {
  enable_faults();
  enable(0, 0x80);
  pend(0);
  memory.ranges = {{kVectors + 64, kVectors + 68, AccessFault::bus, 0}};
  step();
  EXPECT_EQ(state.ipsr, kHardFault);
  EXPECT_EQ(peek(kHfsr), 1u << 1);
  EXPECT_EQ(peek(kIspr), 1u);
}

TEST_F(Faults, VectorReadFaultOfHardFaultLocksUp) {
  memory.ranges = {{kVectors, kVectors + 64, AccessFault::bus, 0}};
  scs.fault(state, FaultCause::undefined_instruction, 0);
  step();
  EXPECT_TRUE(scs.locked_up());
}

// B3.5.1: the MPU does not act on vector reads.
TEST_F(Faults, VectorReadPassesTheMpu) {
  enable(0, 0x80);
  pend(0);
  memory.ranges = {{kVectors, kVectors + 0x400, AccessFault::mpu_data, 0}};
  step();
  EXPECT_EQ(state.ipsr, 16u);
  EXPECT_EQ(state.r[15], handler(16));
}

// B1.5.6: a vector with bit 0 clear clears EPSR.T: INVSTATE at the handler's first instruction.
TEST_F(Faults, EvenVectorIsInvstate) {
  enable_faults();
  enable(0, 0x80);
  memory.set_word(kVectors + 64, handler(16));
  pend(0);
  step();
  step();
  EXPECT_EQ(state.ipsr, kUsageFault);
  EXPECT_EQ(peek(kCfsr), 1u << 17);
  EXPECT_EQ(memory.word(state.r[13] + 0x18), handler(16));
  EXPECT_EQ(memory.word(state.r[13] + 0x1C), 16u);  // T is 0 in the frame
}

TEST_F(Faults, EvenHardFaultVectorLocksUp) {
  memory.set_word(kVectors + 12, handler(3));
  scs.fault(state, FaultCause::undefined_instruction, 0);
  step();
  EXPECT_TRUE(scs.locked_up());
}

// B1.5.8: a frame with T clear faults at the instruction returned to.
TEST_F(Faults, ReturnToClearThumbBitIsInvstate) {
  enable_faults();
  enable(0, 0x80);
  pend(0);
  step();
  memory.set_word(state.r[13] + 0x1C, 0);
  leave();
  step();
  EXPECT_EQ(state.ipsr, kUsageFault);
  EXPECT_EQ(peek(kCfsr), 1u << 17);
  EXPECT_EQ(memory.word(state.r[13] + 0x18), kThreadPc);
  EXPECT_EQ(memory.word(state.r[13] + 0x1C), 0u);
}

// B1.5.15: only NMI outranks HardFault, and a HardFault waits for it.
TEST_F(Faults, NmiPreemptsHardFault) {
  scs.fault(state, FaultCause::undefined_instruction, 0);
  step();
  poke(kIcsr, 1u << 31);
  step();
  EXPECT_EQ(state.ipsr, kNmi);
  leave();
  EXPECT_EQ(state.ipsr, kHardFault);
}

// B3.2.8 BFHFNMIGN: the access is skipped, with its status recorded.
TEST_F(Faults, IgnoredBusFaultSkipsTheInstruction) {
  poke(kCcr, 1u << 8);
  scs.fault(state, FaultCause::undefined_instruction, 0);
  step();
  memory.set_word(handler(3), 0x0000F8D0);  // LDR.W r0, [r0]
  scs.fault(state, FaultCause::bus_data, 0x50000000);
  EXPECT_FALSE(scs.locked_up());
  EXPECT_EQ(state.r[15], handler(3) + 4);
  EXPECT_EQ(peek(kBfar), 0x50000000u);
}

// B3.1.1: unprivileged access to the private peripheral bus is a BusFault.
TEST_F(Faults, PrivatePeripheralBusRefusalIsABusFault) {
  enable_faults();
  use_process_stack(false);
  EXPECT_FALSE(scs.attributes(kIser, false).readable);
  EXPECT_TRUE(scs.attributes(kIser, true).readable);
  scs.fault(state, FaultCause::mpu_data, kIser);
  step();
  EXPECT_EQ(state.ipsr, kBusFault);
  EXPECT_EQ(peek(kBfar), kIser);
}

// B3.2.15: status bits are cleared by writing ones, by byte and halfword too.
TEST_F(Faults, StatusIsWriteOneToClearInEveryWidth) {
  scs.fault(state, FaultCause::undefined_instruction, 0);
  scs.fault(state, FaultCause::mpu_data, 4);
  scs.fault(state, FaultCause::bus_data, 8);
  EXPECT_EQ(peek(kCfsr), 0x00018282u);
  EXPECT_EQ(peek(kCfsr + 1, 1), 0x82u);
  EXPECT_EQ(peek(kCfsr + 2, 2), 1u);
  poke(kCfsr + 1, 0x02, 1);
  EXPECT_EQ(peek(kCfsr), 0x00018082u);
  poke(kCfsr + 2, 1, 2);
  EXPECT_EQ(peek(kCfsr), 0x00008082u);
  poke(kCfsr, 0xFFFFFFFF);
  EXPECT_EQ(peek(kCfsr), 0u);
}

// B3.2.13: a pended bit written by software is taken like a fault.
TEST_F(Faults, PendedBitsOfShcsrCanBeWritten) {
  poke(kShcsr, (1u << 18) | (1u << 12));
  step();
  EXPECT_EQ(state.ipsr, kUsageFault);
  EXPECT_EQ(peek(kShcsr), (1u << 18) | (1u << 3));
  leave();
  poke(kShcsr, 1u << 13);  // MemManage pended but disabled: waits
  EXPECT_EQ(step(), 0u);
  poke(kShcsr, (1u << 13) | (1u << 16));
  step();
  EXPECT_EQ(state.ipsr, kMemManage);
}

// A frame can name an exception that the part does not have.
TEST_F(Faults, ForeignExceptionNumberInAFrameIsHarmless) {
  enable(0, 0x80);
  enable(1, 0x40);
  pend(0);
  step();
  pend(1);
  step();
  memory.set_word(state.r[13] + 0x1C, 0x010001FF);
  leave();
  EXPECT_EQ(state.ipsr, 0x1FFu);
  EXPECT_EQ(peek(kIcsr) & 0x1FF, 0x1FFu);
  leave();
  EXPECT_NE(peek(kCfsr) & (1u << 18), 0u);
}

}  // namespace
}  // namespace millrace::board
