// SPDX-License-Identifier: Apache-2.0
#include "devices/xbara.h"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kCtrl0 = 0x84, kCtrl1 = 0x86;

class XbaraTest : public testing::DeviceFixture {
 protected:
  using Log = std::vector<std::pair<unsigned, bool>>;
  Log watches, levels, requests;
  Xbara xbar{host,
             {.watch =
                  [this](unsigned n, bool on) {
                    watches.push_back({n, on});
                  },
              .output =
                  [this](unsigned n, bool level, Cycles) {
                    levels.push_back({n, level});
                  },
              .dma =
                  [this](unsigned n, bool level) {
                    requests.push_back({n, level});
                  }}};
};

TEST_F(XbaraTest, AnOutputFollowsItsInput) {
  put(xbar, 103, 36, 1);  // TMR4's channel 0 to ADC_ETC's trigger 0
  EXPECT_EQ(get(xbar, 102, 2), 36u << 8);
  EXPECT_EQ(watches, (Log{{36, true}}));
  xbar.set_input(36, true, 5);
  xbar.set_input(36, true, 6);
  xbar.set_input(37, true, 7);
  xbar.set_input(36, false, 8);
  EXPECT_EQ(levels, (Log{{103, true}, {103, false}}));
  put(xbar, 103, 37, 1);  // which is high
  put(xbar, 103, 0, 1);
  EXPECT_EQ(watches, (Log{{36, true}, {36, false}, {37, true}, {37, false}}));
  EXPECT_EQ(levels, (Log{{103, true}, {103, false}, {103, true}, {103, false}}));
}

TEST_F(XbaraTest, EdgesRequestDmaUntilServed) {
  put(xbar, 1, 56, 1);
  put(xbar, kCtrl0, 1 << 8 | 1 << 10, 2);  // DEN1, rising
  xbar.pulse(56, 0);
  EXPECT_EQ(get(xbar, kCtrl0, 2), 1u << 8 | 1u << 10 | 1u << 12);
  xbar.dma_served(31);
  EXPECT_EQ(requests, (Log{{31, true}, {31, false}}));
  EXPECT_EQ(get(xbar, kCtrl0, 2) & 1u << 12, 0u);
}

TEST_F(XbaraTest, EdgesInterruptUntilCleared) {
  put(xbar, 2, 40, 1);
  put(xbar, kCtrl1, 2 | 2 << 2, 2);  // IEN2, falling
  xbar.set_input(40, true, 0);
  EXPECT_FALSE(host.lines[117]);
  xbar.set_input(40, false, 0);
  EXPECT_TRUE(host.lines[117]);
  put(xbar, kCtrl1, 2 | 2 << 2, 2);
  EXPECT_TRUE(host.lines[117]);
  put(xbar, kCtrl1, 2 | 2 << 2 | 0x10, 2);
  EXPECT_FALSE(host.lines[117]);
}

TEST_F(XbaraTest, WhatLeadsNowhereIsReported) {
  put(xbar, 60, 40, 1);   // an output without a model
  put(xbar, 104, 10, 1);  // a pin
  get(xbar, 0x88, 2);
  const std::vector<testing::FakeHost::Unknown> expected = {{60, true}, {104, true}, {0x88, false}};
  EXPECT_EQ(host.unknown, expected);
}

TEST_F(XbaraTest, ASnapshotKeepsLevels) {
  put(xbar, 103, 36, 1);
  xbar.set_input(36, true, 0);
  Log other_levels;
  Xbara other(host, {.watch = {},
                     .output =
                         [&](unsigned n, bool level, Cycles) {
                           other_levels.push_back({n, level});
                         },
                     .dma = {}});
  ASSERT_TRUE(copy_state(xbar, other));
  other.set_input(36, false, 0);
  EXPECT_EQ(other_levels, (Log{{103, false}}));
}

}  // namespace
}  // namespace millrace::board
