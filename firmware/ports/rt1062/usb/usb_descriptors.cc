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

void write_serial_number(uint32_t mac0, char (&out)[11]) {
  uint32_t number = mac0 & 0xffffff;
  if (number < 10'000'000) number *= 10;
  char digits[10];
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  for (size_t i = 0; i < count; ++i) out[i] = digits[count - 1 - i];
  out[count] = 0;
}

const char* string_of(const UsbIdentity& identity, uint8_t index) {
  switch (index) {
    case 1:
      return identity.manufacturer;
    case 2:
      return identity.product;
    case 3:
      return identity.serial_number;
    case kFirstMacString:
    case kFirstMacString + 1: {
      const char* text = identity.mac_addresses[index - kFirstMacString];
      return text[0] != 0 ? text : nullptr;
    }
    default:
      return nullptr;
  }
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
                                    uint8_t subclass, uint8_t protocol, uint8_t alternate) {
  byte(9);
  type(DescriptorType::interface);
  byte(number);
  byte(alternate);
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
  write_serial_number(mac0, identity.serial_number);
  return identity;
}

UsbIdentity echo_identity(uint32_t mac0, bool ncm, bool ecm, bool serial) {
  UsbIdentity identity;
  identity.vendor_id = 0x1209;
  identity.product_id = static_cast<uint16_t>((ncm ? 1 : 0) | (ecm ? 2 : 0) | (serial ? 4 : 0));
  identity.device_version = 0x0100;
  identity.manufacturer = "Millrace";
  identity.product = "UDP echo";
  write_serial_number(mac0, identity.serial_number);
  return identity;
}

NetworkAddresses network_addresses(uint32_t mac0, uint32_t mac1, unsigned function) {
  constexpr uint32_t kGroup = 1, kLocal = 2, kHost = 8, kSecond = 16;
  const uint8_t fuses[6] = {static_cast<uint8_t>(mac1 >> 8),  static_cast<uint8_t>(mac1),
                            static_cast<uint8_t>(mac0 >> 24), static_cast<uint8_t>(mac0 >> 16),
                            static_cast<uint8_t>(mac0 >> 8),  static_cast<uint8_t>(mac0)};
  NetworkAddresses addresses;
  memcpy(addresses.device, fuses, sizeof(fuses));
  const uint32_t first = (fuses[0] & ~(kGroup | kHost | kSecond)) | kLocal;
  addresses.device[0] = static_cast<uint8_t>(first | (function != 0 ? kSecond : 0));
  memcpy(addresses.host, addresses.device, sizeof(fuses));
  addresses.host[0] = static_cast<uint8_t>(addresses.device[0] | kHost);
  return addresses;
}

void write_mac_text(const uint8_t (&address)[6], char (&text)[13]) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (size_t i = 0; i < 6; ++i) {
    text[2 * i] = kDigits[address[i] >> 4];
    text[2 * i + 1] = kDigits[address[i] & 0xf];
  }
  text[12] = 0;
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
  const char* text = string_of(identity, index);
  if (text == nullptr) return 0;
  size_t count = strlen(text);
  if (count > kMaxStringCharacters) count = kMaxStringCharacters;
  out.byte(static_cast<unsigned>(2 + 2 * count));
  out.type(DescriptorType::string);
  for (size_t i = 0; i < count; ++i) out.word(static_cast<uint8_t>(text[i]));
  return out.size();
}

}  // namespace millrace::rt1062
