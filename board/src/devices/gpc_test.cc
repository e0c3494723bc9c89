// SPDX-License-Identifier: Apache-2.0
#include "devices/gpc.h"

#include <gtest/gtest.h>

#include "devices/testing/fake_host.h"

namespace millrace::board {
namespace {

TEST(Gpc, MasksAndPowerRequestsAreStoredAndReported) {
  testing::FakeHost host;
  Gpc gpc(host);
  gpc.write(0x34, 4, 0x80000001, 0);
  EXPECT_EQ(gpc.read(0x34, 4, 0), 0x80000001u);
  EXPECT_EQ(host.unknown.size(), 1u);  // WAIT knows no masks
  gpc.write(0x00, 4, 0x00400004, 0);
  EXPECT_EQ(gpc.read(0x00, 4, 0), 0x00520000u);
  gpc.read(0x18, 4, 0);
  EXPECT_EQ(host.unknown.size(), 3u);
}

}  // namespace
}  // namespace millrace::board
