// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_enumerator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "usb/testing/usb_host_fixture.h"

namespace millrace::board {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class UsbEnumeratorTest : public testing::UsbHostFixture, public UsbEnumerator::Listener {
 protected:
  void device_ready(const UsbDeviceInfo&) override { ++ready; }
  void device_gone() override { ++gone; }
  void device_failed(const std::string& text) override { problem = text; }
  void enumerate(uint64_t ms = 200) {
    usb.plug_in();
    run(ms * 1000 * kUs);
  }
  // bRequest, wValue of every request.
  std::vector<std::pair<unsigned, unsigned>> requests() const {
    std::vector<std::pair<unsigned, unsigned>> list;
    for (const auto& r : device.requests) list.push_back({r[1], r[2] + 256u * r[3]});
    return list;
  }

  UsbEnumerator enumerator{usb, *this};
  unsigned ready = 0, gone = 0;
  std::string problem;
};

TEST_F(UsbEnumeratorTest, ConfiguresADeviceInTheOrderOfAPc) {
  enumerate();
  ASSERT_EQ(ready, 1u) << problem;
  using R = std::pair<unsigned, unsigned>;
  EXPECT_THAT(requests(),
              ElementsAre(R{6, 0x100}, R{5, 1}, R{6, 0x100}, R{6, 0x600}, R{6, 0x200}, R{6, 0x200},
                          R{6, 0x300}, R{6, 0x301}, R{6, 0x302}, R{6, 0x303}, R{9, 1}));
  const UsbDeviceInfo& info = enumerator.device();
  EXPECT_EQ(info.address, 1);
  EXPECT_EQ(device.address, 1);
  EXPECT_EQ(info.speed, UsbSpeed::high);
  EXPECT_EQ(info.device.vendor, 0x16C0);
  EXPECT_EQ(info.device.product, 0x0483);
  EXPECT_EQ(info.manufacturer, "Millrace");
  EXPECT_EQ(info.product, "Fake device");
  EXPECT_EQ(info.serial, "12345");
  EXPECT_EQ(info.configuration_bytes, device.configuration);
  EXPECT_EQ(device.configured, 1u);
  EXPECT_THAT(info.findings, IsEmpty());
  EXPECT_TRUE(usb.is_open(0x82) && usb.is_open(0x03) && usb.is_open(0x84));
  EXPECT_EQ(usb.pipe(0x84).max_packet, 512);
}

TEST_F(UsbEnumeratorTest, AFullSpeedDeviceMayRefuseTheQualifier) {
  device.high_speed = false;
  device.device[7] = 8;
  enumerate();
  ASSERT_EQ(ready, 1u) << problem;
  EXPECT_EQ(enumerator.device().speed, UsbSpeed::full);
  EXPECT_THAT(enumerator.device().findings, IsEmpty());
  EXPECT_EQ(usb.pipe(0x84).max_packet, 64);
}

TEST_F(UsbEnumeratorTest, WhatIsWrongButNotFatalIsAFinding) {
  device.qualifier.clear();
  device.strings.erase(2);
  device.configuration = testing::cdc_configuration(64);
  device.on_request = [this](const testing::FakeUsbDevice::Request& r) -> std::optional<Bytes> {
    if (r.setup[1] == 6 && r.setup[3] == 6) return std::nullopt;  // the qualifier
    if (r.setup[1] == 6) return device.descriptor(r.setup[3], r.setup[2]);
    if (r.setup[1] == 5) device.address_next(r.setup[2]);
    return Bytes();
  };
  enumerate();
  ASSERT_EQ(ready, 1u) << problem;
  EXPECT_THAT(enumerator.device().findings,
              ElementsAre("GET_DESCRIPTOR(device qualifier): the device refuses it (STALL)",
                          HasSubstr("endpoint 0x03"), HasSubstr("endpoint 0x84"),
                          "GET_DESCRIPTOR(string): the device refuses it (STALL)"));
}

TEST_F(UsbEnumeratorTest, ADeviceThatNeverAnswersFailsAfterThreeResets) {
  device.dead = true;
  enumerate();
  EXPECT_EQ(problem, "GET_DESCRIPTOR(device): no answer, three times");
  EXPECT_EQ(usb.counts().resets, 3u);
  EXPECT_EQ(ready, 0u);
}

TEST_F(UsbEnumeratorTest, ADeviceThatAnswersNakForEverFailsAfterFiveSecondsAnAttempt) {
  device.nak_control = true;
  enumerate(14'000);
  EXPECT_EQ(problem, "");
  run(2'000'000 * kUs);
  EXPECT_THAT(problem, HasSubstr("not finished within 5 s"));
}

TEST_F(UsbEnumeratorTest, ADeviceThatComesBackIsConfiguredAgain) {
  enumerate();
  device.pull_up = false;
  usb.connection_changed(now());
  EXPECT_EQ(gone, 1u);
  device.pull_up = true;
  usb.connection_changed(now());
  run(200'000 * kUs);
  EXPECT_EQ(ready, 2u);
  EXPECT_EQ(enumerator.device().address, 2);
}

TEST_F(UsbEnumeratorTest, LosingTheDeviceInTheMiddleStartsAfresh) {
  // Every request of the enumeration is cut off once.
  for (size_t cut = 1; cut <= 11; ++cut) {
    device.requests.clear();
    usb.plug_in();
    const Cycles end = now() + 1'000'000 * kUs;
    while (device.requests.size() < cut && now() < end) run(kUs);
    ASSERT_EQ(device.requests.size(), cut);
    usb.unplug();
    const unsigned before = ready;
    enumerate();
    EXPECT_EQ(ready, before + 1) << cut;
    usb.unplug();
    run(1000 * kUs);
  }
}

TEST_F(UsbEnumeratorTest, HostileDescriptorsFailWithASentence) {
  device.configuration = {9, 2, 3, 0};
  enumerate();
  EXPECT_EQ(problem, "GET_DESCRIPTOR(configuration): no configuration descriptor of 9 bytes came");
  usb.unplug();
  device.configuration = testing::cdc_configuration();
  device.configuration[2] = 0xFF;
  device.configuration[3] = 0xFF;  // announces 65,535 bytes, has 75
  enumerate();
  EXPECT_EQ(ready, 1u);
  EXPECT_THAT(enumerator.device().findings,
              ElementsAre("configuration: wTotalLength is 65535, but 75 bytes came"));
  usb.unplug();
  device.device = {18, 1};
  problem.clear();
  enumerate();
  EXPECT_EQ(problem, "GET_DESCRIPTOR(device): fewer than 8 bytes came");
  usb.unplug();
  device.device = testing::device_descriptor();
  device.ignore_length = true;  // more than asked for
  problem.clear();
  enumerate();
  EXPECT_EQ(problem, "GET_DESCRIPTOR(device): more bytes came than were asked for");
}

}  // namespace
}  // namespace millrace::board
