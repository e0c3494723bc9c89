// SPDX-License-Identifier: Apache-2.0
#include "instance_id.h"

#include <gtest/gtest.h>

namespace millrace::host {
namespace {

TEST(InstanceId, UsbDeviceWithSerialNumber) {
  const InstanceId id = parse_instance_id("USB\\VID_16C0&PID_0483\\7654320");
  EXPECT_TRUE(id.is_usb);
  EXPECT_EQ(id.vid, 0x16c0);
  EXPECT_EQ(id.pid, 0x0483);
  EXPECT_EQ(id.interface, -1);
  EXPECT_EQ(id.serial_number, "7654320");
}

TEST(InstanceId, InterfaceOfACompositeDeviceHasNoSerialNumberOfItsOwn) {
  const InstanceId id = parse_instance_id("USB\\VID_16C0&PID_048B&MI_02\\6&1A2B3C&0&0002");
  EXPECT_TRUE(id.is_usb);
  EXPECT_EQ(id.pid, 0x048b);
  EXPECT_EQ(id.interface, 2);
  EXPECT_EQ(id.serial_number, "");
}

TEST(InstanceId, LowerCaseAndMadeUpId) {
  const InstanceId id = parse_instance_id("usb\\vid_1a86&pid_7523\\5&2f0a1b&0&3");
  EXPECT_EQ(id.vid, 0x1a86);
  EXPECT_EQ(id.serial_number, "");
}

TEST(InstanceId, FtdiBusKeepsTheSerialNumberInItsDeviceId) {
  const InstanceId id = parse_instance_id("FTDIBUS\\VID_0403+PID_6001+A50285BIA\\0000");
  EXPECT_EQ(id.vid, 0x0403);
  EXPECT_EQ(id.pid, 0x6001);
  EXPECT_EQ(id.serial_number, "A50285BI");
}

TEST(InstanceId, WhatIsNoUsbDeviceIsNotTakenForOne) {
  for (const char* text : {"", "\\", "ACPI\\PNP0501\\1", "USB\\VID_16C\\1", "USB\\VID_16C0&PID_04",
                           "BTHENUM\\{00001101}\\7&1"}) {
    EXPECT_FALSE(parse_instance_id(text).is_usb) << text;
  }
  EXPECT_EQ(parse_instance_id("FTDIBUS\\VID_0403+PID_6001\\0000").serial_number, "");
  EXPECT_EQ(parse_instance_id("FTDIBUS\\VID_0403+PID_6001+A\\0000").serial_number, "");
}

}  // namespace
}  // namespace millrace::host
