// SPDX-License-Identifier: Apache-2.0
// Issue cycles of short sequences, by the pairing rules and latencies that core/timing.h names.
#include "cpu/schedule.h"

#include <gtest/gtest.h>

#include "cpu/decoder.h"

namespace millrace::board {
namespace {

struct Scheduled {
  std::vector<int> at;  // of each instruction
  int length = 0;
  Block block;
};

Scheduled run(const std::vector<uint16_t>& code, const Timing& timing = {}) {
  std::vector<Insn> insns;
  Scheduled s;
  uint32_t itstate = 0;
  for (size_t k = 0; k < code.size();) {
    const Insn i = decode(code[k], k + 1 < code.size() ? code[k + 1] : uint16_t{0},
                          static_cast<uint32_t>(2 * k), itstate);
    itstate = i.kind == Kind::it ? i.imm : advance_itstate(itstate);
    Op& op = s.block.ops.emplace_back();
    op.index = static_cast<uint8_t>(insns.size());
    insns.push_back(i);
    k += i.size / 2;
  }
  s.block.first_use.fill(127);
  schedule(insns, &timing, &s.block);
  for (const Op& op : s.block.ops) {
    s.at.push_back(op.cycle);
  }
  s.length = s.block.cycles;
  return s;
}

using Cycle = std::vector<int>;

TEST(Schedule, IndependentInstructionsPair) {
  EXPECT_EQ(
      run({0x3001, 0x3101, 0x3201, 0x3301} /* adds r0, #1; adds r1, #1; adds r2, #1; adds r3, #1 */)
          .at,
      (Cycle{0, 0, 1, 1}));
}

TEST(Schedule, DependentInstructionsDoNot) {
  EXPECT_EQ(run({0x3001, 0x3001, 0x3001} /* adds r0, #1; adds r0, #1; adds r0, #1 */).at,
            (Cycle{0, 1, 2}));
}

TEST(Schedule, OneShifterACycle) {
  EXPECT_EQ(
      run({0xEB01, 0x0082, 0xEB04, 0x0385} /* add.w r0, r1, r2, lsl #2; add.w r3, r4, r5, lsl #2 */)
          .at,
      (Cycle{0, 1}));
  EXPECT_EQ(run({0xEB01, 0x0082, 0x1963} /* add.w r0, r1, r2, lsl #2; adds r3, r4, r5 */).at,
            (Cycle{0, 0}));
}

TEST(Schedule, ShiftedOperandsAreNeededEarly) {
  EXPECT_EQ(run({0x3001, 0xEB04, 0x0380} /* adds r0, #1; add.w r3, r4, r0, lsl #2 */).at,
            (Cycle{0, 2}));
}

TEST(Schedule, PureShiftsUseEitherShifter) {
  EXPECT_EQ(run({0x3001, 0x0841} /* adds r0, #1; lsrs r1, r0, #1 */).at, (Cycle{0, 1}));
  EXPECT_EQ(run({0x0841, 0x08A3} /* lsrs r1, r0, #1; lsrs r3, r4, #2 */).at, (Cycle{0, 1}));
}

TEST(Schedule, LoadUse) {
  // The next cycle for an ALU, one later for an address or a shifted operand and what stands
  // beside it, one later for narrow loads.
  EXPECT_EQ(run({0x6808, 0x3001} /* ldr r0, [r1]; adds r0, #1 */).at, (Cycle{0, 1}));
  EXPECT_EQ(run({0x6808, 0x6802} /* ldr r0, [r1]; ldr r2, [r0] */).at, (Cycle{0, 2}));
  EXPECT_EQ(run({0x7808, 0x3001} /* ldrb r0, [r1]; adds r0, #1 */).at, (Cycle{0, 2}));
  EXPECT_EQ(run({0x7808, 0x7802} /* ldrb r0, [r1]; ldrb r2, [r0] */).at, (Cycle{0, 3}));
  EXPECT_EQ(run({0x6808, 0xEB00, 0x0385} /* ldr r0, [r1]; add.w r3, r0, r5, lsl #2 */).at,
            (Cycle{0, 2}));
  EXPECT_EQ(run({0x3001, 0xEB00, 0x0385} /* adds r0, #1; add.w r3, r0, r5, lsl #2 */).at,
            (Cycle{0, 1}));
}

TEST(Schedule, LoadsWaitForStoresToTheSameWord) {
  const int wait = static_cast<int>(Timing{}.store_to_load);
  EXPECT_EQ(run({0x6048, 0x684A} /* str r0, [r1, #4]; ldr r2, [r1, #4] */).at, (Cycle{0, wait}));
  EXPECT_EQ(run({0x6048, 0x794A} /* str r0, [r1, #4]; ldrb r2, [r1, #5] */).at, (Cycle{0, wait}));
  EXPECT_EQ(run({0x6048, 0x688A} /* str r0, [r1, #4]; ldr r2, [r1, #8] */).at, (Cycle{0, 0}));
  EXPECT_EQ(run({0x6048, 0x680A} /* str r0, [r1, #4]; ldr r2, [r1] */).at, (Cycle{0, 0}));
  EXPECT_EQ(run({0x6048, 0x3104, 0x684A} /* str r0, [r1, #4]; adds r1, #4; ldr r2, [r1, #4] */).at,
            (Cycle{0, 0, 2}));  // the address
}

TEST(Schedule, StoresReadTheirDataLate) {
  EXPECT_EQ(run({0x3001, 0x6008} /* adds r0, #1; str r0, [r1] */).at, (Cycle{0, 0}));
  EXPECT_EQ(run({0x3101, 0x6008} /* adds r1, #1; str r0, [r1] */).at, (Cycle{0, 2}));
}

TEST(Schedule, TwoLoadsButOneStoreACycle) {
  EXPECT_EQ(run({0x6808, 0x681A} /* ldr r0, [r1]; ldr r2, [r3] */).at, (Cycle{0, 0}));
  EXPECT_EQ(run({0x6008, 0x601A} /* str r0, [r1]; str r2, [r3] */).at, (Cycle{0, 1}));
  EXPECT_EQ(run({0x6808, 0x681A} /* ldr r0, [r1]; ldr r2, [r3] */, {.loads_per_cycle = 1}).at,
            (Cycle{0, 1}));
}

TEST(Schedule, WriteBackIsThereAtOnce) {
  EXPECT_EQ(run({0xF851, 0x0B04, 0xF851, 0x2B04} /* ldr r0, [r1], #4; ldr r2, [r1], #4 */).at,
            (Cycle{0, 1}));
}

TEST(Schedule, NeverPairing) {
  EXPECT_EQ(
      run({0x3001, 0xFBB2, 0xF1F3, 0x3401} /* adds r0, #1; udiv r1, r2, r3; adds r4, #1 */).at,
      (Cycle{0, 1, 4}));
  EXPECT_EQ(run({0xB40F, 0x3401} /* push {r0-r3}; adds r4, #1 */).at,
            (Cycle{0, 2}));  // two words a cycle
}

TEST(Schedule, OlderOnly) {
  EXPECT_EQ(run({0x3001, 0xB2D1} /* adds r0, #1; uxtb r1, r2 */).at, (Cycle{0, 1}));
  EXPECT_EQ(run({0xB2D1, 0x3001} /* uxtb r1, r2; adds r0, #1 */).at, (Cycle{0, 0}));
}

TEST(Schedule, Multiply) {
  EXPECT_EQ(run({0xFB01, 0xF002, 0x3001} /* mul r0, r1, r2; adds r0, #1 */).at, (Cycle{0, 2}));
  EXPECT_EQ(run({0xFB01, 0xF002, 0xFB04, 0x0305} /* mul r0, r1, r2; mla r3, r4, r5, r0 */).at,
            (Cycle{0, 1}));  // forwarded
  EXPECT_EQ(run({0xFB01, 0xF002, 0xFB04, 0xF305} /* mul r0, r1, r2; mul r3, r4, r5 */).at,
            (Cycle{0, 1}));  // one multiplier
}

TEST(Schedule, CompareAndBranchPair) {
  const Scheduled s = run({0x3801, 0xD1FD} /* l: subs r0, #1; bne l */);
  EXPECT_EQ(s.at, (Cycle{0, 0}));
  EXPECT_EQ(s.length, 1);
}

TEST(Schedule, ConditionalExecutionWaitsForFlags) {
  EXPECT_EQ(run({0x2801, 0xBF08, 0x2101} /* cmp r0, #1; it eq; moveq r1, #1 */).at,
            (Cycle{0, 0, 1}));
}

TEST(Schedule, FloatingPoint) {
  const Timing t;
  EXPECT_EQ(run({0xEE30, 0x0A81, 0xEE72, 0x1A22} /* vadd.f32 s0, s1, s2; vadd.f32 s3, s4, s5 */).at,
            (Cycle{0, 1}));
  EXPECT_EQ(run({0xEE30, 0x0A81, 0xEE60, 0x1A22} /* vadd.f32 s0, s1, s2; vmul.f32 s3, s0, s5 */).at,
            (Cycle{0, static_cast<int>(t.fp_add_single)}));
  EXPECT_EQ(run({0xEE30, 0x0A81, 0x3001} /* vadd.f32 s0, s1, s2; adds r0, #1 */).at, (Cycle{0, 0}));
  EXPECT_EQ(run({0xEE80, 0x0A81, 0xEE72, 0x1A22} /* vdiv.f32 s0, s1, s2; vadd.f32 s3, s4, s5 */).at,
            (Cycle{0, static_cast<int>(t.fp_div_single)}));
}

TEST(Schedule, LateResultsMakeTheNextBlockWait) {
  const Scheduled first = run({0x3101, 0x7810} /* adds r1, #1; ldrb r0, [r2] */);
  ASSERT_EQ(first.length, 1);
  EXPECT_EQ(wait_between(first.block, run({0x3001} /* adds r0, #1 */).block), 1);
  EXPECT_EQ(wait_between(first.block, run({0x6803} /* ldr r3, [r0] */).block), 2);
  EXPECT_EQ(
      wait_between(first.block,
                   run({0x2301, 0x2401, 0x3001} /* movs r3, #1; movs r4, #1; adds r0, #1 */).block),
      0);
  EXPECT_EQ(wait_between(first.block, run({0x2001, 0x3001} /* movs r0, #1; adds r0, #1 */).block),
            0);
}

TEST(Schedule, FunctionalModeIsOneCycleEach) {
  Block block;
  block.ops.resize(3);
  block.ops[1].index = 1;
  block.ops[2].index = 2;
  schedule(std::vector<Insn>(3), nullptr, &block);
  EXPECT_EQ(block.cycles, 3);
  EXPECT_EQ(block.ops[2].cycle, 2);
}

TEST(Schedule, ExtremeParametersStayInRange) {
  Timing t;
  for (const TimingParameter& p : timing_parameters()) {
    t.*(p.member) = kMaxTimingValue;
  }
  const Scheduled s =
      run({0x6808, 0xFBB0, 0xF0F0, 0xFB00, 0xF000, 0xEE80, 0x0B00, 0xEE30, 0x0B00, 0xEE10, 0x0A10,
           0x3001} /* ldr r0, [r1]; udiv r0, r0, r0; mul r0, r0, r0; vdiv.f64 d0, d0, d0; vadd.f64
                      d0, d0, d0; vmov r0, s0; adds r0, #1 */
          ,
          t);
  for (size_t k = 1; k < s.at.size(); ++k) {
    EXPECT_GE(s.at[k], s.at[k - 1]);
  }
  EXPECT_LT(s.length, 2000);
}

}  // namespace
}  // namespace millrace::board
