// SPDX-License-Identifier: Apache-2.0
// Control and isochronous endpoints (IMXRT1060RM 42.5.6.4, 42.5.6.5) and the device address.
#include <numeric>

#include "usb/testing/usb_otg_fixture.h"
#include "usb/usb_endpoints.h"

namespace millrace::board {
namespace {

constexpr std::array<uint8_t, 8> kDeviceDescriptor = {0x80, 6, 0, 1, 0, 0, 18, 0};

class UsbControl : public testing::UsbOtgFixture {
 protected:
  void SetUp() override { start(); }
  void acknowledge_setup() {
    put(usb::kEndptSetupStat, get(usb::kEndptSetupStat));
    put(usb::kUsbSts, usb::kUi);
  }
};

// 42.5.6.4.2: the eight bytes go to the queue head; ENDPTSETUPSTAT, and UI with dQH.IOS.
TEST_F(UsbControl, SetupIsStoredInTheQueueHead) {
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::ack);
  EXPECT_EQ(word(kList + 0x28), 0x01000680u);
  EXPECT_EQ(word(kList + 0x2C), 0x00120000u);
  EXPECT_EQ(get(usb::kEndptSetupStat), 1u);
  EXPECT_NE(get(usb::kUsbSts) & usb::kUi, 0u);
  EXPECT_EQ(get(usb::kEndptComplete), 0u);
  acknowledge_setup();
  EXPECT_EQ(get(usb::kEndptSetupStat), 0u);
}

// 42.5.5.1 dQH.IOS 0: no interrupt on SETUP.
TEST_F(UsbControl, SetupWithoutIosIsSilent) {
  queue_head(0, 64, 0);
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::ack);
  EXPECT_EQ(get(usb::kEndptSetupStat), 1u);
  EXPECT_EQ(get(usb::kUsbSts) & usb::kUi, 0u);
}

// A control read as the Teensy core does it: data and status primed together, data without IOC.
TEST_F(UsbControl, ReadHasDataInAndStatusOut) {
  setup(kDeviceDescriptor);
  acknowledge_setup();
  std::iota(host.memory.begin() + 0x2000, host.memory.begin() + 0x2012, uint8_t{1});
  td(0, 18, kData, kEnd, 0);
  td(1, 0);
  queue(1, 0);
  queue(0, 1);
  EXPECT_EQ(in(0), Handshake::ack);
  EXPECT_EQ(packet.size, 18);
  EXPECT_TRUE(packet.data1);  // USB 2.0 8.5.3
  EXPECT_EQ(packet.bytes[17], 18);
  EXPECT_EQ(in(0), Handshake::nak);
  EXPECT_EQ(out(0, true, 0), Handshake::nyet);  // nothing more is primed
  EXPECT_EQ(get(usb::kEndptComplete), 1u);
  EXPECT_NE(get(usb::kUsbSts) & usb::kUi, 0u);
}

// USB 2.0 8.5.3: the data stage begins with DATA1 and alternates.
TEST_F(UsbControl, LongReadAlternatesTheToggleAndEndsShort) {
  setup(kDeviceDescriptor);
  acknowledge_setup();
  td(0, 128);
  queue(1, 0);
  const bool expected[] = {true, false, true};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(in(0), Handshake::ack);
    EXPECT_EQ(packet.data1, expected[i]) << i;
    EXPECT_EQ(packet.size, i < 2 ? 64 : 0) << i;
  }
}

// The next SETUP clears the stall, and it stays cleared until ENDPTSETUPSTAT is (42.7 ENDPTCTRL).
TEST_F(UsbControl, StallEndsWithTheNextSetup) {
  setup(kDeviceDescriptor);
  acknowledge_setup();
  put(usb::kEndptCtrl0, 0x00010001);
  EXPECT_EQ(get(usb::kEndptCtrl0), 0x00810081u);
  EXPECT_EQ(in(0), Handshake::stall);
  EXPECT_EQ(out(0, true, 0), Handshake::stall);
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::ack);
  EXPECT_EQ(get(usb::kEndptCtrl0), 0x00800080u);
  put(usb::kEndptCtrl0, 0x00010001);
  EXPECT_EQ(get(usb::kEndptCtrl0), 0x00800080u);
  EXPECT_EQ(in(0), Handshake::nak);
}

