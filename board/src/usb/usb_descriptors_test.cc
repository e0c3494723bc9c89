// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_descriptors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "usb/testing/fake_usb_device.h"

namespace millrace::board {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

UsbDeviceDescriptor miscellaneous() {
  UsbDeviceDescriptor device;
  parse_device_descriptor(testing::device_descriptor(), &device);
  return device;
}

UsbFindings findings_of(const Bytes& configuration, UsbSpeed speed = UsbSpeed::high) {
  UsbFindings findings;
  check_configuration(configuration, miscellaneous(), speed, &findings);
  return findings;
}

// The good configuration with one byte changed.
UsbFindings with(size_t at, uint8_t value, UsbSpeed speed = UsbSpeed::high) {
  Bytes bytes = testing::cdc_configuration(speed == UsbSpeed::high ? 512 : 64);
  bytes.at(at) = value;
  return findings_of(bytes, speed);
}

// Offsets in cdc_configuration().
constexpr size_t kAssociation = 9, kControlAt = 17, kHeader = 26, kCall = 31, kAcm = 36,
                 kUnionAt = 40, kNotify = 45, kDataAt = 52, kOut = 61, kIn = 68;

TEST(UsbDescriptors, GoodDescriptorsHaveNoFindings) {
  UsbFindings findings;
  check_device_descriptor(testing::device_descriptor(), UsbSpeed::high, &findings);
  check_device_qualifier(testing::device_qualifier(), testing::device_descriptor(), &findings);
  check_configuration(testing::cdc_configuration(512), miscellaneous(), UsbSpeed::high, &findings);
  check_configuration(testing::cdc_configuration(64), miscellaneous(), UsbSpeed::full, &findings);
  check_string_descriptor(1, testing::string_descriptor("x"), &findings);
  EXPECT_THAT(findings, IsEmpty());
}

TEST(UsbDescriptors, ConfigurationIsTakenApart) {
  const UsbConfigurationInfo c = parse_configuration(testing::cdc_configuration());
  EXPECT_EQ(c.value, 1);
  EXPECT_EQ(c.attributes, 0xC0);
  ASSERT_EQ(c.interfaces.size(), 2u);
  EXPECT_EQ(c.interfaces[0].interface_class, 2);
  EXPECT_EQ(c.interfaces[0].union_subordinate, 1);
  EXPECT_EQ(c.interfaces[0].call_management_data, 1);
  EXPECT_EQ(c.interfaces[0].acm_capabilities, 6);
  ASSERT_EQ(c.interfaces[0].endpoints.size(), 1u);
  EXPECT_EQ(c.interfaces[0].endpoints[0].transfer, UsbTransfer::interrupt);
  EXPECT_EQ(c.interfaces[0].endpoints[0].interval, 5);
  ASSERT_EQ(c.interfaces[1].endpoints.size(), 2u);
  EXPECT_EQ(c.interfaces[1].endpoints[1].address, 0x84);
  EXPECT_EQ(c.interfaces[1].endpoints[1].max_packet, 512);
}

TEST(UsbDescriptors, StringsBecomeUtf8WithoutControlCharacters) {
  EXPECT_EQ(parse_string_descriptor(testing::string_descriptor("Teensy")), "Teensy");
  // U+00B5, U+20AC, U+1F600 as a pair, a lone surrogate, ESC.
  const Bytes bytes = {14, 3, 0xB5, 0, 0xAC, 0x20, 0x3D, 0xD8, 0x00, 0xDE, 0x00, 0xD8, 0x1B, 0};
  EXPECT_EQ(parse_string_descriptor(bytes),
            "\xC2\xB5\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD"
            "\xEF\xBF\xBD");
  EXPECT_EQ(parse_string_descriptor(Bytes{}), "");
  EXPECT_EQ(parse_string_descriptor(Bytes{200, 3, 'a'}), "");
}

TEST(UsbDescriptors, DeviceDescriptorFindings) {
  struct Case {
    size_t at;
    uint8_t value;
    UsbSpeed speed;
    const char* says;
  };
  const Case cases[] = {
      {0, 17, UsbSpeed::high, "bLength is 17, must be 18"},
      {1, 2, UsbSpeed::high, "bDescriptorType is 2"},
      {3, 0x01, UsbSpeed::high, "bcdUSB is 0x0100, must be 0x0200 or more at high speed"},
      {4, 0, UsbSpeed::high, "bDeviceClass is 0, so subclass 2 and protocol 1 must be 0"},
      {7, 32, UsbSpeed::high, "bMaxPacketSize0 is 32, must be 64 at high speed"},
      {7, 0, UsbSpeed::full, "bMaxPacketSize0 is 0, must be 8, 16, 32 or 64"},
      {17, 0, UsbSpeed::high, "bNumConfigurations is 0"},
  };
  for (const Case& c : cases) {
    Bytes bytes = testing::device_descriptor();
    bytes[c.at] = c.value;
    UsbFindings findings;
    check_device_descriptor(bytes, c.speed, &findings);
    EXPECT_THAT(findings, ElementsAre(HasSubstr(c.says)));
  }
  UsbFindings findings;
  check_device_descriptor(Bytes(17), UsbSpeed::high, &findings);
  EXPECT_THAT(findings, ElementsAre("device descriptor: has 17 bytes, must have 18"));
  UsbDeviceDescriptor device;
  EXPECT_FALSE(parse_device_descriptor(Bytes(17), &device));
}

TEST(UsbDescriptors, QualifierAndStringFindings) {
  Bytes qualifier = testing::device_qualifier();
  qualifier[2] = 0x10;
  qualifier[7] = 7;
  qualifier[9] = 1;
  UsbFindings findings;
  check_device_qualifier(qualifier, testing::device_descriptor(), &findings);
  EXPECT_THAT(findings, ElementsAre(HasSubstr("bcdUSB is 0x0210, the device descriptor has 0x0200"),
                                    HasSubstr("bMaxPacketSize0 is 7"), HasSubstr("bReserved")));
  findings.clear();
  check_string_descriptor(3, Bytes{5, 3, 'a', 0, 'b'}, &findings);
  check_string_descriptor(4, Bytes{8, 3, 'a', 0}, &findings);
  check_string_descriptor(5, Bytes{4, 2, 'a', 0}, &findings);
  check_string_descriptor(0, Bytes{2, 3}, &findings);
  EXPECT_THAT(findings,
              ElementsAre(HasSubstr("string 3: bLength is 5, must be even"),
                          HasSubstr("string 4: bLength is 8, but 4 bytes came"),
                          HasSubstr("string 5: is no string"), HasSubstr("has no language")));
}

TEST(UsbDescriptors, ConfigurationHeadFindings) {
  EXPECT_THAT(with(2, 80), ElementsAre("configuration: wTotalLength is 80, but 75 bytes came"));
  EXPECT_THAT(with(4, 3), ElementsAre("configuration: bNumInterfaces is 3, but there are 2"));
  EXPECT_THAT(with(5, 0), ElementsAre(HasSubstr("bConfigurationValue is 0")));
  EXPECT_THAT(with(7, 0x40), ElementsAre(HasSubstr("bmAttributes is 0x40")));
  EXPECT_THAT(with(8, 251), ElementsAre(HasSubstr("bMaxPower is 502 mA")));
  EXPECT_THAT(findings_of(Bytes(8)), ElementsAre(HasSubstr("does not begin with")));
}

TEST(UsbDescriptors, BulkPacketsMustBe512AtHighSpeed) {
  EXPECT_THAT(
      with(kIn + 5, 0),  // 512 becomes 0
      ElementsAre("endpoint 0x84: wMaxPacketSize is 0, must be 512 for bulk at high speed"));
  EXPECT_THAT(findings_of(testing::cdc_configuration(64)),
              ElementsAre(HasSubstr("endpoint 0x03: wMaxPacketSize is 64, must be 512"),
                          HasSubstr("endpoint 0x84: wMaxPacketSize is 64, must be 512")));
  EXPECT_THAT(with(kOut + 4, 48, UsbSpeed::full),
              ElementsAre(HasSubstr("is 48, must be 8, 16, 32 or 64 for bulk at full speed")));
}

TEST(UsbDescriptors, EndpointFindings) {
  EXPECT_THAT(with(kIn + 2, 0x03), ElementsAre("endpoint 0x03: is there twice"));
  EXPECT_THAT(with(kIn + 2, 0x82), ElementsAre("endpoint 0x82: is there twice"));
  EXPECT_THAT(with(kIn + 2, 0x80), ElementsAre(HasSubstr("number 0 is the control endpoint")));
  EXPECT_THAT(with(kIn + 2, 0x88), ElementsAre(HasSubstr("the controller has endpoints 0 to 7")));
  EXPECT_THAT(with(kIn + 2, 0x94), ElementsAre(HasSubstr("bits 6..4")));
  EXPECT_THAT(with(kNotify + 6, 0), ElementsAre(HasSubstr("bInterval is 0, must be 1 to 16")));
  EXPECT_THAT(with(kNotify + 6, 17), ElementsAre(HasSubstr("bInterval is 17")));
  EXPECT_THAT(with(kNotify + 6, 17, UsbSpeed::full), IsEmpty());
  EXPECT_THAT(with(kNotify + 4, 0),
              ElementsAre(HasSubstr("wMaxPacketSize is 0, must be 1 to 1024")));
  EXPECT_THAT(with(kNotify + 4, 65, UsbSpeed::full), ElementsAre(HasSubstr("must be 1 to 64")));
  EXPECT_THAT(with(kNotify + 5, 0x18), ElementsAre(HasSubstr("0x1810, bits 15..11")));
  EXPECT_THAT(with(kNotify + 3, 0), ElementsAre(HasSubstr("is a control endpoint besides 0")));
  EXPECT_THAT(with(kIn, 6), ::testing::Contains(HasSubstr("bLength is 6, must be 7")));
}

TEST(UsbDescriptors, InterfaceFindings) {
  EXPECT_THAT(with(kDataAt + 4, 3), ElementsAre("interface 1: bNumEndpoints is 3, but 2 follow"));
  EXPECT_THAT(with(kDataAt + 2, 0), ::testing::Contains(HasSubstr("interface 0: is there twice")));
  EXPECT_THAT(with(kDataAt + 3, 1),
              ::testing::Contains(HasSubstr("setting 1 comes before setting 0")));
  EXPECT_THAT(with(kDataAt + 2, 2),
              ::testing::Contains(HasSubstr("interface 2: numbers must run from 0 to 1")));
  EXPECT_THAT(with(kAssociation + 3, 3),
              ElementsAre("interface 2: is in an association, but there is no such interface"));
  EXPECT_THAT(with(kAssociation + 3, 0), ElementsAre(HasSubstr("bInterfaceCount is 0")));
}

TEST(UsbDescriptors, AnAssociationNeedsTheMiscellaneousDeviceClass) {
  UsbDeviceDescriptor device = miscellaneous();
  device.device_class = 2;
  UsbFindings findings;
  check_configuration(testing::cdc_configuration(), device, UsbSpeed::high, &findings);
  EXPECT_THAT(findings, ElementsAre("interface association at byte 9: the device class must be "
                                    "EF/02/01, is 02/02/01"));
}

TEST(UsbDescriptors, CdcFindings) {
  EXPECT_THAT(with(kHeader + 2, 0x20),
              ElementsAre("interface 0: has no CDC header functional descriptor"));
  EXPECT_THAT(with(kCall + 2, 0x20), ElementsAre(HasSubstr("no CDC call management")));
  EXPECT_THAT(with(kAcm + 2, 0x20), ElementsAre(HasSubstr("no CDC abstract control")));
  EXPECT_THAT(with(kUnionAt + 2, 0x20), ElementsAre(HasSubstr("no CDC union")));
  EXPECT_THAT(with(kUnionAt + 3, 1),
              ElementsAre(HasSubstr("the CDC union's control interface is 1")));
  EXPECT_THAT(with(kUnionAt + 4, 5),
              ElementsAre(HasSubstr("union names interface 5, which is not")));
  EXPECT_THAT(with(kUnionAt + 4, 0), ElementsAre(HasSubstr("union names the interface itself")));
  EXPECT_THAT(with(kDataAt + 5, 0xFF),
              ElementsAre(HasSubstr("union names interface 1, whose class is 255, not 10")));
}

TEST(UsbDescriptors, CallManagementNamesItsDataInterfaceOnlyIfItUsesOne) {
  Bytes bytes = testing::cdc_configuration();
  bytes[kCall + 4] = 7;
  EXPECT_THAT(findings_of(bytes), IsEmpty());  // D1 is 0: over the communications interface
  bytes[kCall + 3] = 3;
  EXPECT_THAT(findings_of(bytes), ElementsAre(HasSubstr("call management names interface 7")));
}

TEST(UsbDescriptors, ADescriptorOfLengthZeroEndsTheWalk) {
  EXPECT_THAT(with(kOut, 0),
              ::testing::Contains("configuration: at byte 61 bLength is 0 with 14 bytes left"));
  EXPECT_THAT(with(kIn, 200),
              ::testing::Contains("configuration: at byte 68 bLength is 200 with 7 bytes left"));
}

TEST(UsbDescriptors, EveryTruncationHasAFinding) {
  const Bytes whole = testing::cdc_configuration();
  for (size_t size = 0; size < whole.size(); ++size) {
    const Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(findings_of(bytes).empty()) << size;
    EXPECT_LE(parse_configuration(bytes).interfaces.size(), 2u);
  }
}

TEST(UsbDescriptors, HostileChainsGiveABoundedNumberOfFindings) {
  Bytes bytes = testing::cdc_configuration();
  for (int i = 0; i < 9000; ++i) bytes.insert(bytes.end(), {7, 5, 0x80, 0, 0, 0, 0});
  EXPECT_EQ(findings_of(bytes).size(), kMaxFindings);
  EXPECT_LE(parse_configuration(bytes).interfaces[1].endpoints.size(), 64u);
}

}  // namespace
}  // namespace millrace::board
