// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/link_device.h"

#include <gtest/gtest.h>

#include <memory>

#include "firmware/app/fake_port.h"

namespace millrace::firmware {
namespace {

using Memory = LinkMemory<16384, 8, 4096>;

uint64_t passed_after(uint32_t from, uint32_t to) {
  const auto memory = std::make_unique<Memory>();
  FakePort port;
  port.clock_us = from;
  LinkDevice device(port, link_options(*memory));
  const uint64_t before = device.now_us();
  port.clock_us = to;
  device.poll();
  return device.now_us() - before;
}

TEST(LinkDevice, TimeGoesOnAcrossTheWrapOfThePortsClock) {
  EXPECT_EQ(passed_after(1000, 4000), 3000u);
  EXPECT_EQ(passed_after(0xFFFFFF00u, 0x100u), 0x200u);
}

TEST(LinkDevice, ClockThatGoesBackStandsStill) {
  EXPECT_EQ(passed_after(4000, 3999), 0u);
  EXPECT_EQ(passed_after(100, 0xFFFFFFF0u), 0u);  // back across the wrap
}

}  // namespace
}  // namespace millrace::firmware
