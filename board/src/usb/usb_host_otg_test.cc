// SPDX-License-Identifier: Apache-2.0
// Both ends of the cable: the host against the chip's controller, with a firmware of a few lines
// that answers requests on endpoint 0 and echoes on endpoint 2.
#include <gtest/gtest.h>

#include "usb/cdc_acm_host.h"
#include "usb/testing/fake_usb_device.h"
#include "usb/testing/usb_otg_fixture.h"
#include "usb/usb_host.h"

namespace millrace::board {
namespace {

using testing::Bytes;

// A communications interface without notifications, data on endpoint 2.
Bytes configuration() {
  return {9, 2,    60,   0,    2, 1,    0,    0xC0, 50,     //
          9, 4,    0,    0,    0, 2,    2,    0,    0,      //
          5, 0x24, 0,    0x10, 1, 5,    0x24, 1,    0,  1,  //
          4, 0x24, 2,    2,    5, 0x24, 6,    0,    1,      //
          9, 4,    1,    0,    2, 0x0A, 0,    0,    0,      //
          7, 5,    0x02, 2,    0, 2,    0,    7,    5,  0x82, 2, 0, 2, 0};
}

Bytes device_descriptor() {
  Bytes bytes = testing::device_descriptor();
  bytes[4] = 2;  // CDC; no interface association
  bytes[5] = bytes[6] = 0;
  bytes[14] = bytes[15] = bytes[16] = 0;
  return bytes;
}

UsbHostProfile quick() {
  UsbHostProfile profile;
  profile.debounce_us = 10;
  profile.reset_us = 3000;
  profile.recovery_us = 10;
  return profile;
}

class UsbHostOtgTest : public testing::UsbOtgFixture {
 protected:
  UsbHostOtgTest() {
    otg.set_host(&usb);
    start_controller();
  }

