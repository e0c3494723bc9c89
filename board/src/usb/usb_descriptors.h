// SPDX-License-Identifier: Apache-2.0
// Descriptors as a device sends them (USB 2.0 chapter 9, CDC 1.2 chapter 5, ECN "Interface
// Association"): taken apart for those who drive the device, and checked for everything that a host
// could trip over. Any bytes will do; nothing is read behind the end of `bytes`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "usb/usb_bus.h"
#include "usb/usb_urb.h"

namespace millrace::board {

struct UsbEndpointInfo {
  uint8_t address = 0;
  UsbTransfer transfer = UsbTransfer::bulk;
  uint16_t max_packet = 0;  // bits 10..0
  uint8_t extra = 0;        // high speed, periodic: additional transactions a microframe
  uint8_t interval = 0;
};

struct UsbInterfaceInfo {
  uint8_t number = 0;
  uint8_t alternate = 0;
  uint8_t interface_class = 0, subclass = 0, protocol = 0;
  uint8_t string = 0;
  std::vector<UsbEndpointInfo> endpoints;
  // CDC functional descriptors, of alternate 0; -1: there is none.
  int union_subordinate = -1;     // first bSubordinateInterface
  int call_management_data = -1;  // bDataInterface
  int acm_capabilities = -1;
  int mac_string = -1;        // Ethernet networking: iMACAddress
  int max_segment = -1;       // Ethernet networking: wMaxSegmentSize
  int ncm_capabilities = -1;  // NCM: bmNetworkCapabilities
};

struct UsbConfigurationInfo {
  uint8_t value = 0;  // bConfigurationValue
  uint8_t attributes = 0;
  uint8_t max_power = 0;  // 2 mA
  std::vector<UsbInterfaceInfo> interfaces;
};

struct UsbDeviceDescriptor {
  uint16_t usb_version = 0;  // bcdUSB
  uint8_t device_class = 0, subclass = 0, protocol = 0;
  uint8_t control_max_packet = 0;
  uint16_t vendor = 0, product = 0, version = 0;
  uint8_t manufacturer_string = 0, product_string = 0, serial_string = 0;
  uint8_t configurations = 0;
};

// Findings are sentences, at most kMaxFindings of a call; a device without any is in order.
inline constexpr size_t kMaxFindings = 50;
using UsbFindings = std::vector<std::string>;

// False if it is cut short.
bool parse_device_descriptor(std::span<const uint8_t> bytes, UsbDeviceDescriptor* device);
// What can be read of it; a cut-off rest is left out.
UsbConfigurationInfo parse_configuration(std::span<const uint8_t> bytes);
// UTF-16LE as UTF-8; control characters and lone surrogates become U+FFFD. At most 126 characters.
std::string parse_string_descriptor(std::span<const uint8_t> bytes);

void check_device_descriptor(std::span<const uint8_t> bytes, UsbSpeed speed, UsbFindings* findings);
// REQUIRES: the device is capable of high speed; `device` is its device descriptor.
void check_device_qualifier(std::span<const uint8_t> bytes, std::span<const uint8_t> device,
                            UsbFindings* findings);
void check_configuration(std::span<const uint8_t> bytes, const UsbDeviceDescriptor& device,
                         UsbSpeed speed, UsbFindings* findings);
void check_string_descriptor(unsigned index, std::span<const uint8_t> bytes, UsbFindings* findings);

}  // namespace millrace::board
