// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/usb_device.h"

#include "firmware/ports/rt1062/usb/testing/usb_fixture.h"

namespace millrace::rt1062 {
namespace {

using UsbDeviceTest = UsbFixture;

// IMXRT1060RM 42.7: device mode with the setup tripwire, no interrupt threshold.
TEST_F(UsbDeviceTest, StartsAsADevice) {
  device.start();
  EXPECT_EQ(chip.reg(UsbRegister::usbmode), 0xau);
  EXPECT_EQ(chip.reg(UsbRegister::usbcmd), 1u);
  EXPECT_EQ(chip.reg(UsbRegister::endptlistaddr) % 2048, 0u);
  // Maximum packet 64, zero-length termination off; OUT interrupts on SETUP.
  EXPECT_EQ(device.head(0x00).capabilities, 64u << 16 | 1u << 29 | 1u << 15);
  EXPECT_EQ(device.head(0x80).capabilities, 64u << 16 | 1u << 29);
  EXPECT_FALSE(device.session().open);
}

TEST_F(UsbDeviceTest, AddressTakesEffectWithTheStatusStage) {
  device.start();
  chip.bus_reset(true);
  send_setup(0x00, 5, 42, 0, 0);
  EXPECT_EQ(chip.new_address, 0u);
  Bytes packet;
  EXPECT_EQ(chip.in(0, &packet), Handshake::ack);
  EXPECT_TRUE(packet.empty());
  EXPECT_EQ(chip.new_address, 42u);
  EXPECT_EQ(control_out(0x00, 5, 128, 0), Handshake::stall);
  EXPECT_EQ(chip.new_address, 42u);
}

// ENDPTCTRLn, 42.7: enable bit 7, toggle reset 6, type 3:2; transmit 16 bits above. The unused
// direction has the type of the other, but is not enabled.
TEST_F(UsbDeviceTest, ConfigurationOpensTheEndpoints) {
  enumerate();
  EXPECT_EQ(chip.reg(endpoint_control(2)), 0x00cc000cu);
  EXPECT_EQ(chip.reg(endpoint_control(3)), 0x000800c8u);
  EXPECT_EQ(chip.reg(endpoint_control(4)), 0x00c80008u);
  EXPECT_EQ(device.head(0x84).capabilities, 512u << 16 | 1u << 29);
  EXPECT_EQ(device.head(0x03).capabilities, 512u << 16 | 1u << 29);
  EXPECT_EQ(control_in(0x80, 8, 0, 0, 1), Bytes{1});
  EXPECT_EQ(device.events().configurations, 1u);
  EXPECT_EQ(control_out(0x00, 9, 2, 0), Handshake::stall);
  EXPECT_TRUE(device.session().open);
}

TEST_F(UsbDeviceTest, FullSpeedHasSmallPackets) {
  enumerate(false);
  EXPECT_FALSE(device.high_speed());
  EXPECT_EQ(device.head(0x84).capabilities, 64u << 16 | 1u << 29);
  EXPECT_EQ(port.info().usb_speed_mbit, 12u);
}

TEST_F(UsbDeviceTest, ConfigurationZeroClosesThem) {
  enumerate();
  const uint32_t number = device.session().number;
  EXPECT_EQ(control_out(0x00, 9, 0, 0), Handshake::ack);
  EXPECT_FALSE(device.session().open);
  EXPECT_NE(device.session().number, number);
  EXPECT_EQ(control_in(0x80, 8, 0, 0, 1), Bytes{0});
  EXPECT_EQ(chip.reg(endpoint_control(4)), 0u);
  EXPECT_EQ(chip.out(3, pattern(5)), Handshake::timeout);
}

TEST_F(UsbDeviceTest, ResetEndsTheSession) {
  enumerate();
  EXPECT_EQ(chip.out(3, pattern(5)), Handshake::ack);
  const uint32_t number = device.session().number;
  chip.bus_reset(true);
  EXPECT_FALSE(device.session().open);
  EXPECT_NE(device.session().number, number);
  EXPECT_EQ(chip.address(), 0u);
  EXPECT_EQ(device.events().resets, 2u);
  EXPECT_EQ(chip.out(3, pattern(5)), Handshake::timeout);
}

TEST_F(UsbDeviceTest, SuspendKeepsTheSessionUnlessTheCableIsPulled) {
  enumerate();
  chip.suspend(true);
  EXPECT_TRUE(device.session().open);
  EXPECT_EQ(device.events().detaches, 0u);
  chip.suspend(false);
  EXPECT_FALSE(device.session().open);
  EXPECT_EQ(device.events().detaches, 1u);
}

// USB 2.0 9.3.5: no more than wLength.
TEST_F(UsbDeviceTest, SendsNoMoreThanAskedFor) {
  enumerate();
  EXPECT_EQ(control_in(0x80, 6, 0x0100, 0, 8), (Bytes{18, 1, 0x00, 0x02, 0xef, 2, 1, 64}));
  EXPECT_EQ(control_in(0x80, 6, 0x0200, 0, 9)->size(), 9u);
  EXPECT_EQ(control_in(0x80, 6, 0x0200, 0, 64)->size(), 64u);
  EXPECT_EQ(control_in(0x80, 6, 0x0200, 0, 255)->size(), 75u);
}

TEST_F(UsbDeviceTest, StatusAndFeatures) {
  enumerate();
  EXPECT_EQ(control_in(0x80, 0, 0, 0, 2), (Bytes{1, 0}));  // as bmAttributes says: self-powered
  EXPECT_EQ(control_in(0x81, 0, 0, 1, 2), (Bytes{0, 0}));
  EXPECT_EQ(control_in(0x81, 10, 0, 1, 1), Bytes{0});
  EXPECT_EQ(control_in(0x82, 0, 0, 0x84, 2), (Bytes{0, 0}));
  EXPECT_EQ(control_out(0x02, 3, 0, 0x84), Handshake::ack);
  EXPECT_EQ(control_in(0x82, 0, 0, 0x84, 2), (Bytes{1, 0}));
  EXPECT_EQ(control_in(0x82, 0, 0, 0x03, 2), (Bytes{0, 0}));
  Bytes packet;
  EXPECT_EQ(chip.in(4, &packet), Handshake::stall);
  chip.reg(endpoint_control(4)) &= ~(ENDPTCTRL_TOGGLE_RESET << ENDPTCTRL_TX_SHIFT);
  EXPECT_EQ(control_out(0x02, 1, 0, 0x84), Handshake::ack);
  // Not halted any more, and the toggle starts anew.
  EXPECT_EQ(chip.reg(endpoint_control(4)) >> 16, 0xc8u);
  EXPECT_EQ(control_out(0x02, 1, 0, 0x00), Handshake::ack);
}

TEST_F(UsbDeviceTest, RequestsItDoesNotKnowAreStalled) {
  enumerate();
  EXPECT_EQ(control_out(0x00, 3, 1, 0), Handshake::stall);       // remote wakeup
  EXPECT_EQ(control_out(0x00, 3, 2, 0x0100), Handshake::stall);  // test mode
  EXPECT_EQ(control_out(0x01, 11, 1, 0), Handshake::stall);      // alternate setting 1
  EXPECT_EQ(control_out(0x01, 11, 0, 2), Handshake::stall);      // no such interface
  EXPECT_FALSE(control_in(0x81, 10, 0, 2, 1));
  EXPECT_EQ(control_out(0x02, 3, 0, 0x85), Handshake::stall);  // no such endpoint
  EXPECT_EQ(control_out(0x02, 3, 1, 0x84), Handshake::stall);  // no such feature
  EXPECT_EQ(control_out(0x02, 3, 0, 0x00), Handshake::stall);
  EXPECT_FALSE(control_in(0x82, 12, 0, 0x84, 2));  // SYNCH_FRAME
  EXPECT_FALSE(control_in(0xc0, 1, 0, 0, 8));      // vendor
  EXPECT_EQ(control_out(0x00, 7, 0x0100, 0, Bytes(18)), Handshake::stall);
  EXPECT_FALSE(control_in(0x83, 0, 0, 0, 2));  // recipient "other"
  EXPECT_EQ(device.events().stalls, 12u);
  // And it goes on.
  EXPECT_EQ(control_in(0x80, 8, 0, 0, 1), Bytes{1});
}

TEST_F(UsbDeviceTest, SetInterfaceResetsTheToggles) {
  enumerate();
  for (const uint32_t endpoint : {2u, 3u, 4u}) {
    chip.reg(endpoint_control(endpoint)) &= ~0x00400040u;
  }
  EXPECT_EQ(control_out(0x01, 11, 0, 1), Handshake::ack);
  EXPECT_EQ(chip.reg(endpoint_control(2)), 0x008c000cu);  // of the other interface
  EXPECT_EQ(chip.reg(endpoint_control(3)), 0x000800c8u);
  EXPECT_EQ(chip.reg(endpoint_control(4)), 0x00c80008u);
}

// 42.5.6.4.2: while the bytes are read a second SETUP comes over them.
TEST_F(UsbDeviceTest, SetupOverSetupIsReadAgain) {
  enumerate();
  bool second_sent = false;
  chip.before_access = [&] {
    // The first read of USBCMD's tripwire is behind the read of the bytes.
    if (second_sent || (chip.reg(UsbRegister::usbcmd) & USBCMD_SUTW) == 0) return;
    second_sent = true;
    const std::array<uint8_t, 8> get_configuration = {0x80, 8, 0, 0, 0, 0, 1, 0};
    chip.setup(get_configuration);
  };
  send_setup(0xc0, 1, 0, 0, 8);
  chip.before_access = nullptr;
  EXPECT_TRUE(second_sent);
  EXPECT_EQ(device.events().stalls, 0u);  // the first is not answered at all
  Bytes packet;
  EXPECT_EQ(chip.in(0, &packet), Handshake::ack);
  EXPECT_EQ(packet, Bytes{1});
}

// At every register access of the driver at which a new SETUP may come, the new one is answered.
TEST_F(UsbDeviceTest, SetupAtAnyMomentIsAnswered) {
  enumerate();
  for (uint32_t moment = 0; moment < 60; ++moment) {
    uint32_t left = moment;
    bool sent = false;
    chip.before_access = [&] {
      if (sent || left-- > 0) return;
      sent = true;
      const std::array<uint8_t, 8> get_status = {0x80, 0, 0, 0, 0, 0, 2, 0};
      chip.setup(get_status);
    };
    send_setup(0x80, 6, 0x0200, 0, 255);
    chip.before_access = nullptr;
    if (!sent) {
      EXPECT_GT(moment, 10u);
      break;
    }
    Bytes packet;
    EXPECT_EQ(chip.in(0, &packet), Handshake::ack) << moment;
    EXPECT_EQ(packet, (Bytes{1, 0})) << moment;
    EXPECT_EQ(chip.out(0, {}), Handshake::ack) << moment;
  }
}

// A function that answers what the test wants.
struct TestFunction final : UsbFunction {
  uint8_t interface_count() const override { return 1; }
  void describe(UsbDescriptorWriter& out, uint8_t first_interface, bool) override {
    out.interface(first_interface, 0, 0xff, 0, 0);
    for (int i = 0; i < padding; ++i) out.byte(0);
  }
  void configured(UsbDevice&, uint8_t first_interface, bool) override { first = first_interface; }
  void closed() override { ++closes; }
  UsbReply on_request(const UsbSetup& setup, uint8_t) override {
    if (setup.request == 2) return {UsbReply::Kind::receive, nullptr, 0};
    if (setup.request == 3) return {UsbReply::Kind::accept, nullptr, 0};
    return {UsbReply::Kind::send, data.data(), static_cast<uint16_t>(data.size())};
  }
  bool on_data(const UsbSetup&, uint8_t, const uint8_t* from, size_t size) override {
    received.assign(from, from + size);
    return accepts;
  }