  // Lets the firmware look once a microsecond, as if it had interrupts.
  void run_us(unsigned us) {
    for (unsigned i = 0; i < us; ++i) {
      run(kMicrosecond);
      poll();
    }
  }
  void plug() {
    usb.plug_in();
    run_us(40'000);
    ASSERT_TRUE(serial.is_ready()) << serial.problem();
    serial.open();
    run_us(500);
  }

  // The firmware.
  void poll() {
    if ((get(usb::kEndptSetupStat) & 1) != 0) request();
    if (is_echoing && (get(usb::kEndptComplete) & mask(4)) != 0) echo();
  }
  void request() {
    std::array<uint8_t, 8> setup{};
    for (unsigned i = 0; i < 8; ++i) setup[i] = host.memory[kList - testing::kMemory + 0x28 + i];
    put(usb::kEndptSetupStat, 1);
    const unsigned length = setup[6] + 256u * setup[7];
    if (setup[0] == 0x80 && setup[1] == 6) {
      Bytes answer;
      if (setup[3] == 1) answer = device_descriptor();
      if (setup[3] == 2) answer = configuration();
      if (setup[3] == 6) answer = {10, 6, 0, 2, 2, 0, 0, 64, 1, 0};
      if (answer.empty()) return put(usb::kEndptCtrl0, 0x10001);  // stall
      answer.resize(std::min<size_t>(answer.size(), length));
      std::copy(answer.begin(), answer.end(), &host.memory[kData - testing::kMemory]);
      td(0, static_cast<uint32_t>(answer.size()));
      prime(1, 0);
      td(1, 0);
      return prime(0, 1);
    }
    if (setup[1] == 5) put(usb::kDeviceAddr, uint32_t{setup[2]} << 25 | 1u << 24);
    if (setup[0] == 0 && setup[1] == 9) configure_bulk();
    if (setup[0] == 0x21 && length != 0) {
      td(2, length, kData + 0x1000);
      prime(0, 2);
    }
    if (setup[0] == 0x21) requests.push_back(setup[1]);
    td(3, 0);
    prime(1, 3);
  }
  void listen() {
    is_echoing = true;
    td(4, 4096, kData + 0x2000);
    prime(4, 4);
  }
  void echo() {
    put(usb::kEndptComplete, mask(4));
    const uint32_t left = word(td_at(4) + 4) >> 16 & 0x7FFF;
    std::copy_n(&host.memory[kData + 0x2000 - testing::kMemory], 4096 - left,
                &host.memory[kData + 0x4000 - testing::kMemory]);
    td(5, 4096 - left, kData + 0x4000);
    prime(5, 5);
    listen();
  }

  UsbHost usb{host.queue, clocks, otg, quick()};
  CdcAcmHost serial{usb};
  std::vector<unsigned> requests;
  bool is_echoing = false;
};

TEST_F(UsbHostOtgTest, EnumeratesAndConfiguresThroughTheController) {
  plug();
  EXPECT_TRUE(serial.device().findings.empty()) << serial.device().findings[0];
  EXPECT_EQ(serial.device().speed, UsbSpeed::high);
  EXPECT_EQ(serial.device().configuration_bytes, configuration());
  EXPECT_EQ(get(usb::kDeviceAddr) >> 25, 1u);
  EXPECT_EQ(requests, (std::vector<unsigned>{0x20, 0x22}));
  EXPECT_EQ(usb.counts().timeouts, 0u);
}

TEST_F(UsbHostOtgTest, EchoesBytes) {
  plug();
  listen();
  Bytes bytes(1300);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 13);
  EXPECT_EQ(serial.write(bytes), bytes.size());
  run_us(1000);
  Bytes got(2000);
  got.resize(serial.read(got));
  EXPECT_EQ(got, bytes);
}

TEST_F(UsbHostOtgTest, ALinkedListOfDescriptorsFillsTheBus) {
  plug();
  // Four descriptors of 16 KB are 128 packets, 12 + 8 * 13 + 12 of them a microframe. No NAK
  // between descriptors: a fetch is shorter than the gap between packets.
  for (unsigned i = 0; i < 4; ++i) {
    td(8 + i, 16384, kData, i < 3 ? td_at(9 + i) : kEnd, 0);
  }
  run(75000 - static_cast<Cycles>(usb.ns() % 125'000 * 6 / 10));
  const uint64_t before = usb.counts().packets_in;
  run(1000);  // SOF is over
  prime(5, 8);
  run(75000 - 1000 - 1);
  EXPECT_EQ(usb.counts().packets_in - before, 12u);  // 100 bytes late
  const uint64_t naks = usb.counts().naks;
  run(8 * 75000);
  EXPECT_EQ(usb.counts().packets_in - before, 12u + 8 * 13);
  EXPECT_EQ(usb.counts().naks, naks);
  run(75000);
  EXPECT_EQ(usb.counts().packets_in - before, 128u);
}

TEST_F(UsbHostOtgTest, AControllerThatStopsIsADisconnection) {
  plug();
  put(usb::kUsbCmd, 0);
  run_us(10);
  EXPECT_FALSE(serial.is_ready());
  EXPECT_EQ(usb.port_state(), UsbPortState::waiting);
  put(usb::kUsbCmd, usb::kRs);
  run_us(50'000);
  EXPECT_TRUE(serial.is_ready()) << serial.problem();
}

TEST_F(UsbHostOtgTest, AFullSpeedHostGetsAFullSpeedDevice) {
  usb.set_offered_speed(UsbSpeed::full);
  usb.plug_in();
  run_us(40'000);
  EXPECT_EQ(usb.speed(), UsbSpeed::full);
  EXPECT_EQ(serial.device().speed, UsbSpeed::full);
  // The firmware of this test has descriptors for high speed only.
  ASSERT_FALSE(serial.device().findings.empty());
  EXPECT_NE(serial.device().findings[0].find("for bulk at full speed"), std::string::npos);
}

}  // namespace
}  // namespace millrace::board