// "Should a setup arrive after the data stage is primed, the device controller will automatically
// clear the prime status."
TEST_F(UsbControl, SetupClearsWhatWasPrimed) {
  setup(kDeviceDescriptor);
  acknowledge_setup();
  td(0, 18);
  td(1, 0);
  queue(1, 0);
  prime(0, 1);
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::ack);
  EXPECT_EQ(get(usb::kEndptStat), 0u);
  // The prime that was under way fails, even if the SETUP was acknowledged meanwhile.
  EXPECT_EQ(get(usb::kEndptPrime), 1u);
  acknowledge_setup();
  run(timing.usb_prime_cycles);
  EXPECT_EQ(get(usb::kEndptPrime) | get(usb::kEndptStat), 0u);
  EXPECT_EQ(in(0), Handshake::nak);
}

// 42.7 ENDPTSETUPSTAT: no prime of a control endpoint until it is cleared.
TEST_F(UsbControl, PrimeFailsWhileTheSetupWaits) {
  setup(kDeviceDescriptor);
  td(0, 18);
  prime(1, 0);
  EXPECT_EQ(get(usb::kEndptPrime), mask(1));
  run(timing.usb_prime_cycles);
  EXPECT_EQ(get(usb::kEndptPrime) | get(usb::kEndptStat), 0u);
  // Other endpoints are not concerned.
  configure_bulk();
  queue(5, 0);
}

// 42.5.6.4.2.2: the tripwire tells that a SETUP came while the buffer was read.
TEST_F(UsbControl, SetupTripwireIsClearedByASetup) {
  setup(kDeviceDescriptor);
  put(usb::kUsbCmd, get(usb::kUsbCmd) | usb::kSutw);
  EXPECT_NE(get(usb::kUsbCmd) & usb::kSutw, 0u);
  setup(kDeviceDescriptor);
  EXPECT_EQ(get(usb::kUsbCmd) & usb::kSutw, 0u);
  EXPECT_NE(get(usb::kUsbCmd) & usb::kRs, 0u);
}

// 42.7 USBMODE.SLOM 0: a SETUP is ignored until the one before was acknowledged.
TEST_F(UsbControl, LockoutIgnoresASecondSetup) {
  put(usb::kUsbMode, usb::kCmDevice);
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::ack);
  EXPECT_EQ(setup({1, 2, 3, 4, 5, 6, 7, 8}), Handshake::timeout);
  EXPECT_EQ(word(kList + 0x28), 0x01000680u);
  acknowledge_setup();
  EXPECT_EQ(setup({1, 2, 3, 4, 5, 6, 7, 8}), Handshake::ack);
}

// 42.7 DEVICEADDR.USBADRA: the address is taken when the status stage is acknowledged.
TEST_F(UsbControl, AddressAdvancesWithTheAcknowledgedIn) {
  setup({0, 5, 9, 0, 0, 0, 0, 0});
  acknowledge_setup();
  td(0, 0);
  queue(1, 0);
  put(usb::kDeviceAddr, 9u << 25 | usb::kUsbAdra);
  EXPECT_EQ(in(0, false), Handshake::ack);  // the acknowledgement is lost
  EXPECT_EQ(get(usb::kDeviceAddr), usb::kUsbAdra);
  EXPECT_EQ(in(0), Handshake::ack);
  EXPECT_EQ(get(usb::kDeviceAddr), 9u << 25);
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::timeout);
  address = 9;
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::ack);
}

// 42.7 DEVICEADDR.USBADRA: cleared by a SETUP before the IN is acknowledged.
TEST_F(UsbControl, StagedAddressIsDroppedByASetup) {
  put(usb::kDeviceAddr, 9u << 25 | usb::kUsbAdra);
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::ack);
  EXPECT_EQ(get(usb::kDeviceAddr), 0u);
  put(usb::kDeviceAddr, 9u << 25);  // without USBADRA: at once
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::timeout);
}