  Bytes data;
  Bytes received;
  bool accepts = true;
  int padding = 0;
  uint8_t first = 0;
  int closes = 0;
};

class UsbFunctionTest : public UsbFixture {
 protected:
  UsbFunctionTest() { EXPECT_TRUE(device.add(function)); }
  TestFunction function;
};

TEST_F(UsbFunctionTest, StandsBehindTheOthers) {
  enumerate();
  EXPECT_EQ(function.first, 2);
  const Bytes configuration = descriptor(0x0200);
  ASSERT_EQ(configuration.size(), 75u + 9u);
  EXPECT_EQ(configuration[2], 84);
  EXPECT_EQ(configuration[4], 3);
  EXPECT_EQ(configuration[77], 2);  // interface number of the ninth descriptor
  EXPECT_EQ(control_out(0x00, 9, 0, 0), Handshake::ack);
  EXPECT_EQ(function.closes, 1);
}

TEST_F(UsbFunctionTest, FullPacketsThatAreLessThanAskedForEndEmpty) {
  enumerate();
  for (const size_t size : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 192u, 512u}) {
    function.data = pattern(size);
    EXPECT_EQ(control_in(0xc1, 1, 0, 2, 600), function.data) << size;
    // Exactly what was asked for needs no end.
    if (size == 0) continue;
    EXPECT_EQ(control_in(0xc1, 1, 0, 2, static_cast<uint16_t>(size)), function.data) << size;
    Bytes packet;
    EXPECT_EQ(chip.in(0, &packet), Handshake::nak) << size;
  }
  function.data = pattern(513);
  EXPECT_FALSE(control_in(0xc1, 1, 0, 2, 600));
}

TEST_F(UsbFunctionTest, ReceivesData) {
  enumerate();
  for (const size_t size : {1u, 63u, 64u}) {
    EXPECT_EQ(control_out(0x41, 2, 0, 2, pattern(size)), Handshake::ack);
    EXPECT_EQ(function.received, pattern(size));
  }
  EXPECT_EQ(control_out(0x41, 2, 0, 2, pattern(65)), Handshake::stall);
  function.accepts = false;
  EXPECT_EQ(control_out(0x41, 2, 0, 2, pattern(5)), Handshake::stall);
  EXPECT_EQ(control_in(0x80, 8, 0, 0, 1), Bytes{1});
}

// The host sends less than it said: the function sees how much it was.
TEST_F(UsbFunctionTest, ShortDataStage) {
  enumerate();
  send_setup(0x41, 2, 0, 2, 20);
  EXPECT_EQ(chip.out(0, pattern(3)), Handshake::ack);
  EXPECT_EQ(function.received, pattern(3));
}

TEST_F(UsbFunctionTest, RepliesThatDoNotFitTheRequestAreStalled) {
  enumerate();
  EXPECT_FALSE(control_in(0xc1, 2, 0, 2, 8));                         // wants to receive
  EXPECT_FALSE(control_in(0xc1, 3, 0, 2, 8));                         // has nothing to send
  EXPECT_EQ(control_out(0x41, 3, 0, 2, Bytes(4)), Handshake::stall);  // wants no data
  EXPECT_EQ(control_out(0x41, 2, 0, 2), Handshake::stall);            // gets none
  EXPECT_EQ(control_out(0x41, 3, 0, 2), Handshake::ack);
}

TEST_F(UsbFunctionTest, TooManyDescriptorsAreRefused) {
  function.padding = 512 - 84;
  enumerate();
  EXPECT_EQ(descriptor(0x0200).size(), 512u);
  ++function.padding;
  EXPECT_FALSE(control_in(0x80, 6, 0x0200, 0, 1024));
}

TEST_F(UsbFunctionTest, AtMostFour) {
  TestFunction more[3];
  EXPECT_TRUE(device.add(more[0]));
  EXPECT_TRUE(device.add(more[1]));
  EXPECT_FALSE(device.add(more[2]));
}

}  // namespace
}  // namespace millrace::rt1062
