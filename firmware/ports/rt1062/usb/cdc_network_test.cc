// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/cdc_network.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "firmware/ports/rt1062/usb/testing/network_rig.h"
#include "millrace/link/bytes.h"

namespace millrace::rt1062 {
namespace {

class CdcNetworkTest : public testing::Test, protected NetworkRig {
 protected:
  CdcNetworkTest() { EXPECT_TRUE(added); }
  ~CdcNetworkTest() override { EXPECT_EQ(chip.bus_errors, 0u); }
  void configure(bool high_speed = true) { ASSERT_TRUE(enumerate(high_speed)); }
};

// The function's descriptors, field by field from NCM 1.0 chapter 5 and ECM 1.2 chapter 5:
// 8 + 9 + 5 + 5 + 13 + 6 + 7 + 9 + 9 + 7 + 7 = 85 bytes.
NetworkRig::Bytes ncm_function(uint8_t low, uint8_t high, uint8_t interval) {
  return {8,  11,   0,    2,    2,    13,   0,        0,     // association
          9,  4,    0,    0,    1,    2,    13,       0, 0,  // communication interface
          5,  0x24, 0,    0x10, 0x01,                        // header
          5,  0x24, 6,    0,    1,                           // union
          13, 0x24, 0x0f, 4,    0,    0,    0,        0, 0xea, 5, 0, 0, 0,  // Ethernet: 1514
          6,  0x24, 0x1a, 0x00, 0x01, 1,                                    // NCM
          7,  5,    0x85, 3,    16,   0,    interval,                       // notifications
          9,  4,    1,    0,    0,    10,   0,        1, 0,                 // data, setting 0
          9,  4,    1,    1,    2,    10,   0,        1, 0,                 // data, setting 1
          7,  5,    0x05, 2,    low,  high, 0,                              // OUT
          7,  5,    0x86, 2,    low,  high, 0};                             // IN
}

NetworkRig::Bytes ecm_function(uint8_t low, uint8_t high, uint8_t interval) {
  return {8,  11,   2,    2,    2,    6,    0,        0,     // association
          9,  4,    2,    0,    1,    2,    6,        0, 0,  // communication interface
          5,  0x24, 0,    0x10, 0x01,                        // header
          5,  0x24, 6,    2,    3,                           // union
          13, 0x24, 0x0f, 5,    0,    0,    0,        0, 0xea, 5, 0, 0, 0,  // Ethernet
          7,  5,    0x87, 3,    16,   0,    interval,                       // notifications
          9,  4,    3,    0,    0,    10,   0,        0, 0,                 // data, setting 0
          9,  4,    3,    1,    2,    10,   0,        0, 0,                 // data, setting 1
          7,  5,    0x06, 2,    low,  high, 0,                              // OUT
          7,  5,    0x81, 2,    low,  high, 0};                             // IN
}

TEST_F(CdcNetworkTest, DescriptorsOfBothModelsAtBothSpeeds) {
  configure();
  for (const uint16_t type : {uint16_t{2}, uint16_t{7}}) {
    const bool high = type == 2;
    const uint8_t low_byte = high ? 0 : 64, high_byte = high ? 2 : 0;
    const uint8_t interval = high ? 9 : 32;
    Bytes want = {9, static_cast<uint8_t>(type), 173, 0, 4, 1, 0, 0xc0, 50};
    for (const Bytes& part : {ncm_function(low_byte, high_byte, interval),
                              ecm_function(low_byte, high_byte, interval)}) {
      want.insert(want.end(), part.begin(), part.end());
    }
    EXPECT_EQ(want.size(), 9u + 85 + 79);
    EXPECT_EQ(control_in(0x80, 6, static_cast<uint16_t>(type << 8), 0, 1024), want);
  }
}

std::string text(const NetworkRig::Bytes& descriptor) {
  std::string out;
  for (size_t i = 2; i < descriptor.size(); i += 2) out.push_back(static_cast<char>(descriptor[i]));
  return out;
}

// Fuses 04E9 E5123456: the Teensy's own address is 04:E9:E5:12:34:56.
TEST_F(CdcNetworkTest, AddressesOfHostAndDeviceAreLocalAndAllDiffer) {
  configure();
  EXPECT_EQ(text(*control_in(0x80, 6, 0x0304, 0x409, 255)), "0EE9E5123456");
  EXPECT_EQ(text(*control_in(0x80, 6, 0x0305, 0x409, 255)), "1EE9E5123456");
  EXPECT_EQ(network_addresses(0xe5123456, 0x04e9, 0).device[0], 0x06);
  EXPECT_EQ(network_addresses(0xe5123456, 0x04e9, 1).device[0], 0x16);
  // A board whose fuses hold a group address or nothing.
  EXPECT_EQ(network_addresses(0, 0xff00, 0).device[0], 0xe6);
  EXPECT_EQ(network_addresses(0, 0, 0).host[0], 0x0a);
}

TEST_F(CdcNetworkTest, AConfigurationWithoutNetworkHasNoAddressString) {
  identity.mac_addresses[1][0] = 0;
  configure();
  EXPECT_FALSE(control_in(0x80, 6, 0x0305, 0x409, 255));
}

// NCM 1.0 table 6-3.
TEST_F(CdcNetworkTest, NtbParameters) {
  configure();
  const Bytes want = {28, 0, 1, 0,    0, 0x20, 0, 0, 4, 0, 0, 0, 4, 0,
                      0,  0, 0, 0x20, 0, 0,    4, 0, 0, 0, 4, 0, 0, 0};
  EXPECT_EQ(control_in(0xa1, 0x80, 0, 0, 28), want);
  EXPECT_FALSE(control_in(0xa1, 0x80, 0, 2, 28)) << "not of the ECM function";
  EXPECT_FALSE(control_in(0xa1, 0x80, 0, 1, 28)) << "not of the data interface";
}

TEST_F(CdcNetworkTest, NtbInputSizeIsKeptWithinItsLimitsUntilSetting0) {
  configure();
  const auto set = [&](uint32_t bytes) {
    Bytes data(4);
    link::store_le32(data.data(), bytes);
    return control_out(0x21, 0x86, 0, 0, data);
  };
  EXPECT_EQ(control_in(0xa1, 0x85, 0, 0, 4), (Bytes{0, 0x20, 0, 0}));
  EXPECT_EQ(set(2048), Handshake::ack);
  EXPECT_EQ(control_in(0xa1, 0x85, 0, 0, 4), (Bytes{0, 8, 0, 0}));
  EXPECT_EQ(set(2047), Handshake::stall);
  EXPECT_EQ(set(8193), Handshake::stall);
  EXPECT_EQ(control_out(0x21, 0x86, 0, 0, Bytes(8)), Handshake::stall);
  EXPECT_EQ(ncm.ntb_input_bytes(), 2048u);
  EXPECT_EQ(select(1, 0), Handshake::ack);
  EXPECT_EQ(ncm.ntb_input_bytes(), 8192u);
}

TEST_F(CdcNetworkTest, OnlyNtb16) {
  configure();
  EXPECT_EQ(control_in(0xa1, 0x83, 0, 0, 2), (Bytes{0, 0}));
  EXPECT_EQ(control_out(0x21, 0x84, 0, 0), Handshake::ack);
  EXPECT_EQ(control_out(0x21, 0x84, 1, 0), Handshake::stall);
  EXPECT_EQ(control_out(0x21, 0x8a, 0, 0), Handshake::stall) << "SET_CRC_MODE is not announced";
}

TEST_F(CdcNetworkTest, PacketFilterOfBothModels) {
  configure();
  EXPECT_EQ(control_out(0x21, 0x43, 0x0e, 0), Handshake::ack);
  EXPECT_EQ(control_out(0x21, 0x43, 0x0c, 2), Handshake::ack);
  EXPECT_EQ(ncm.packet_filter(), 0x0e);
  EXPECT_EQ(ecm.packet_filter(), 0x0c);
  EXPECT_EQ(control_out(0x21, 0x43, 0, 0, Bytes(2)), Handshake::stall);
}

TEST_F(CdcNetworkTest, DataInterfaceHasTwoSettings) {
  configure();
  EXPECT_FALSE(ncm.session().open);
  EXPECT_EQ(control_in(0x81, 10, 0, 1, 1), (Bytes{0}));
  EXPECT_EQ(chip.out(5, Bytes(10)), Handshake::timeout) << "no endpoint in setting 0";
  EXPECT_EQ(select(1, 1), Handshake::ack);
  EXPECT_TRUE(ncm.session().open);
  EXPECT_FALSE(ecm.session().open);
  EXPECT_EQ(control_in(0x81, 10, 0, 1, 1), (Bytes{1}));
  EXPECT_EQ(chip.out(5, Bytes(10)), Handshake::nak) << "nobody has given a buffer";
  EXPECT_EQ(select(1, 2), Handshake::stall);
  EXPECT_EQ(select(0, 1), Handshake::stall);
  EXPECT_EQ(select(0, 0), Handshake::ack);
  EXPECT_TRUE(ncm.session().open);
  const uint32_t number = ncm.session().number;
  EXPECT_EQ(select(1, 0), Handshake::ack);
  EXPECT_FALSE(ncm.session().open);
  EXPECT_NE(ncm.session().number, number);
  EXPECT_EQ(chip.out(5, Bytes(10)), Handshake::timeout);
  EXPECT_EQ(select(1, 1), Handshake::ack);
  chip.bus_reset(true);
  EXPECT_FALSE(ncm.session().open);
}

// ECM 1.2, 6.3: the speed both ways, then "connected"; interface 0.
TEST_F(CdcNetworkTest, ConnectionIsNotifiedWithSetting1) {
  configure();
  Bytes got;
  EXPECT_EQ(chip.in(5, &got), Handshake::nak);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(select(1, 1), Handshake::ack);
    ASSERT_EQ(chip.in(5, &got), Handshake::ack);
    // 480,000,000 is 1C9C3800h.
    EXPECT_EQ(
        got, (Bytes{0xa1, 0x2a, 0, 0, 0, 0, 8, 0, 0x00, 0x38, 0x9c, 0x1c, 0x00, 0x38, 0x9c, 0x1c}));
    ASSERT_EQ(chip.in(5, &got), Handshake::ack);
    EXPECT_EQ(got, (Bytes{0xa1, 0x00, 1, 0, 0, 0, 0, 0}));
    EXPECT_EQ(chip.in(5, &got), Handshake::nak);
  }
  // One that the host did not fetch is replaced, not followed.
  EXPECT_EQ(select(3, 1), Handshake::ack);
  EXPECT_EQ(select(3, 1), Handshake::ack);
  ASSERT_EQ(chip.in(7, &got), Handshake::ack);
  EXPECT_EQ(got[1], 0x2a);
  EXPECT_EQ(got[4], 2) << "interface of the second function";
  ASSERT_EQ(chip.in(7, &got), Handshake::ack);
  EXPECT_EQ(chip.in(7, &got), Handshake::nak);
}

TEST_F(CdcNetworkTest, FullSpeedSaysTwelveMegabit) {
  configure(false);
  EXPECT_EQ(select(1, 1), Handshake::ack);
  Bytes got;
  ASSERT_EQ(chip.in(5, &got), Handshake::ack);
  EXPECT_EQ(link::load_le32(got.data() + 8), 12'000'000u);
}

TEST_F(CdcNetworkTest, NothingBeforeTheConfiguration) {
  device.start();
  chip.bus_reset(true);
  EXPECT_EQ(select(1, 1), Handshake::stall);
  EXPECT_FALSE(control_in(0xa1, 0x80, 0, 0, 28));
}

}  // namespace
}  // namespace millrace::rt1062
