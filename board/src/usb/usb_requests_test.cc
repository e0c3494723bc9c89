// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "usb/testing/usb_host_fixture.h"

namespace millrace::board {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;

class UsbRequestsTest : public testing::UsbHostFixture {
 protected:
  UsbRequestsTest() : requests(usb) { start(); }
  UsbRequests::Done note() {
    return [this](UrbStatus status, std::span<const uint8_t> bytes) {
      ends.push_back(status);
      last.assign(bytes.begin(), bytes.end());
    };
  }
  UsbRequests requests;
  std::vector<UrbStatus> ends;
  Bytes last;
};

TEST_F(UsbRequestsTest, GoOneAfterTheOtherWithTheirData) {
  requests.out(0x21, 0x20, 0x1234, 0x0002, {1, 2, 3}, note());
  requests.in(0x80, 6, 0x0100, 0, 255, note());
  run(5000 * kUs);
  EXPECT_THAT(ends, ElementsAre(UrbStatus::ok, UrbStatus::ok));
  EXPECT_EQ(last, device.device);  // 18 bytes of the 255
  ASSERT_EQ(device.class_requests.size(), 1u);
  EXPECT_THAT(device.class_requests[0].setup, ElementsAre(0x21, 0x20, 0x34, 0x12, 2, 0, 3, 0));
  EXPECT_THAT(device.class_requests[0].data, ElementsAre(1, 2, 3));
}

TEST_F(UsbRequestsTest, ARefusalIsTold) {
  device.on_request = [](const testing::FakeUsbDevice::Request&) { return std::nullopt; };
  requests.in(0x80, 6, 0x0100, 0, 18, note());
  run(5000 * kUs);
  EXPECT_THAT(ends, ElementsAre(UrbStatus::stall));
}

TEST_F(UsbRequestsTest, ADeviceThatOnlyAnswersNakIsLeftAfterFiveSeconds) {
  device.nak_control = true;
  requests.in(0x80, 6, 0x0100, 0, 18, note());
  run(4'990'000 * kUs);
  EXPECT_TRUE(ends.empty());
  device.nak_control = false;
  run(20'000 * kUs);
  EXPECT_THAT(ends, ElementsAre(UrbStatus::unlinked));
}

TEST_F(UsbRequestsTest, WhatIsForgottenIsNotTold) {
  requests.in(0x80, 6, 0x0100, 0, 18, note());
  requests.in(0x80, 6, 0x0100, 0, 18, note());
  requests.clear();
  run(5000 * kUs);
  EXPECT_TRUE(ends.empty());
  requests.in(0x80, 6, 0x0100, 0, 18, note());
  run(5000 * kUs);
  EXPECT_THAT(ends, ElementsAre(UrbStatus::ok));
}

TEST_F(UsbRequestsTest, AnEndMayAskForMore) {
  requests.in(0x80, 6, 0x0100, 0, 8, [this](UrbStatus, std::span<const uint8_t>) {
    requests.in(0x80, 6, 0x0100, 0, 18, note());
  });
  run(5000 * kUs);
  EXPECT_THAT(ends, ElementsAre(UrbStatus::ok));
}

}  // namespace
}  // namespace millrace::board