// 42.7 USBSTS.SEI: a system error.
TEST_F(UsbControl, QueueHeadsWithoutMemoryAreASystemError) {
  put(usb::kEndptListAddr, 0x60000000);
  EXPECT_EQ(setup(kDeviceDescriptor), Handshake::timeout);
  EXPECT_EQ(get(usb::kEndptSetupStat), 0u);
  EXPECT_NE(get(usb::kUsbSts) & usb::kSei, 0u);
}

class UsbIsochronous : public UsbControl {
 protected:
  void SetUp() override {
    start();
    queue_head(4, 1024, 2u << 30);
    queue_head(5, 1024, 2u << 30);
    put(usb::kEndptCtrl0 + 8, 0x00C400C4);
  }
  void frame() { otg.start_of_frame(frame_ += 1, now()); }
  uint32_t frame_ = 0;
};

// Response matrix 42.5.6.5.2: a NULL packet if not primed; OUT and PING are ignored.
TEST_F(UsbIsochronous, UnprimedEndpointSendsANullPacket) {
  frame();
  otg.in(0, 2, &packet, now());
  EXPECT_EQ(packet.handshake, Handshake::ack);
  EXPECT_EQ(packet.size, 0);
  EXPECT_EQ(out(2, false, 10), Handshake::timeout);
  EXPECT_EQ(otg.ping(0, 2, now()), Handshake::timeout);
  EXPECT_EQ(setup({}, 2), Handshake::stall);
}

// 42.5.6.5: primed in frame N - 1, sent in frame N; MULT packets, DATA1 then DATA0.
TEST_F(UsbIsochronous, DescriptorIsSentInTheNextFrame) {
  frame();
  td(0, 1500);
  queue(5, 0);
  EXPECT_EQ(in(2), Handshake::ack);
  EXPECT_EQ(packet.size, 0);
  frame();
  EXPECT_EQ(in(2), Handshake::ack);
  EXPECT_EQ(packet.size, 1024);
  EXPECT_TRUE(packet.data1);
  EXPECT_EQ(in(2), Handshake::ack);
  EXPECT_EQ(packet.size, 476);
  EXPECT_FALSE(packet.data1);
  EXPECT_EQ(word(td_at(0) + 4), kIoc);
}

// 42.5.6.5, 42.5.6.7.6: fulfillment error, transaction error bit of the token.
TEST_F(UsbIsochronous, UnfinishedFrameIsAFulfillmentError) {
  td(0, 1500);
  queue(5, 0);
  frame();
  EXPECT_EQ(in(2), Handshake::ack);
  frame();
  EXPECT_EQ(word(td_at(0) + 4), 476u << 16 | kIoc | usb::kTokenTransactionError);
  EXPECT_NE(get(usb::kUsbSts) & usb::kUei, 0u);
}

// 42.5.5.1 dQH.MULT, 42.5.6.5: OUT packets of one microframe.
TEST_F(UsbIsochronous, ReceivesMultPackets) {
  td(0, 3000);
  queue(4, 0);
  frame();
  EXPECT_EQ(out(2, true, 1024), Handshake::ack);
  EXPECT_EQ(out(2, false, 1024), Handshake::ack);
  EXPECT_EQ(word(td_at(0) + 4), (3000u - 2048) << 16 | kIoc);
}

// 42.5.6.6.5 with 42.5.6.5: ENDPTFLUSH of an isochronous endpoint.
TEST_F(UsbIsochronous, FlushIsDoneAtTheFrameIfTheHostForgetsToAnswer) {
  td(0, 1500);
  queue(5, 0);
  frame();
  otg.in(0, 2, &packet, now());
  put(usb::kEndptFlush, mask(5));
  frame();
  EXPECT_EQ(get(usb::kEndptFlush) | get(usb::kEndptStat), 0u);
}

}  // namespace
}  // namespace millrace::board
