// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/usb_descriptors.h"

#include <string.h>

namespace millrace::rt1062 {
namespace {

constexpr uint16_t kUsbVersion = 0x0200;
// "Interface Association Descriptor Device Class Code and Use Model": a device with associations.
constexpr uint8_t kMiscellaneous = 0xef, kCommonClass = 0x02, kAssociation = 0x01;
constexpr uint16_t kEnglish = 0x0409;
constexpr size_t kMaxStringCharacters = 126;  // bLength is a byte

void write_class(UsbDescriptorWriter& out) {
  out.byte(kMiscellaneous);
  out.byte(kCommonClass);
  out.byte(kAssociation);
  out.byte(kControlMaxPacket);
}

}  // namespace

void UsbDescriptorWriter::set_word(size_t at, size_t value) {
  for (size_t i = 0; i < 2; ++i, value >>= 8) {
    if (at + i < room_) buffer_[at + i] = static_cast<uint8_t>(value);
  }
}

void UsbDescriptorWriter::interface_association(uint8_t first, uint8_t count, uint8_t class_code,
                                                uint8_t subclass, uint8_t protocol) {
  byte(8);
  type(DescriptorType::interface_association);
  byte(first);
  byte(count);
  byte(class_code);
  byte(subclass);
  byte(protocol);
  byte(0);
}

void UsbDescriptorWriter::interface(uint8_t number, uint8_t endpoints, uint8_t class_code,
                                    uint8_t subclass, uint8_t protocol) {
  byte(9);
  type(DescriptorType::interface);
  byte(number);
  byte(0);  // alternate setting
  byte(endpoints);
  byte(class_code);
  byte(subclass);
  byte(protocol);
  byte(0);
}

void UsbDescriptorWriter::endpoint(uint8_t address, EndpointType type_code, uint16_t max_packet,
                                   uint8_t interval) {
  byte(7);
  type(DescriptorType::endpoint);
  byte(address);
  byte(static_cast<unsigned>(type_code));
  word(max_packet);
  byte(interval);
}

UsbIdentity teensy_serial_identity(uint32_t mac0) {
  UsbIdentity identity;
  identity.vendor_id = 0x16c0;
  identity.product_id = 0x0483;
  identity.device_version = 0x0280;  // what the core says on a Teensy 4.1
  identity.manufacturer = "Teensyduino";
  identity.product = "USB Serial";
  uint32_t number = mac0 & 0xffffff;
  if (number < 10'000'000) number *= 10;
  char digits[10];
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  for (size_t i = 0; i < count; ++i) identity.serial_number[i] = digits[count - 1 - i];
  return identity;
}

size_t write_device_descriptor(const UsbIdentity& identity, UsbDescriptorWriter& out) {
  out.byte(18);
  out.type(DescriptorType::device);
  out.word(kUsbVersion);
  write_class(out);
  out.word(identity.vendor_id);
  out.word(identity.product_id);
  out.word(identity.device_version);
  out.byte(1);  // manufacturer
  out.byte(2);  // product
  out.byte(3);  // serial number
  out.byte(1);  // configurations
  return out.size();
}

// Of the other speed; ours differ in nothing that it contains.
size_t write_device_qualifier(UsbDescriptorWriter& out) {
  out.byte(10);
  out.type(DescriptorType::device_qualifier);
  out.word(kUsbVersion);
  write_class(out);
  out.byte(1);  // configurations
  out.byte(0);
  return out.size();
}

size_t write_string_descriptor(const UsbIdentity& identity, uint8_t index,
                               UsbDescriptorWriter& out) {
  if (index == 0) {
    out.byte(4);
    out.type(DescriptorType::string);
    out.word(kEnglish);
    return out.size();
  }
  const char* text = index == 1   ? identity.manufacturer
                     : index == 2 ? identity.product
                     : index == 3 ? identity.serial_number
                                  : nullptr;
  if (text == nullptr) return 0;
  size_t count = strlen(text);
  if (count > kMaxStringCharacters) count = kMaxStringCharacters;
  out.byte(static_cast<unsigned>(2 + 2 * count));
  out.type(DescriptorType::string);
  for (size_t i = 0; i < count; ++i) out.word(static_cast<uint8_t>(text[i]));
  return out.size();
}

}  // namespace millrace::rt1062
