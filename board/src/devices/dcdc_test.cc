// SPDX-License-Identifier: Apache-2.0
#include "devices/dcdc.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

TEST(Dcdc, IsSettledAfterEachNewTarget) {
  testing::FakeHost host;
  Dcdc dcdc(host);
  EXPECT_EQ(dcdc.millivolts(), 1150u);
  EXPECT_EQ(dcdc.read(0, 4, 0) >> 31, 1u);
  dcdc.write(0xC, 4, 0x112, 0);  // the Teensy core's 1.25 V
  EXPECT_EQ(dcdc.millivolts(), 1250u);
  dcdc.write(0, 4, 0, 0);
  EXPECT_EQ(dcdc.read(0, 4, 0) >> 31, 1u);
  EXPECT_TRUE(host.unknown.empty());
}

}  // namespace
}  // namespace millrace::board
