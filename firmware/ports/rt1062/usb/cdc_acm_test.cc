// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/cdc_acm.h"

#include "firmware/ports/rt1062/usb/testing/usb_fixture.h"

namespace millrace::rt1062 {
namespace {

using CdcAcmTest = UsbFixture;

// PSTN 1.2 table 17: dwDTERate, bCharFormat, bParityType, bDataBits.
TEST_F(CdcAcmTest, KeepsTheLineCoding) {
  enumerate();
  EXPECT_EQ(control_in(0xa1, 0x21, 0, 0, 7), (Bytes{0x00, 0xc2, 0x01, 0x00, 0, 0, 8}));  // 115200
  const Bytes coding = {0x80, 0x84, 0x1e, 0x00, 2, 1, 7};  // 2,000,000
  EXPECT_EQ(control_out(0x21, 0x20, 0, 0, coding), Handshake::ack);
  EXPECT_EQ(line.baud(), 2'000'000u);
  EXPECT_EQ(line.line_coding().stop_bits, 2);
  EXPECT_EQ(line.line_coding().parity, 1);
  EXPECT_EQ(line.line_coding().data_bits, 7);
  EXPECT_EQ(control_in(0xa1, 0x21, 0, 0, 7), coding);
}

TEST_F(CdcAcmTest, LineCodingOfAnotherLengthIsRefused) {
  enumerate();
  EXPECT_EQ(control_out(0x21, 0x20, 0, 0, Bytes(6)), Handshake::stall);
  EXPECT_EQ(control_out(0x21, 0x20, 0, 0, Bytes(8)), Handshake::stall);
  send_setup(0x21, 0x20, 0, 0, 7);
  EXPECT_EQ(chip.out(0, Bytes(5)), Handshake::ack);
  Bytes packet;
  EXPECT_EQ(chip.in(0, &packet), Handshake::stall);
  EXPECT_EQ(line.baud(), 115200u);
}

// Bit 0 DTR, bit 1 RTS (PSTN 1.2 table 18).
TEST_F(CdcAcmTest, LinesAndTheirFall) {
  enumerate();
  EXPECT_FALSE(line.dtr());
  EXPECT_EQ(control_out(0x21, 0x22, 3, 0), Handshake::ack);
  EXPECT_TRUE(line.dtr());
  EXPECT_TRUE(line.rts());
  EXPECT_EQ(control_out(0x21, 0x22, 1, 0), Handshake::ack);
  EXPECT_FALSE(line.rts());
  EXPECT_EQ(line.dtr_drops(), 0u);
  EXPECT_EQ(control_out(0x21, 0x22, 0, 0), Handshake::ack);
  EXPECT_EQ(line.dtr_drops(), 1u);
  EXPECT_EQ(control_out(0x21, 0x22, 1, 0), Handshake::ack);
  chip.bus_reset(true);
  EXPECT_FALSE(line.dtr());
  EXPECT_EQ(line.dtr_drops(), 2u);
}

TEST_F(CdcAcmTest, BreakIsAcceptedAndOtherRequestsAreNot) {
  enumerate();
  EXPECT_EQ(control_out(0x21, 0x23, 0xffff, 0), Handshake::ack);
  EXPECT_EQ(control_out(0x21, 0x02, 0, 0), Handshake::stall);  // SET_COMM_FEATURE
  EXPECT_EQ(control_out(0x21, 0x22, 1, 1), Handshake::stall);  // the data interface
  EXPECT_EQ(control_out(0x21, 0x22, 1, 0, Bytes(2)), Handshake::stall);
  EXPECT_FALSE(control_in(0xa1, 0x00, 0, 0, 8));  // GET_ENCAPSULATED_RESPONSE
  EXPECT_FALSE(line.dtr());
}

TEST_F(CdcAcmTest, NothingBeforeTheConfiguration) {
  device.start();
  chip.bus_reset(true);
  EXPECT_EQ(control_out(0x21, 0x22, 1, 0), Handshake::stall);
}

// Other numbers, as a second port beside the first would have.
TEST(CdcAcm, TakesTheEndpointsItIsGiven) {
  CdcAcm second(CdcAcmEndpoints{0x85, 0x06, 0x87});
  uint8_t buffer[128];
  UsbDescriptorWriter out(buffer, sizeof(buffer));
  second.describe(out, 2, true);
  ASSERT_EQ(out.size(), 66u);           // 75 less the configuration's own 9
  EXPECT_EQ(buffer[2], 2);              // first interface of the association
  EXPECT_EQ(buffer[8 + 9 + 5 + 4], 3);  // call management's data interface
  EXPECT_EQ(buffer[36 + 2], 0x85);
  EXPECT_EQ(buffer[52 + 2], 0x06);
  EXPECT_EQ(buffer[59 + 2], 0x87);
}

}  // namespace
}  // namespace millrace::rt1062
