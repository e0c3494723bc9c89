// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/usb_descriptors.h"

#include <string>
#include <vector>

#include "firmware/ports/rt1062/usb/testing/usb_fixture.h"

namespace millrace::rt1062 {
namespace {

// A string descriptor's as_text; it must be well-formed.
std::string as_text(const Bytes& descriptor) {
  std::string result;
  EXPECT_GE(descriptor.size(), 2u);
  if (descriptor.size() < 2) return result;
  EXPECT_EQ(descriptor[0], descriptor.size());
  EXPECT_EQ(descriptor[1], 3);
  for (size_t i = 2; i + 1 < descriptor.size(); i += 2) {
    EXPECT_EQ(descriptor[i + 1], 0);
    result.push_back(static_cast<char>(descriptor[i]));
  }
  return result;
}

using UsbDescriptors = UsbFixture;

// USB 2.0 table 9-8 field by field.
TEST_F(UsbDescriptors, DeviceIsATeensySerialPort) {
  enumerate();
  const Bytes expected = {18,   1,    0x00, 0x02, 0xef, 2, 1, 64, 0xc0,
                          0x16, 0x83, 0x04, 0x80, 0x02, 1, 2, 3,  1};
  EXPECT_EQ(descriptor(0x0100), expected);
}

// Table 9-9: the same version, class and packet as the device.
TEST_F(UsbDescriptors, QualifierSaysWhatTheOtherSpeedHas) {
  enumerate();
  EXPECT_EQ(descriptor(0x0600), (Bytes{10, 6, 0x00, 0x02, 0xef, 2, 1, 64, 1, 0}));
}

TEST_F(UsbDescriptors, StringsNameATeensy) {
  enumerate();
  EXPECT_EQ(descriptor(0x0300), (Bytes{4, 3, 0x09, 0x04}));
  EXPECT_EQ(as_text(descriptor(0x0301, 0x409)), "Teensyduino");
  EXPECT_EQ(as_text(descriptor(0x0302, 0x409)), "USB Serial");
  EXPECT_EQ(as_text(descriptor(0x0303, 0x409)), "10000000");
  EXPECT_FALSE(control_in(0x80, 6, 0x0304, 0x409, 255));
  EXPECT_FALSE(control_in(0x80, 6, 0x03ee, 0, 255));
}

// The low 24 bits; below 10,000,000 times ten.
TEST(UsbIdentity, SerialNumberIsTheTeensysNumber) {
  const std::pair<uint32_t, const char*> cases[] = {
      {0xe50f4240, "10000000"},  // 0F4240h = 1,000,000
      {0x00000000, "0"},        {0xff000001, "10"},       {9'999'999, "99999990"},
      {10'000'000, "10000000"}, {0xffffffff, "16777215"},
  };
  for (const auto& [mac0, serial] : cases) {
    EXPECT_STREQ(teensy_serial_identity(mac0).serial_number, serial) << mac0;
  }
}

// 9 + 8 + 9 + 5 + 5 + 4 + 5 + 7 + 9 + 7 + 7 = 75 bytes.
Bytes expected_configuration(uint8_t type, uint8_t packet_high) {
  const uint8_t packet_low = packet_high != 0 ? 0 : 64;
  return {9, type, 75,   0,    2,          1,           0, 0xc0, 50,  // configuration
          8, 11,   0,    2,    2,          2,           1, 0,         // association
          9, 4,    0,    0,    1,          2,           2, 1,    0,   // communication interface
          5, 0x24, 0,    0x10, 0x01,                                  // header
          5, 0x24, 1,    1,    1,                                     // call management
          4, 0x24, 2,    6,                                           // abstract control management
          5, 0x24, 6,    0,    1,                                     // union
          7, 5,    0x82, 3,    16,         0,           5,            // notifications
          9, 4,    1,    0,    2,          10,          0, 0,    0,   // data interface
          7, 5,    0x03, 2,    packet_low, packet_high, 0,            // OUT
          7, 5,    0x84, 2,    packet_low, packet_high, 0};           // IN
}

TEST_F(UsbDescriptors, ConfigurationIsOfTheBusSpeed) {
  enumerate(true);
  EXPECT_EQ(descriptor(0x0200), expected_configuration(2, 2));
  EXPECT_EQ(descriptor(0x0700), expected_configuration(7, 0));
  chip.bus_reset(false);
  EXPECT_EQ(descriptor(0x0200), expected_configuration(2, 0));
  EXPECT_EQ(descriptor(0x0700), expected_configuration(7, 2));
}

TEST_F(UsbDescriptors, OtherDescriptorsAreRefused) {
  enumerate();
  // Second configuration, interface, endpoint, interface power, BOS; a report of the interface.
  for (const int value : {0x0201, 0x0101, 0x0400, 0x0500, 0x0800, 0x0f00}) {
    EXPECT_FALSE(control_in(0x80, 6, static_cast<uint16_t>(value), 0, 255)) << value;
  }
  EXPECT_FALSE(control_in(0x81, 6, 0x2200, 0, 255));
}

TEST(UsbDescriptorWriter, CountsWhatDoesNotFit) {
  uint8_t buffer[4] = {1, 1, 1, 1};
  UsbDescriptorWriter out(buffer, 3);
  out.word(0x2222);
  out.word(0x3344);
  out.set_word(2, 0x5566);
  EXPECT_EQ(out.size(), 4u);
  EXPECT_FALSE(out.fits());
  EXPECT_EQ(buffer[2], 0x66);
  EXPECT_EQ(buffer[3], 1);
}

}  // namespace
}  // namespace millrace::rt1062
