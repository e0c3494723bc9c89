// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_descriptors.h"

#include <algorithm>

#include "core/bytes.h"
#include "usb/usb_descriptor_walk.h"

namespace millrace::board {
namespace {

constexpr size_t kMaxInterfaces = 256;
constexpr size_t kMaxEndpoints = 64;  // of an interface; more cannot be addressed

void append_utf8(uint32_t c, std::string* out) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  if (c < 0x80) {
    *out += static_cast<char>(c);
  } else if (c < 0x800) {
    *out += static_cast<char>(0xC0 | c >> 6);
    *out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    *out += static_cast<char>(0xE0 | c >> 12);
    *out += static_cast<char>(0x80 | (c >> 6 & 63));
    *out += static_cast<char>(0x80 | (c & 63));
  } else {
    *out += static_cast<char>(0xF0 | c >> 18);
    *out += static_cast<char>(0x80 | (c >> 12 & 63));
    *out += static_cast<char>(0x80 | (c >> 6 & 63));
    *out += static_cast<char>(0x80 | (c & 63));
  }
}

void read_functional(std::span<const uint8_t> d, UsbInterfaceInfo* interface) {
  if (interface->interface_class != usb_class::kCommunications || interface->alternate != 0) return;
  if (d.size() >= 5 && d[2] == cdc::kUnion) interface->union_subordinate = d[4];
  if (d.size() >= 5 && d[2] == cdc::kCallManagement) interface->call_management_data = d[4];
  if (d.size() >= 4 && d[2] == cdc::kAbstractControl) interface->acm_capabilities = d[3];
  if (d.size() >= 13 && d[2] == cdc::kEthernet) {
    interface->mac_string = d[3];
    interface->max_segment = static_cast<int>(load_le(&d[8], 2));
  }
  if (d.size() >= 6 && d[2] == cdc::kNcm) interface->ncm_capabilities = d[5];
}

}  // namespace

UsbEndpointInfo read_endpoint(std::span<const uint8_t> d) {
  UsbEndpointInfo endpoint;
  endpoint.address = d[2];
  endpoint.transfer = static_cast<UsbTransfer>(d[3] & 3);
  const uint32_t size = load_le(&d[4], 2);
  endpoint.max_packet = static_cast<uint16_t>(size & 0x7FF);
  endpoint.extra = static_cast<uint8_t>(size >> 11 & 3);
  endpoint.interval = d[6];
  return endpoint;
}

bool parse_device_descriptor(std::span<const uint8_t> d, UsbDeviceDescriptor* device) {
  if (d.size() < 18 || d[0] < 18 || d[1] != usb_descriptor::kDevice) return false;
  device->usb_version = static_cast<uint16_t>(load_le(&d[2], 2));
  device->device_class = d[4];
  device->subclass = d[5];
  device->protocol = d[6];
  device->control_max_packet = d[7];
  device->vendor = static_cast<uint16_t>(load_le(&d[8], 2));
  device->product = static_cast<uint16_t>(load_le(&d[10], 2));
  device->version = static_cast<uint16_t>(load_le(&d[12], 2));
  device->manufacturer_string = d[14];
  device->product_string = d[15];
  device->serial_string = d[16];
  device->configurations = d[17];
  return true;
}

UsbConfigurationInfo parse_configuration(std::span<const uint8_t> bytes) {
  UsbConfigurationInfo configuration;
  for (DescriptorWalk walk(bytes); walk.next();) {
    const std::span<const uint8_t> d = walk.descriptor();
    auto& interfaces = configuration.interfaces;
    if (d[1] == usb_descriptor::kConfiguration && walk.offset() == 0 && d.size() >= 9) {
      configuration.value = d[5];
      configuration.attributes = d[7];
      configuration.max_power = d[8];
    } else if (d[1] == usb_descriptor::kInterface && d.size() >= 9) {
      if (interfaces.size() == kMaxInterfaces) break;
      UsbInterfaceInfo interface;
      interface.number = d[2];
      interface.alternate = d[3];
      interface.interface_class = d[5];
      interface.subclass = d[6];
      interface.protocol = d[7];
      interface.string = d[8];
      interfaces.push_back(std::move(interface));
    } else if (d[1] == usb_descriptor::kEndpoint && d.size() >= 7 && !interfaces.empty()) {
      if (interfaces.back().endpoints.size() < kMaxEndpoints) {
        interfaces.back().endpoints.push_back(read_endpoint(d));
      }
    } else if (d[1] == usb_descriptor::kClassInterface && !interfaces.empty()) {
      read_functional(d, &interfaces.back());
    }
  }
  return configuration;
}

std::string parse_string_descriptor(std::span<const uint8_t> bytes) {
  std::string text;
  if (bytes.size() < 2) return text;
  const size_t end = std::min<size_t>(bytes.size(), bytes[0]);
  for (size_t i = 2; i + 1 < end; i += 2) {
    uint32_t c = load_le(&bytes[i], 2);
    if (c >= 0xD800 && c < 0xDC00 && i + 3 < end) {
      const uint32_t low = load_le(&bytes[i + 2], 2);
      if (low >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + (c - 0xD800) * 0x400 + (low - 0xDC00);
        i += 2;
      }
    }
    append_utf8(c, &text);
  }
  return text;
}

}  // namespace millrace::board
