// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_phy.h"

#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

class UsbPhyTest : public testing::DeviceFixture {
 protected:
  UsbPhy phy1{host, 1};
  UsbPhy phy2{host, 2};
  UsbNc nc{host, phy1, phy2};
};

// IMXRT1060RM 43.4.
TEST_F(UsbPhyTest, ResetValuesAndAliases) {
  EXPECT_EQ(UsbPhy::base(1), 0x400D9000u);
  EXPECT_EQ(UsbPhy::base(2), 0x400DA000u);
  EXPECT_EQ(get(phy1, 0x00), 0x001E1C00u);
  EXPECT_EQ(get(phy1, 0x10), 0x10060607u);
  EXPECT_EQ(get(phy1, 0x30), 0xC0200000u);
  EXPECT_EQ(get(phy1, 0x50), 0x7F180000u);
  EXPECT_EQ(get(phy1, 0x80), 0x04030000u);
  put(phy1, 0x04, 0xFFFFFFFF);
  EXPECT_EQ(get(phy1, 0x00), 0x001E1C00u);  // the bits that exist
  put(phy1, 0x08, 0x00001C00);
  EXPECT_EQ(get(phy1, 0x00), 0x001E0000u);
  put(phy1, 0x0C, 0x00000400);
  EXPECT_EQ(get(phy1, 0x00), 0x001E0400u);
  get(phy1, 0x90);
  EXPECT_EQ(host.unknown.size(), 1u);
}

// 43.4 CTRL.SFTRST resets PWD, TX, RX and CTRL; DEBUG stays.
TEST_F(UsbPhyTest, SoftReset) {
  put(phy1, 0x38, 0xC0000000);
  put(phy1, 0x00, 0);
  put(phy1, 0x10, 0);
  put(phy1, 0x50, 0);
  EXPECT_TRUE(phy1.active());
  EXPECT_FALSE(phy2.active());
  put(phy1, 0x34, 0x80000000);
  EXPECT_FALSE(phy1.active());
  EXPECT_FALSE(phy1.out_of_reset());
  EXPECT_EQ(get(phy1, 0x00), 0x001E1C00u);
  EXPECT_EQ(get(phy1, 0x10), 0x10060607u);
  EXPECT_EQ(get(phy1, 0x30), 0xC0200000u);
  EXPECT_EQ(get(phy1, 0x50), 0u);
  put(phy1, 0x38, 0x80000000);
  EXPECT_TRUE(phy1.out_of_reset());
  EXPECT_FALSE(phy1.active());  // the clock is still off
}

TEST_F(UsbPhyTest, ChangesAreTold) {
  int told = 0;
  phy1.on_change([&told](Cycles) { ++told; });
  put(phy1, 0x38, 0xC0000000);
  EXPECT_EQ(told, 1);
}

// 42.6: UTMI_CLK_VLD follows the transceiver's clock.
TEST_F(UsbPhyTest, UsbNcShowsAValidClock) {
  EXPECT_EQ(get(nc, 0x00), 0x30001000u);
  EXPECT_EQ(get(nc, 0x18), 0u);
  put(phy1, 0x38, 0xC0000000);
  put(phy1, 0x00, 0);
  EXPECT_EQ(get(nc, 0x18), 0x80000000u);
  EXPECT_EQ(get(nc, 0x1C), 0u);
  put(nc, 0x00, 0x00000200);  // PWR_POL
  EXPECT_EQ(get(nc, 0x00), 0x10001200u);
  EXPECT_TRUE(host.unknown.empty());
}

TEST_F(UsbPhyTest, Snapshot) {
  put(phy1, 0x38, 0xC0000000);
  ASSERT_TRUE(copy_state(phy1, phy2));
  EXPECT_EQ(get(phy2, 0x30), 0x00200000u);
}

}  // namespace
}  // namespace millrace::board
