// SPDX-License-Identifier: Apache-2.0
#include "usb/cdc_net_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "usb/testing/fake_net_device.h"

namespace millrace::board {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::net_configuration;

// Offsets of net_configuration(): descriptors 9 configuration, 8 association, 9 communications,
// 5 header, 5 union, 13 Ethernet, (6 NCM), 7 notification, 9 and 9 data, 7 OUT, 7 IN.
constexpr size_t kControl = 9 + 8, kUnion = kControl + 9 + 5, kEthernet = kUnion + 5,
                 kNcm = kEthernet + 13;

UsbFindings check(const Bytes& bytes) {
  UsbDeviceDescriptor device;
  EXPECT_TRUE(parse_device_descriptor(testing::device_descriptor(), &device));
  UsbFindings findings;
  check_configuration(bytes, device, UsbSpeed::high, &findings);
  return findings;
}

std::string problem_of(const Bytes& bytes) {
  std::string problem;
  EXPECT_FALSE(find_cdc_net(parse_configuration(bytes), &problem));
  return problem;
}

// The descriptor at `at` becomes one of a kind that nobody knows.
Bytes without(bool is_ncm, size_t at) {
  Bytes bytes = net_configuration(is_ncm);
  bytes[at + 2] = 0x77;
  return bytes;
}

TEST(CdcNetFunction, IsFoundWithItsEndpoints) {
  for (const bool is_ncm : {false, true}) {
    EXPECT_THAT(check(net_configuration(is_ncm)), IsEmpty());
    std::string problem;
    const auto f = find_cdc_net(parse_configuration(net_configuration(is_ncm)), &problem);
    ASSERT_TRUE(f) << problem;
    EXPECT_EQ(f->kind, is_ncm ? EthernetKind::ncm : EthernetKind::ecm);
    EXPECT_EQ(f->control, 0);
    EXPECT_EQ(f->data, 1);
    EXPECT_EQ(f->alternate, 1);
    EXPECT_EQ(f->in.address, 0x84);
    EXPECT_EQ(f->out.address, 0x03);
    EXPECT_EQ(f->notify_endpoint, 0x81);
    EXPECT_EQ(f->mac_string, testing::kMacString);
    EXPECT_EQ(f->max_segment, 1514);
  }
}

TEST(CdcNetFunction, ASerialDeviceHasNoneAndNoProblem) {
  EXPECT_EQ(problem_of(testing::cdc_configuration()), "");
}

TEST(CdcNetFunction, AMissingDescriptorIsAFindingAndASentence) {
  EXPECT_THAT(check(without(false, kUnion)),
              ElementsAre("interface 0: has no CDC union functional descriptor"));
  EXPECT_EQ(problem_of(without(false, kUnion)),
            "interface 0: the CDC-ECM function has no union functional descriptor");
  EXPECT_THAT(check(without(true, kEthernet)),
              ElementsAre("interface 0: has no CDC Ethernet networking functional descriptor"));
  EXPECT_THAT(problem_of(without(true, kEthernet)),
              HasSubstr("the CDC-NCM function has no Ethernet networking functional descriptor"));
  EXPECT_THAT(check(without(true, kNcm)),
              ElementsAre("interface 0: has no CDC NCM functional descriptor"));
  EXPECT_THAT(problem_of(without(true, kNcm)), HasSubstr("has no NCM functional descriptor"));
}

TEST(CdcNetFunction, ValuesOfTheEthernetDescriptorAreChecked) {
  Bytes bytes = net_configuration(false);
  bytes[kEthernet + 3] = 0;
  bytes[kEthernet + 8] = 0xE9;  // 1513
  EXPECT_THAT(check(bytes), ElementsAre("interface 0: iMACAddress is 0, but there must be a string",
                                        HasSubstr("wMaxSegmentSize is 1513, must be at least")));
}

TEST(CdcNetFunction, SettingsOfTheDataInterfaceAreChecked) {
  // The two data interface descriptors stand before the two endpoints of 7 bytes.
  Bytes bytes = net_configuration(true);
  const size_t on = bytes.size() - 2 * 7 - 9, off = on - 9;
  bytes[on + 7] = 0;  // bInterfaceProtocol, and only of the second
  EXPECT_THAT(check(bytes), ElementsAre("interface 1: bInterfaceProtocol of NCM's data is 0, must "
                                        "be 1"));
  // Endpoints in setting 0 and none in 1: [data on as 0] [endpoints] [data off as 1].
  Bytes swapped(net_configuration(true));
  const Bytes off_bytes(swapped.begin() + static_cast<std::ptrdiff_t>(off),
                        swapped.begin() + static_cast<std::ptrdiff_t>(on));
  swapped.erase(swapped.begin() + static_cast<std::ptrdiff_t>(off),
                swapped.begin() + static_cast<std::ptrdiff_t>(on));
  swapped.insert(swapped.end(), off_bytes.begin(), off_bytes.end());
  swapped[off + 3] = 0;
  swapped[swapped.size() - 9 + 3] = 1;
  EXPECT_THAT(check(swapped), ElementsAre(HasSubstr("alternate setting 0 of a network's data has "
                                                    "endpoints, must have none")));
  std::string problem;
  const auto f = find_cdc_net(parse_configuration(swapped), &problem);
  ASSERT_TRUE(f) << problem;  // all the same
  EXPECT_EQ(f->alternate, 0);
  // No setting has both.
  Bytes one = net_configuration(false);
  one[one.size() - 7 + 2] = 0x02;  // a second OUT
  EXPECT_THAT(check(one), ElementsAre("interface 1: has no alternate setting with a bulk IN and a "
                                      "bulk OUT endpoint"));
  EXPECT_THAT(problem_of(one), HasSubstr("no alternate setting with a bulk IN"));
}

TEST(CdcNetFunction, NcmNeedsNotifications) {
  Bytes bytes = net_configuration(true);
  const size_t notification = kNcm + 6;
  bytes[notification + 3] = 1;  // isochronous
  EXPECT_THAT(problem_of(bytes), HasSubstr("has no notification endpoint"));
}

TEST(MacString, IsTwelveDigitsOfAnAddressOfOne) {
  const auto mac = parse_mac_string("02aBcDeF0099");
  ASSERT_TRUE(mac);
  EXPECT_EQ(to_string(*mac), "02:ab:cd:ef:00:99");
  for (const char* wrong : {"", "02ABCDEF009", "02ABCDEF00999", "02ABCDEF009G", "02:BCDEF0099",
                            "000000000000", "01ABCDEF0099", "FFFFFFFFFFFF"}) {
    EXPECT_FALSE(parse_mac_string(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace millrace::board
