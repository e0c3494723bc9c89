// SPDX-License-Identifier: Apache-2.0
#include "cpu/branch_predictor.h"

#include <gtest/gtest.h>

namespace millrace::board {
namespace {

constexpr uint32_t kPc = 0x100, kEnd = 0x102, kTarget = 0x80;

class Predictor : public ::testing::Test {
 protected:
  uint32_t conditional(bool taken) {
    return predictor.leave(BlockEnd::conditional, kPc, kEnd, taken ? kTarget : kEnd, taken);
  }
  const Timing timing;
  const uint32_t mispredict = timing.branch_mispredict;
  BranchPredictor predictor{timing};
};

TEST_F(Predictor, TwoBitsTurnAroundAfterTwo) {
  EXPECT_EQ(conditional(false), 0u);
  EXPECT_EQ(conditional(true), mispredict);
  EXPECT_EQ(conditional(true), mispredict);
  EXPECT_EQ(conditional(true), timing.branch_target_miss);  // predicted, but not where to
  EXPECT_EQ(conditional(true), 0u);
  EXPECT_EQ(conditional(false), mispredict);
  EXPECT_EQ(conditional(true), 0u);  // once is not enough
}

TEST_F(Predictor, DirectBranchesMissOnce) {
  EXPECT_EQ(predictor.leave(BlockEnd::jump, kPc, kEnd, kTarget, true), timing.branch_target_miss);
  EXPECT_EQ(predictor.leave(BlockEnd::jump, kPc, kEnd, kTarget, true), 0u);
}

TEST_F(Predictor, ReturnsGoBackToTheirCalls) {
  predictor.leave(BlockEnd::call, 0x100, 0x104, 0x200, true);
  predictor.leave(BlockEnd::call, 0x204, 0x208, 0x300, true);
  EXPECT_EQ(predictor.leave(BlockEnd::returns, 0x300, 0x302, 0x208, true), 0u);
  EXPECT_EQ(predictor.leave(BlockEnd::returns, 0x20A, 0x20C, 0x104, true), 0u);
  predictor.leave(BlockEnd::call, 0x100, 0x104, 0x200, true);
  EXPECT_EQ(predictor.leave(BlockEnd::returns, 0x200, 0x202, 0x500, true), mispredict);
}

TEST_F(Predictor, DeepCallsOverwriteTheOldestReturn) {
  const uint32_t depth = timing.branch_returns;
  for (uint32_t k = 0; k <= depth; ++k) {
    predictor.leave(BlockEnd::call, 0x1000 + 16 * k, 0x1004 + 16 * k, 0x1010 + 16 * k, true);
  }
  for (uint32_t k = depth; k > 0; --k) {
    EXPECT_EQ(predictor.leave(BlockEnd::returns, 0x2000, 0x2002, 0x1004 + 16 * k, true), 0u);
  }
  EXPECT_EQ(predictor.leave(BlockEnd::returns, 0x2000, 0x2002, 0x1004, true), mispredict);
}

TEST_F(Predictor, IndirectBranchesGoWhereTheyWentLast) {
  const auto jump = [this](uint32_t target) {
    return predictor.leave(BlockEnd::indirect, kPc, kEnd, target, true);
  };
  EXPECT_EQ(jump(0x300), mispredict);
  EXPECT_EQ(jump(0x300), 0u);
  EXPECT_EQ(jump(0x400), mispredict);
}

}  // namespace
}  // namespace millrace::board
