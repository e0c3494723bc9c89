// SPDX-License-Identifier: Apache-2.0
// Instructions on the fake board, with results worked out from the Armv7-M ARM. Code was assembled
// with arm-none-eabi-as; each case names its source.
#include <gtest/gtest.h>

#include "cpu/decoder.h"
#include "cpu/testing/fake_board.h"

namespace millrace::board {
namespace {

using testing::FakeBoard;
constexpr uint32_t kN = 0x80000000u;
constexpr uint32_t kZ = 0x40000000u;
constexpr uint32_t kC = 0x20000000u;
constexpr uint32_t kV = 0x10000000u;
constexpr uint32_t kQ = 0x08000000u;
constexpr uint32_t kData = 0x20000100u;

TEST(Alu, AdditionSetsCarryAndOverflow) {
  FakeBoard b;
  b.r(0) = 0x7FFFFFFF;
  b.run({0x3001} /* adds r0, #1 */);
  EXPECT_EQ(b.r(0), 0x80000000u);
  EXPECT_EQ(b.cpu.state.apsr(), kN | kV);  // positive + positive = negative, no carry out
}

TEST(Alu, SubtractionCarryIsNotBorrow) {
  FakeBoard b;
  b.r(0) = 5;
  b.run({0x1F41, 0x2901} /* subs r1, r0, #5; cmp r1, #1 */);
  EXPECT_EQ(b.r(1), 0u);
  EXPECT_EQ(b.cpu.state.apsr(), kN);  // 0 - 1 borrows: C clear
}

TEST(Alu, SubtractWithCarryChainsWords) {
  FakeBoard b;
  b.r(0) = 0;  // 0x1_00000000 - 1 = 0x0_FFFFFFFF
  b.r(1) = 1;
  b.run({0x3801, 0xF161, 0x0100} /* subs r0, #1; sbc r1, r1, #0 */);
  EXPECT_EQ(b.r(0), 0xFFFFFFFFu);
  EXPECT_EQ(b.r(1), 0u);
}

TEST(Alu, LogicalImmediateSetsCarryFromTheExpansion) {
  FakeBoard b;
  b.r(0) = 0xFFFFFFFF;
  b.run({0xF010, 0x4100} /* ands r1, r0, #0x80000000 */);
  EXPECT_EQ(b.r(1), 0x80000000u);
  EXPECT_EQ(b.cpu.state.apsr(), kN | kC);
}

TEST(Alu, ShiftedOperandsGiveTheShiftersCarry) {
  FakeBoard b;
  b.r(0) = 0x80000001;
  b.run({0xEA5F, 0x0110, 0xEA4F, 0x0230, 0xEA5F,
         0x0360} /* lsrs.w r1, r0, #32; rrx r2, r0; asrs.w r3, r0, #1 */);
  EXPECT_EQ(b.r(1), 0u);
  EXPECT_EQ(b.r(2), 0xC0000000u);  // C was bit 31 of r0
  EXPECT_EQ(b.r(3), 0xC0000000u);
  EXPECT_EQ(b.cpu.state.apsr(), kN | kC);
}

TEST(Alu, RightShiftsCarryTheLastBitOut) {
  FakeBoard b;
  b.r(0) = 2;
  b.run({0x0881} /* lsrs r1, r0, #2 */);
  EXPECT_EQ(b.r(1), 0u);
  EXPECT_EQ(b.cpu.state.apsr(), kZ | kC);  // bit 1 was the last
}

TEST(Alu, MovtKeepsTheLowHalf) {
  FakeBoard b;
  b.r(0) = 0x12345678;
  b.run({0xF6CA, 0x30CD} /* movt r0, #0xABCD */);
  EXPECT_EQ(b.r(0), 0xABCD5678u);
}

TEST(Alu, PcRelativeAddressesAreWordAligned) {
  FakeBoard b;
  // At 0x100: nop; at 0x102: adr r0, 0x108. PC = 0x106, aligned 0x104.
  b.run({0xBF00, 0xA001, 0x4479, 0xBF00, 0xBF00,
         0xBF00} /* nop; adr r0, l; add r1, pc; .align 2; l: nop */);
  EXPECT_EQ(b.r(0), 0x108u);
  EXPECT_EQ(b.r(1), 0x108u);  // add r1, pc at 0x104: 0 + 0x108, not aligned
}

TEST(Alu, StackPointerStaysAligned) {
  FakeBoard b;
  b.r(0) = 0x8003;
  b.run({0x4685, 0x4669} /* mov sp, r0; mov r1, sp */);
  EXPECT_EQ(b.r(1), 0x8000u);
}

TEST(Shift, ByRegisterUsesTheLowByte) {
  FakeBoard b;
  b.r(0) = 0x80000001;
  b.r(1) = 0x120;  // 0x20 = 32
  b.run({0xFA10, 0xF201, 0xF3EF, 0x8300, 0xFA30, 0xF401, 0xF3EF,
         0x8500} /* lsls.w r2, r0, r1; mrs r3, apsr; lsrs.w r4, r0, r1; mrs r5, apsr */);
  EXPECT_EQ(b.r(2), 0u);
  EXPECT_EQ(b.r(3), kZ | kC);  // C: bit 0 went out last
  EXPECT_EQ(b.r(4), 0u);
  EXPECT_EQ(b.r(5), kZ | kC);  // C: bit 31
}

TEST(Shift, RotationByAMultipleOf32KeepsTheValue) {
  FakeBoard b;
  b.r(0) = 0x80000000;
  b.r(1) = 64;
  b.run({0xFA70, 0xF201} /* rors.w r2, r0, r1 */);
  EXPECT_EQ(b.r(2), 0x80000000u);
  EXPECT_EQ(b.cpu.state.apsr(), kN | kC);
}

TEST(Bits, FieldsInsertAndExtract) {
  FakeBoard b;
  b.r(0) = 0xFFFFFFFF;
  b.r(1) = 0x5;
  b.r(2) = 0x00000F80;
  b.run(
      {0xF361, 0x200B, 0xF36F, 0x0003, 0xF342, 0x13C4, 0xF3C2,
       0x14C4} /* bfi r0, r1, #8, #4; bfc r0, #0, #4; sbfx r3, r2, #7, #5; ubfx r4, r2, #7, #5 */);
  EXPECT_EQ(b.r(0), 0xFFFFF5F0u);
  EXPECT_EQ(b.r(3), 0xFFFFFFFFu);
  EXPECT_EQ(b.r(4), 0x1Fu);
}

TEST(Bits, ReversalAndCounting) {
  FakeBoard b;
  b.r(0) = 0x12345680;
  b.run({0xBA01, 0xBA42, 0xBAC3, 0xFA90, 0xF4A0, 0xFAB0, 0xF580, 0xFAB7,
         0xF687} /* rev r1, r0; rev16 r2, r0; revsh r3, r0; rbit r4, r0; clz r5, r0; clz r6, r7 */);
  EXPECT_EQ(b.r(1), 0x80563412u);
  EXPECT_EQ(b.r(2), 0x34128056u);
  EXPECT_EQ(b.r(3), 0xFFFF8056u);
  EXPECT_EQ(b.r(4), 0x016A2C48u);  // 0x12345680 read backwards
  EXPECT_EQ(b.r(5), 3u);
  EXPECT_EQ(b.r(6), 32u);
}

TEST(Saturation, SsatAndUsatSetQ) {
  FakeBoard b;
  b.r(0) = 300;
  b.r(1) = static_cast<uint32_t>(-5);
  b.run({0xF300, 0x0207, 0xF3EF, 0x8300, 0xF381, 0x0408, 0xF301,
         0x055F} /* ssat r2, #8, r0; mrs r3, apsr; usat r4, #8, r1; ssat r5, #32, r1, lsl #1 */);
  EXPECT_EQ(b.r(2), 127u);
  EXPECT_EQ(b.r(3) & kQ, kQ);
  EXPECT_EQ(b.r(4), 0u);
  EXPECT_EQ(b.r(5), static_cast<uint32_t>(-10));
}

TEST(Dsp, QaddSaturatesAndQdaddDoublesFirst) {
  FakeBoard b;
  b.r(0) = 0x7FFFFFFF;
  b.r(1) = 0x40000000;
  b.run({0xFA81, 0xF280, 0xFA81, 0xF3B1, 0xFA81,
         0xF4A1} /* qadd r2, r0, r1; qdsub r3, r1, r1; qsub r4, r1, r1 */);
  EXPECT_EQ(b.r(2), 0x7FFFFFFFu);
  EXPECT_EQ(b.r(3), 0xC0000001u);  // 0x40000000 - sat(0x80000000) = 0x40000000 - 0x7FFFFFFF
  EXPECT_EQ(b.r(4), 0u);
  EXPECT_EQ(b.cpu.state.q, 1u);
}

TEST(Dsp, Uadd8SetsGeForSel) {
  FakeBoard b;
  b.r(0) = 0xFF01FF01;
  b.r(1) = 0x01010101;
  b.r(2) = 0xAAAAAAAA;
  b.r(3) = 0x55555555;
  b.run({0xFA80, 0xF441, 0xFAA2, 0xF583} /* uadd8 r4, r0, r1; sel r5, r2, r3 */);
  EXPECT_EQ(b.r(4), 0x00020002u);
  EXPECT_EQ(b.cpu.state.ge, 0b1010u);  // the bytes with a carry
  EXPECT_EQ(b.r(5), 0xAA55AA55u);
}

TEST(Dsp, Ssub16GeIsTheSign) {
  FakeBoard b;
  b.r(0) = 0x80000005;  // -32768, 5
  b.r(1) = 0x00010006;
  b.run({0xFAD0, 0xF201, 0xFAD0, 0xF321, 0xFAD0,
         0xF411} /* ssub16 r2, r0, r1; shsub16 r3, r0, r1; qsub16 r4, r0, r1 */);
  EXPECT_EQ(b.r(2), 0x7FFFFFFFu);
  EXPECT_EQ(b.cpu.state.ge, 0u);
  EXPECT_EQ(b.r(3), 0xBFFFFFFFu);  // -32769 >> 1 = -16385, -1 >> 1 = -1
  EXPECT_EQ(b.r(4), 0x8000FFFFu);
}

TEST(Dsp, ExchangeFormsCrossHalfwords) {
  FakeBoard b;
  b.r(0) = 0x00030002;
  b.r(1) = 0x00200010;
  b.run({0xFAA0, 0xF201, 0xFAE0, 0xF301} /* sasx r2, r0, r1; ssax r3, r0, r1 */);
  EXPECT_EQ(b.r(2), 0x0013FFE2u);  // 3 + 0x10, 2 - 0x20
  EXPECT_EQ(b.r(3), 0xFFF30022u);  // 3 - 0x10, 2 + 0x20
}

TEST(Multiply, SmladAddsBothProductsAndSetsQ) {
  FakeBoard b;
  b.r(0) = 0x00020003;
  b.r(1) = 0x00050007;
  b.r(2) = 100;
  b.run({0xFB20, 0x2301, 0xFB20, 0x2411, 0xFB40,
         0xF501} /* smlad r3, r0, r1, r2; smladx r4, r0, r1, r2; smusd r5, r0, r1 */);
  EXPECT_EQ(b.r(3), 131u);  // 2*5 + 3*7 + 100
  EXPECT_EQ(b.r(4), 129u);  // 2*7 + 3*5 + 100
  EXPECT_EQ(b.r(5), 11u);   // 3*7 - 2*5
  EXPECT_EQ(b.cpu.state.q, 0u);
  b.cpu.set_pc(FakeBoard::kCode);
  b.r(0) = b.r(1) = 0x80008000;  // two times 2^30: the sum is 2^31
  b.r(2) = 0;
  b.cpu.run(b.cpu.now() + 100);
  EXPECT_EQ(b.r(3), 0x80000000u);
  EXPECT_EQ(b.cpu.state.q, 1u);
}

TEST(Multiply, LongFormsHave64Bits) {
  FakeBoard b;
  b.r(0) = 0xFFFFFFFF;
  b.r(1) = 0xFFFFFFFF;
  b.r(4) = 1;
  b.r(5) = 1;
  b.run({0xFBA0, 0x2301, 0xFBE0, 0x4561, 0xFB80,
         0x6701} /* umull r2, r3, r0, r1; umaal r4, r5, r0, r1; smull r6, r7, r0, r1 */);
  EXPECT_EQ(b.r(2), 1u);
  EXPECT_EQ(b.r(3), 0xFFFFFFFEu);
  EXPECT_EQ(b.r(4), 3u);  // (2^32-1)^2 + 1 + 1 = 2^64 - 2^33 + 3
  EXPECT_EQ(b.r(5), 0xFFFFFFFEu);
  EXPECT_EQ(b.r(6), 1u);
  EXPECT_EQ(b.r(7), 0u);
}

TEST(Multiply, RoundedHighWord) {
  FakeBoard b;
  b.r(0) = 0x00010000;
  b.r(1) = 0x00008000;
  b.run({0xFB50, 0xF201, 0xFB50, 0xF311} /* smmul r2, r0, r1; smmulr r3, r0, r1 */);
  EXPECT_EQ(b.r(2), 0u);
  EXPECT_EQ(b.r(3), 1u);
}

TEST(Divide, RoundsTowardsZeroAndWraps) {
  FakeBoard b;
  b.r(0) = static_cast<uint32_t>(-7);
  b.r(1) = 2;
  b.r(2) = 0x80000000;
  b.r(3) = 0xFFFFFFFF;
  b.run({0xFB90, 0xF4F1, 0xFB92, 0xF5F3, 0xFBB0, 0xF6F1, 0xFBB0,
         0xF7F8} /* sdiv r4, r0, r1; sdiv r5, r2, r3; udiv r6, r0, r1; udiv r7, r0, r8 */);
  EXPECT_EQ(b.r(4), static_cast<uint32_t>(-3));
  EXPECT_EQ(b.r(5), 0x80000000u);
  EXPECT_EQ(b.r(6), 0x7FFFFFFCu);
  EXPECT_EQ(b.r(7), 0u);  // by zero, not trapped
}

// div_min for a quotient of one bit, a cycle more for each four bits begun, div_max at most.
TEST(Divide, TimeGrowsWithTheQuotient) {
  const Timing timing;
  const auto cycles = [&timing](uint32_t n, uint32_t m) {
    FakeBoard b(&timing);
    b.r(0) = n;
    b.r(1) = m;
    b.run({0xFBB0, 0xF2F1} /* udiv r2, r0, r1 */);
    return b.cpu.now();
  };
  const Cycles least = cycles(1, 1);
  EXPECT_EQ(cycles(0x80, 1), least + 2);  // 7 bits more
  EXPECT_EQ(cycles(0x800, 0x80), least + 1);
  EXPECT_EQ(cycles(0xFFFFFFFF, 1), least + timing.div_max - timing.div_min);
}

TEST(Divide, ByZeroTrapsWhenAskedTo) {
  FakeBoard b;
  b.system.division_traps = true;
  b.r(0) = 1;
  b.r(2) = 99;
  EXPECT_EQ(b.run({0xBF00, 0xFBB0, 0xF2F1} /* nop; udiv r2, r0, r1 */), CpuStop::locked_up);
  EXPECT_EQ(b.system.fault_cause, FaultCause::divide_by_zero);
  EXPECT_EQ(b.system.fault_pc, 0x102u);
  EXPECT_EQ(b.r(2), 99u);
}

TEST(It, HigherIsCarryAndNotZero) {
  for (const uint32_t difference : {0u, 1u, 0xFFFFFFFFu}) {  // equal, higher, lower
    FakeBoard b;
    b.r(0) = 7 + difference;
    b.run({0x2807, 0xBF88, 0x2101, 0xD800,
           0x2201} /* cmp r0, #7; it hi; movhi r1, #1; bhi l; movs r2, #1; l: */);
    EXPECT_EQ(b.r(1), difference == 1 ? 1u : 0u);
    EXPECT_EQ(b.r(2), difference == 1 ? 0u : 1u);
  }
}

TEST(It, ExecutesByCondition) {
  FakeBoard b;
  b.r(0) = 1;
  b.run(
      {0x2801, 0xBF07, 0x2101, 0x2202, 0x2303,
       0x2404} /* cmp r0, #1; ittee eq; moveq r1, #1; moveq r2, #2; movne r3, #3; movne r4, #4 */);
  EXPECT_EQ(b.r(1), 1u);
  EXPECT_EQ(b.r(2), 2u);
  EXPECT_EQ(b.r(3), 0u);
  EXPECT_EQ(b.r(4), 0u);
}

TEST(It, SixteenBitInstructionsInsideSetNoFlags) {
  FakeBoard b;
  b.run({0x2800, 0xBF08, 0x3101} /* cmp r0, #0; it eq; addeq r1, #1 */);
  EXPECT_EQ(b.r(1), 1u);
  EXPECT_EQ(b.cpu.state.apsr(), kZ | kC);  // of the CMP
}

TEST(It, ACompareInsideChangesWhatFollows) {
  FakeBoard b;
  b.r(0) = 1;
  b.run({0x2801, 0xBF04, 0x2802, 0x2107} /* cmp r0, #1; itt eq; cmpeq r0, #2; moveq r1, #7 */);
  EXPECT_EQ(b.r(1), 0u);
}

TEST(It, InterruptInsideCarriesItstate) {
  FakeBoard b;
  b.load({0x2800, 0xBF06, 0x2101, 0x2202, 0x2303,
          0xBF00} /* cmp r0, #0; itte eq; moveq r1, #1; moveq r2, #2; movne r3, #3; nop */);
  b.memory.set_halfwords(0x400, {0x4770} /* bx lr */);
  b.cpu.run(3);  // cmp, itte, moveq r1
  EXPECT_EQ(b.cpu.pc(), 0x106u);
  b.system.pending_handler = 0x400;
  b.cpu.run(1000);
  EXPECT_EQ(b.system.interrupted_pc, 0x106u);
  EXPECT_EQ(b.system.interrupted_itstate, 0x0Cu);  // eq for this one, the mask has two left
  EXPECT_EQ(b.r(1), 1u);
  EXPECT_EQ(b.r(2), 2u);
  EXPECT_EQ(b.r(3), 0u);
}

TEST(It, FaultInsideReportsItstate) {
  FakeBoard b;
  b.r(5) = 0x90000000;
  b.run({0x2800, 0xBF04, 0x6829, 0x2202} /* cmp r0, #0; itt eq; ldreq r1, [r5]; moveq r2, #2 */);
  EXPECT_EQ(b.system.fault_cause, FaultCause::bus_data);
  EXPECT_EQ(b.system.fault_pc, 0x104u);
  EXPECT_EQ(b.system.fault_itstate, 0x04u);  // as IT set it: eq, t
  EXPECT_EQ(b.r(2), 0u);
}

TEST(LoadStore, AddressingModes) {
  FakeBoard b;
  b.memory.set_word(kData, 0x11223344);
  b.memory.set_word(kData + 4, 0x55667788);
  b.r(0) = kData;
  b.r(6) = 1;
  b.run({0xF850, 0x1B04, 0xF850, 0x2D04, 0xF850, 0x3026, 0xF990, 0x4004, 0xF9B0, 0x5006} /* ldr r1, [r0], #4; ldr r2, [r0, #-4]!; ldr r3, [r0, r6, lsl #2]; ldrsb r4, [r0, #4]; ldrsh r5, [r0, #6] */);
  EXPECT_EQ(b.r(1), 0x11223344u);
  EXPECT_EQ(b.r(2), 0x11223344u);
  EXPECT_EQ(b.r(0), kData);
  EXPECT_EQ(b.r(3), 0x55667788u);
  EXPECT_EQ(b.r(4), 0xFFFFFF88u);
  EXPECT_EQ(b.r(5), 0x5566u);
}

TEST(LoadStore, UnalignedWordsWorkUnlessTrapped) {
  FakeBoard b;
  b.memory.set_word(kData, 0x44332211);
  b.memory.set_word(kData + 4, 0x88776655);
  b.r(0) = kData + 1;
  b.load({0x6801, 0x8081} /* ldr r1, [r0]; strh r1, [r0, #4] */);
  b.cpu.run(100);
  EXPECT_EQ(b.r(1), 0x55443322u);
  EXPECT_EQ(b.memory.word(kData + 4), 0x88332255u);
  b.system.unaligned_traps = true;
  b.cpu.set_pc(FakeBoard::kCode);
  b.r(1) = 7;
  EXPECT_EQ(b.cpu.run(b.cpu.now() + 100), CpuStop::locked_up);
  EXPECT_EQ(b.system.fault_cause, FaultCause::unaligned);
  EXPECT_EQ(b.r(1), 7u);
}

TEST(LoadStore, MultipleAndDualAlwaysWantAlignment) {
  for (const std::vector<uint16_t>& code :
       {std::vector<uint16_t>{0xC806} /* ldmia r0!, {r1, r2} */,
        std::vector<uint16_t>{0xC006} /* stmia r0!, {r1, r2} */,
        std::vector<uint16_t>{0xE9D0, 0x1200} /* ldrd r1, r2, [r0] */,
        std::vector<uint16_t>{0xE9C0, 0x1200} /* strd r1, r2, [r0] */,
        std::vector<uint16_t>{0xE850, 0x1F00} /* ldrex r1, [r0] */}) {
    FakeBoard b;
    b.r(0) = kData + 2;
    EXPECT_EQ(b.run(code), CpuStop::locked_up);
    EXPECT_EQ(b.system.fault_cause, FaultCause::unaligned);
    EXPECT_EQ(b.r(0), kData + 2);
    EXPECT_EQ(b.system.fault_pc, FakeBoard::kCode);
  }
}

TEST(LoadStore, AFaultLeavesTheBaseAlone) {
  FakeBoard b;
  b.r(0) = 0x90000000;
  EXPECT_EQ(b.run({0xF850, 0x1B04} /* ldr r1, [r0], #4 */), CpuStop::locked_up);
  EXPECT_EQ(b.system.fault_cause, FaultCause::bus_data);
  EXPECT_EQ(b.system.fault_address, 0x90000000u);
  EXPECT_EQ(b.r(0), 0x90000000u);
}

TEST(LoadStore, MultipleInAscendingOrder) {
  for (const bool fast : {true, false}) {
    FakeBoard b;
    b.memory.fast = fast;
    b.r(0) = kData;
    b.r(1) = 1;
    b.r(2) = 2;
    b.r(3) = 3;
    b.run({0xE920, 0x000E, 0xE890, 0x0070, 0xB502,
           0xBC80} /* stmdb r0!, {r1-r3}; ldmia r0, {r4-r6}; push {r1, lr}; pop {r7} */);
    EXPECT_EQ(b.r(0), kData - 12);
    EXPECT_EQ(b.memory.word(kData - 12), 1u);
    EXPECT_EQ(b.memory.word(kData - 4), 3u);
    EXPECT_EQ(b.r(4), 1u);
    EXPECT_EQ(b.r(6), 3u);
    EXPECT_EQ(b.r(7), 1u);
    EXPECT_EQ(b.r(13), 0xFFFCu);
  }
}

TEST(LoadStore, MultipleAcrossAPage) {
  FakeBoard b;
  b.r(0) = 0x20000FF8;
  b.r(1) = 1;
  b.r(2) = 2;
  b.r(3) = 3;
  b.run({0xC00E, 0xE910, 0x0070} /* stmia r0!, {r1-r3}; ldmdb r0, {r4-r6} */);
  EXPECT_EQ(b.memory.word(0x20001000), 3u);
  EXPECT_EQ(b.r(4), 1u);
  EXPECT_EQ(b.r(6), 3u);
}

TEST(LoadStore, ExclusivesFailWithoutTheMonitor) {
  FakeBoard b;
  b.r(0) = kData;
  b.r(1) = 5;
  b.run({0xE850,
         0x2F00, 0xE840, 0x1300, 0xE840, 0x1400, 0xE8D0, 0x2F4F, 0xF3BF, 0x8F2F, 0xE8C0, 0x1F45} /* ldrex r2, [r0]; strex r3, r1, [r0]; strex r4, r1, [r0]; ldrexb r2, [r0]; clrex; strexb r5, r1, [r0] */);
  EXPECT_EQ(b.r(3), 0u);
  EXPECT_EQ(b.r(4), 1u);
  EXPECT_EQ(b.r(5), 1u);
  EXPECT_EQ(b.memory.word(kData), 5u);
}

TEST(Branch, LinkTableAndReturn) {
  FakeBoard b;
  // bl f; b end; f: tbb [pc, r0] with r0 = 1 -> second case.
  b.r(0) = 1;
  b.run({0xF000, 0xF802, 0x4675, 0xE005, 0xE8DF, 0xF000, 0x0201, 0x2101, 0x2202, 0x4770, 0xBF00} /* bl f; mov r5, lr; b e; f: tbb [pc, r0]; .byte 1, 2; movs r1, #1; movs r2, #2; bx lr; e: nop */);
  EXPECT_EQ(b.r(1), 0u);
  EXPECT_EQ(b.r(2), 2u);
  EXPECT_EQ(b.r(5), 0x105u);
}

TEST(Branch, ToAnEvenAddressIsInvalidState) {
  FakeBoard b;
  b.r(0) = 0x200;
  EXPECT_EQ(b.run({0x4700} /* bx r0 */), CpuStop::locked_up);
  EXPECT_EQ(b.system.fault_cause, FaultCause::invalid_state);
  EXPECT_EQ(b.system.fault_pc, 0x200u);
}

TEST(Branch, ExcReturnOnlyInHandlerMode) {
  FakeBoard b;
  b.cpu.state.ipsr = 16;
  b.system.interrupted_pc = 0x300;
  b.memory.set_halfwords(0x300, {0xBE00});
  b.r(0) = 0xFFFFFFF9;
  b.run({0x4700} /* bx r0 */);
  EXPECT_EQ(b.system.exc_return, 0xFFFFFFF9u);
  EXPECT_EQ(b.cpu.pc(), 0x300u);
}

TEST(System, UndefinedFaultsAtItself) {
  FakeBoard b;
  EXPECT_EQ(b.run({0xBF00, 0xDE00}), CpuStop::locked_up);
  EXPECT_EQ(b.system.fault_cause, FaultCause::undefined_instruction);
  EXPECT_EQ(b.system.fault_pc, 0x102u);
}

TEST(System, CoprocessorsAreAbsent) {
  FakeBoard b;
  EXPECT_EQ(b.run({0xEE00, 0x0710} /* mcr p7, 0, r0, c0, c0, 0 */), CpuStop::locked_up);
  EXPECT_EQ(b.system.fault_cause, FaultCause::no_coprocessor);
}

TEST(System, SvcReturnsBehindItself) {
  FakeBoard b;
  b.run({0xBF00, 0xDF03, 0xBF00} /* nop; svc #3; nop */);
  EXPECT_EQ(b.system.svc_return, 0x104u);
}

TEST(System, ExecutingNothingIsABusFault) {
  FakeBoard b;
  b.r(0) = 0x70000001;
  EXPECT_EQ(b.run({0x4700} /* bx r0 */), CpuStop::locked_up);
  EXPECT_EQ(b.system.fault_cause, FaultCause::bus_instruction);
  EXPECT_EQ(b.system.fault_pc, 0x70000000u);
}

TEST(Vfp, TransfersAndMultiples) {
  FakeBoard b;
  b.r(0) = kData;
  b.r(1) = 0x3F800000;
  b.r(2) = 0x40490FDB;
  b.run({0xEE00, 0x1A90, 0xEC42, 0x1B11, 0xECE0,
         0x0A03, 0xED10, 0x5B02, 0xEE15, 0x3A90, 0xED2D, 0x5B02, 0xECBD, 0x6B02, 0xEC55, 0x4B16} /* vmov s1, r1; vmov d1, r1, r2; vstmia r0!, {s1-s3}; vldr d5, [r0, #-8]; vmov r3, s11; vpush {d5}; vpop {d6}; vmov r4, r5, d6 */);
  EXPECT_EQ(b.memory.word(kData + 8), 0x40490FDBu);
  EXPECT_EQ(b.r(0), kData + 12);
  EXPECT_EQ(b.r(3), 0x40490FDBu);
  EXPECT_EQ(b.r(4), 0x3F800000u);
  EXPECT_EQ(b.r(5), 0x40490FDBu);
  EXPECT_EQ(b.r(13), 0x10000u);
}

TEST(Vfp, WithoutAccessFaultsOnce) {
  FakeBoard b;
  b.system.fp_access = false;
  EXPECT_EQ(b.run({0xBF00, 0xEE30, 0x0A81} /* nop; vadd.f32 s0, s1, s2 */), CpuStop::locked_up);
  EXPECT_EQ(b.system.fault_cause, FaultCause::no_coprocessor);
  EXPECT_EQ(b.system.fault_pc, 0x102u);
}

// Encodings that the comparison with qemu and objdump found wrong.
TEST(Decoder, FixedPointWithTooManyFractionBitsIsUnpredictable) {
  EXPECT_EQ(decode(0xEEBB, 0xAB4D, 0, 0).kind, Kind::unpredictable);  // 16 bits, 26 of fraction
}
TEST(Decoder, ReservedBitsOfRegisterTransfersAreUnpredictable) {
  EXPECT_EQ(decode(0xEE11, 0xAA53, 0, 0).kind, Kind::unpredictable);
  EXPECT_EQ(decode(0xEE11, 0xAA10, 0, 0).kind, Kind::vmov_core_single);
}
TEST(Decoder, ReservedBitsOfBxAndHintsAreUnpredictable) {
  EXPECT_EQ(decode(0x4704, 0, 0, 0).kind, Kind::unpredictable);
  EXPECT_EQ(decode(0xF3A0, 0x8001, 0, 0).kind, Kind::unpredictable);
}

}  // namespace
}  // namespace millrace::board
